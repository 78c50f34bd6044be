package unit

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/argo"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// applications are Argo CD's Applications.
func applications() *unitKind {
	k := &unitKind{name: "Application", group: "argoproj.io", object: "Application"}
	k.from = func(d *definer, o Object) *Unit {
		a, err := argo.ParseApplication(o.Object)
		if err != nil && !isMissing(err) {
			return k.unread(d, o, err)
		}
		u := &Unit{Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, random: true}
		spec := d.defines(o, nil)
		if err != nil {
			u.missing = at(o.File, err)
		} else {
			u.Prune, u.Applier, u.Namespace = a.Prune, "client-side", a.Destination.Namespace
			if a.ServerSideApply {
				u.Applier = "server-side"
			}
			if a.Replace {
				u.Applier = "replace"
			}
			u.values = true
			for i, source := range a.Sources {
				inTree, dir := source.Chart == "" && d.isOwnURL(source.RepoURL), ""
				if source.Chart != "" && d.Fetch != nil {
					dir = u.chartDir(argoChart(source.RepoURL, source.Chart, source.TargetRevision))
				}
				u.values = u.values && (!inTree || source.OnlyRef()) && dir == "" && !source.ReadsTexts()
				spec.InTree, spec.Fetched = append(spec.InTree, inTree), append(spec.Fetched, dir)
				switch {
				case i > 0 && (u.dir != "." || !inTree):
				case dir != "":
					u.dir = dir
				default:
					u.dir = source.Path
				}
			}
			if u.tree, err = d.revisionOf(a, spec.InTree); err != nil {
				u.missing = at(o.File, err)
			}
		}
		u.spec = encode(spec)
		return u
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		if u.missing != nil {
			return nil, u.missing
		}
		a, err := application(decode[definedSpec](u.spec))
		if err != nil {
			return nil, err
		}
		if u.fetches {
			a.Elsewhere = &u.elsewhere
		}
		return u.readSources(t, a)
	}
	k.builds = func(t Tree, u *Unit) string {
		a, err := application(decode[definedSpec](u.spec))
		if err != nil {
			return ""
		}
		return a.Builds(t)
	}
	k.render = renderer(func(ctx context.Context, files fs.FS, job *worker.Job,
		s *definedSpec) ([]rendered.Object, error) {
		a, err := application(*s)
		if err != nil {
			return nil, err
		}
		o := argo.Options{Cluster: s.Cluster, JSON: !job.Texts, Lacking: job.Lacking}
		var all []rendered.Object
		for i := range a.Sources {
			if a.Lacks(i) != nil {
				continue
			}
			objects, err := a.Render(ctx, files, i, o)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
		for i := range a.Sources { // now that no other source has a mistake, which the missing ones do not explain
			if missing := a.Lacks(i); missing != nil {
				job.Lacking.Lacks(missing)
			}
		}
		return all, nil
	})
	return k
}

// readSources returns the files that all sources of an Application may read, also behind a source that cannot be
// rendered, and notes the parts that the Application is rendered without.
func (u *Unit) readSources(t Tree, a *argo.Application) ([]string, error) {
	var all, refers []string
	var failed error
	var absent *rendered.NotCovered
	var parts []sourcePart
	inputs := map[string]bool{}
	for i := range a.Sources {
		if missing := a.Lacks(i); missing != nil {
			absent = cmp.Or(absent, missing)
			refers = append(refers, a.Refers(t, i)...)
		}
	}
	for i, source := range a.Sources {
		if a.Lacks(i) != nil {
			continue
		}
		lacking := &rendered.Lacking{}
		a.Lacking = lacking
		files, err := a.Files(t, i)
		if !source.OnlyRef() && source.InTree && !source.Fetched && !isDir(t, source.Path) {
			err = &rendered.NotCovered{Reason: "the tree has no directory " + source.Path}
		}
		if failed == nil && err != nil {
			failed = at(u.File, err)
		}
		parts = append(parts, sourcePart{files, lacking.Decides})
		maps.Copy(inputs, lacking.Inputs)
		u.lacking.First = cmp.Or(u.lacking.First, lacking.First)
		all = append(all, files...)
	}
	if failed != nil {
		for i := range a.Sources {
			all = append(all, a.Refers(t, i)...)
		}
		return sorted(all), failed
	}
	if absent != nil {
		u.lacking.Lacks(at(u.File, absent))
	}
	u.lacking.Inputs = inputs
	u.lacking.Decides = func(has rendered.Has) (rendered.Decision, bool) { return together(parts, refers, has), true }
	return sorted(append(all, refers...)), nil
}

// sourcePart is a source of an Application: its files, and what they decide about what it lacks.
type sourcePart struct {
	files   []string
	decides rendered.Decides
}

// together returns what decides about the missing part of an Application: what each source that lacks something says,
// and the values in the files that missing sources refer to.
func together(parts []sourcePart, refers []string, has rendered.Has) rendered.Decision {
	all, whole := rendered.Decision{Files: map[string]string{}}, []string{}
	for _, name := range refers {
		values := ""
		has(name, func(data []byte) bool { values = valuesIn(data); return true })
		if all.Files[name] = values; values == "" {
			whole = append(whole, name)
		}
	}
	for _, p := range parts {
		of, lacks := rendered.Decision{}, true // of a chart that is fetched, all decides
		if p.decides != nil {
			of, lacks = p.decides(has)
		}
		if !lacks {
			of = rendered.Decision{}
		}
		for _, name := range p.files {
			text, inPart := of.Files[name]
			if all.Files[name] += text; lacks && !inPart {
				whole = append(whole, name)
			}
		}
		all.Renames, all.Hashes, all.Copies = all.Renames || of.Renames, all.Hashes ||
			of.Hashes, all.Copies || of.Copies
	}
	for _, name := range whole {
		delete(all.Files, name)
	}
	return all
}

// application reads the Application of a specification.
func application(s definedSpec) (*argo.Application, error) {
	a, err := argo.ParseApplication(s.Object)
	if err != nil {
		return nil, err
	}
	for i := range a.Sources {
		a.Sources[i].InTree = i < len(s.InTree) && s.InTree[i]
		if i < len(s.Fetched) && s.Fetched[i] != "" {
			a.Sources[i].UseFetched(s.Fetched[i])
		}
	}
	return a, nil
}

// applicationSets are Argo CD's ApplicationSets. What they print are Applications.
func applicationSets() *unitKind {
	k := &unitKind{name: "ApplicationSet", group: "argoproj.io", object: "ApplicationSet"}
	k.from = func(d *definer, o Object) *Unit {
		u := &Unit{Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, dir: path.Dir(o.File), peeks: true}
		defined, _ := tool.Defines(o.Object)
		u.Prune = defined.Stays == ""
		spec := d.defines(o, nil)
		var names []string
		for _, g := range gitGenerators(o.Object) {
			url, _ := g["repoURL"].(string)
			spec.InTree = append(spec.InTree, d.isOwnURL(url))
			if name, _ := g["revision"].(string); d.isOwnURL(url) {
				names = append(names, name)
			}
		}
		var err error
		if u.tree, err = d.oneRevision(names); err != nil {
			u.missing = at(o.File, err)
		}
		spec.Paths = sourcePaths(o.Object, func(url string) bool {
			return strings.Contains(url, "{{") || d.isOwnURL(url)
		})
		u.spec = encode(spec)
		dirs, files := patterns(*spec, "directories"), patterns(*spec, "files")
		u.lists = func(name string) bool {
			return !slices.ContainsFunc(files, func(p string) bool { return mayMatch(p, name) }) &&
				slices.ContainsFunc(dirs, func(p string) bool { return rendered.Below(name, literal(p)) })
		}
		return u
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		if u.missing != nil {
			return nil, u.missing
		}
		files := patterns(decode[definedSpec](u.spec), "files")
		var all []string
		for _, name := range t.Paths() {
			if u.lists(name) || slices.ContainsFunc(files, func(p string) bool { return mayMatch(p, name) }) {
				all = append(all, name)
			}
		}
		return sorted(all), nil
	}
	k.deploys = func(u *Unit) []string {
		spec := decode[definedSpec](u.spec)
		written := spec.Paths
		if slices.ContainsFunc(written, func(p string) bool { return literal(p) == "." }) { // a parameter is the whole path
			written = slices.Concat(written, patterns(spec, "directories"))
			for _, p := range patterns(spec, "files") {
				written = append(written, path.Dir(p))
			}
		}
		var dirs []string
		for _, p := range written {
			if !strings.HasPrefix(p, "{{") {
				dirs = append(dirs, literal(p))
			}
		}
		return dirs
	}
	k.render = renderer(func(_ context.Context, files fs.FS, job *worker.Job,
		s *definedSpec) ([]rendered.Object, error) {
		inTree := map[string]bool{}
		for i, g := range gitGenerators(s.Object) {
			url, _ := g["repoURL"].(string)
			inTree[url] = i < len(s.InTree) && s.InTree[i]
		}
		generated, err := argo.Generate(s.Object, func(url, _ string) (fs.FS, error) {
			if !inTree[url] {
				return nil, &rendered.NotCovered{Reason: "a generator reads the repository " + url}
			}
			return files, nil
		})
		if err != nil {
			return nil, err
		}
		var objects []rendered.Object
		for _, o := range generated {
			text, err := yaml.Marshal(o)
			if err != nil {
				return nil, err
			}
			objects = append(objects, rendered.Object{YAML: bytes.TrimSpace(text)})
		}
		return objects, nil
	})
	return k
}

// patterns returns the paths that a field of an ApplicationSet's git generators includes, of those that read this
// repository.
func patterns(spec definedSpec, field string) []string {
	var all []string
	for i, g := range gitGenerators(spec.Object) {
		list, _ := g[field].([]any)
		for _, item := range list {
			entry, _ := item.(map[string]any)
			if pattern, _ := entry["path"].(string); spec.InTree[i] && entry["exclude"] != true {
				all = append(all, pattern)
			}
		}
	}
	return all
}

// gitGenerators returns the git generators of an ApplicationSet, also those within others.
func gitGenerators(object any) (all []map[string]any) {
	eachMember(object, 0, func(name string, value any) {
		if g, ok := value.(map[string]any); ok && name == "git" && g["repoURL"] != nil {
			all = append(all, g)
		}
	})
	return all
}

// sourcePaths returns the paths of the sources in the templates of an ApplicationSet whose URL may be the one of the
// tree.
func sourcePaths(object any, mayBeTree func(url string) bool) (all []string) {
	eachMember(object, 0, func(name string, value any) {
		sources := []any{value}
		if name == "sources" {
			sources, _ = value.([]any)
		} else if name != "source" {
			return
		}
		for _, source := range sources {
			if p, ok := fieldpath.Value(source, "path").(string); ok && mayBeTree(fieldpath.Text(source, "repoURL")) {
				all = append(all, p)
			}
		}
	})
	return all
}

// eachMember calls do with each member in a value, before those within it. It stops at a depth that no ApplicationSet
// has.
func eachMember(value any, depth int, do func(name string, value any)) {
	if depth > 30 {
		return
	}
	switch x := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			do(name, x[name])
			eachMember(x[name], depth+1, do)
		}
	case []any:
		for _, item := range x {
			eachMember(item, depth+1, do)
		}
	}
}

// literal returns the directory of a pattern before its first wildcard or variable.
func literal(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "/")
	if i := strings.IndexAny(pattern, "*?[{\\"); i >= 0 {
		pattern = pattern[:i]
		if j := strings.LastIndexByte(pattern, '/'); j >= 0 {
			pattern = pattern[:j]
		} else {
			pattern = "."
		}
	}
	return path.Clean(pattern)
}

// mayMatch reports whether a pattern for files may match a name, or a directory above it, whatever its wildcards and
// variables stand for.
func mayMatch(pattern, name string) bool {
	end := pattern[strings.LastIndexAny(pattern, "*?[]{}\\/")+1:]
	return rendered.Below(name, literal(pattern)) && (strings.HasSuffix(name, end) || strings.Contains(name, end+"/"))
}
