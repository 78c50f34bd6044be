package unit

import (
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Excluded is the reason of NotCovered for a file that Options.Exclude leaves out, or that is expected output of tests.
const Excluded = "exclude in the settings leaves it out"

// expectedDirectory matches a path through a directory that may hold expected output.
var expectedDirectory = regexp.MustCompile(`(?:^|/)(?:testdata|golden|__snapshots__|tests?)/`)

// isExpected reports whether a file is expected output of tests, as its directory says: testdata, golden and __snapshots__ anywhere, and
// test and tests below a chart or a module, as env/test is an environment. A file that in names by a path there is read.
func (s *side) isExpected(in *Side, name string) bool {
	if s.ReadExpected || !expectedDirectory.MatchString(name) {
		return false
	}
	inModule := false
	dir := "."
	for _, step := range strings.Split(path.Dir(name), "/") {
		for _, file := range [...]string{"Chart.yaml", "go.mod", "package.json"} {
			inModule = inModule || exists(s.tree, path.Join(dir, file))
		}
		dir = path.Join(dir, step)
		switch {
		case step == "testdata", step == "golden", step == "__snapshots__", inModule && (step == "test" || step == "tests"):
			return !slices.ContainsFunc(in.Paths, func(p string) bool { return below(p, dir) })
		}
	}
	return false
}

// exclude takes the files that are left out of both sides, and lists those that differ.
func (c *comparison) exclude() {
	var news, olds map[string]string
	c.newSide, c.out.Excluded, news = c.news.takeExcluded(c.newSide)
	c.oldSide, _, olds = c.olds.takeExcluded(c.oldSide)
	names := map[string]Tree{}
	for name := range olds {
		names[name] = c.oldSide.Tree
	}
	for name := range news {
		names[name] = c.newSide.Tree
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if news[name] == olds[name] {
			c.out.Unchanged++
			continue
		}
		c.uncovered(name, "file", names[name].Name(name), Excluded)
	}
}

// takeExcluded returns the side without the files that are left out, which it returns as well. states tells what the tree has at
// these, and at the files that only units read which are left out.
func (s *side) takeExcluded(in *Side) (rest *Side, excluded []manifest.File, states map[string]string) {
	taken := *in
	taken.Files = nil
	states = map[string]string{}
	read := map[string]bool{}
	for _, f := range in.Files {
		switch {
		case (s.Exclude == nil || !s.Exclude(f.Path)) && (!s.isExpected(in, f.Path) || s.isInput(f.Path)):
			taken.Files = append(taken.Files, f)
			read[f.Path] = true
			continue
		case s.isInput(f.Path): // a unit that is not left out reads it
		case f.Err != nil:
			states[f.Path] = mistakeIn(&f)
		default:
			states[f.Path] = "file " + in.id(&f)
		}
		excluded = append(excluded, f)
	}
	for _, u := range s.excluded {
		for _, name := range u.Reads {
			if _, known := states[name]; !known && !read[name] && in.names(name) && !s.isInput(name) {
				states[name] = state(s.tree, name)
			}
		}
	}
	return &taken, excluded, states
}

// pairFiles reads the files that are objects as they are written and that differ.
func (c *comparison) pairFiles() {
	now := map[string]*manifest.File{}
	for i := range c.newSide.Files {
		f := &c.newSide.Files[i]
		now[f.Path] = f
	}
	olds := map[string]*manifest.File{}
	for i := range c.oldSide.Files {
		f := &c.oldSide.Files[i]
		n := now[f.Path]
		if n != nil && c.sameDoubts(f.Path) && c.alike(n, f) {
			c.unchanged = append(c.unchanged, filePair{new: *n, old: *f}) // unless a unit reads it, if it is needed at all
			delete(now, f.Path)
		} else if !c.olds.isInput(f.Path) {
			olds[f.Path] = f
		}
	}
	var news, gone []manifest.File
	both := map[string]bool{}
	for i := range c.newSide.Files {
		f := &c.newSide.Files[i]
		old := olds[f.Path]
		if now[f.Path] == nil || old == nil && c.news.isInput(f.Path) {
			continue
		}
		both[f.Path] = old != nil
		if old != nil && c.alike(f, old) {
			c.out.Unchanged++
			c.unchanged = append(c.unchanged, filePair{new: *f, old: *old})
			continue
		}
		news = append(news, *f)
		if old != nil {
			gone = append(gone, *old)
		}
	}
	for i := range c.oldSide.Files {
		if f := &c.oldSide.Files[i]; olds[f.Path] == f && !both[f.Path] {
			gone = append(gone, *f)
		}
	}
	news, gone = c.parse(c.newSide, news, nil), c.parse(c.oldSide, gone, nil)
	if !c.engine.Plain {
		news, gone = withoutForeign(news, gone)
		news = c.failing(c.templates(news), gone)
		gone = c.baselines(gone)
	}
	c.out.New, c.out.Old = append(c.out.New, news...), append(c.out.Old, gone...)
}

// sameDoubts reports whether the same units on both sides, which do not change, decide whether a file is their input.
func (c *comparison) sameDoubts(name string) bool {
	if c.news.input[name] || c.olds.input[name] || len(c.news.doubts[name]) == 0 {
		return false
	}
	return slices.EqualFunc(c.news.doubts[name], c.olds.doubts[name], func(n, old *Unit) bool {
		return n.digest(c.news.tree) == old.digest(c.olds.tree)
	})
}

// writtenCRD matches the text of a CRD. CRDs are compared as the units print them only.
var writtenCRD = regexp.MustCompile(`(?m)^kind: *["']?CustomResourceDefinition\b`)

// addWritten reads the changed files that units of both sides read, and keeps the objects that one side lacks. Somebody may apply such a file as
// it is written: whoever compares the objects tells of a refusal in a field that the units print as before.
func (c *comparison) addWritten() {
	c.out.Readers, c.out.Failing = map[string][]string{}, map[string][]string{}
	for _, p := range c.pairs {
		if p.new == nil || !p.changed || c.news.byKey[p.new.key()] != p.new || p.new.tree != nil || p.new.peeks {
			continue
		}
		into := c.out.Readers
		if _, err := c.news.render(p.new); err != nil {
			into = c.out.Failing
		}
		for _, name := range p.new.Reads {
			into[name] = append(into[name], p.new.String())
		}
	}
	changed := func(in, other *side, files []manifest.File) []manifest.File {
		return slices.DeleteFunc(slices.Clone(files), func(f manifest.File) bool {
			return f.Err != nil || state(in.tree, f.Path) == state(other.tree, f.Path) ||
				!in.isInput(f.Path) || exists(other.tree, f.Path) && !other.isInput(f.Path)
		})
	}
	wanted := func(text []byte) bool { return !writtenCRD.Match(text) }
	news := readable(c.parse(c.newSide, changed(c.news, c.olds, c.newSide.Files), wanted))
	olds := readable(c.parse(c.oldSide, changed(c.olds, c.news, c.oldSide.Files), wanted))
	c.addWrittenUnits(news, olds)
	ids, inNew, inOld := map[*yamldoc.Document]string{}, map[string]bool{}, map[string]bool{}
	identify := func(files []manifest.File, in map[string]bool) {
		for _, f := range files {
			for _, d := range f.Documents {
				ids[d] = f.Path + digestOf(d.Object)
				in[ids[d]] = true
			}
		}
	}
	identify(news, inNew)
	identify(olds, inOld)
	for _, files := range [][]manifest.File{news, olds} {
		for i := range files {
			files[i].Documents = slices.DeleteFunc(files[i].Documents, func(d *yamldoc.Document) bool { return inNew[ids[d]] && inOld[ids[d]] })
		}
	}
	c.out.NewWritten, c.out.OldWritten = append(c.out.NewWritten, news...), append(c.out.OldWritten, olds...)
}

// readable returns the files without what is wrong with them: both sides have it.
func readable(files []manifest.File) []manifest.File {
	for i := range files {
		files[i].Err, files[i].Repeated = nil, nil
	}
	return files
}

// addWrittenUnits renders the definitions that change in these files, if another unit prints them as before: it may override the change.
func (c *comparison) addWrittenUnits(newFiles, oldFiles []manifest.File) {
	printed := map[string]bool{} // by unit
	for _, p := range c.pairs {
		if p.new != nil && p.old != nil && !p.forced && p.new.kind.group != "" && p.new.parent != nil {
			as := func(u *Unit) any { return decode[definedSpec](u.spec).Object["spec"] }
			printed[p.new.String()] = jsonvalue.Equal(as(p.new), as(p.old))
		}
	}
	find := func(s *side, files []manifest.File) map[string]*Unit {
		all := map[string]*Unit{}
		for _, f := range files {
			for _, d := range f.Documents {
				k := s.kindOf(d.Object)
				if k == nil || !printed[k.name+" "+nameOf(d.Object)] {
					continue
				}
				if u := s.define(Object{Document: d, File: f.Path}, nil); u != nil {
					all[u.key()] = u
				}
			}
		}
		return all
	}
	news, olds := find(c.news, newFiles), find(c.olds, oldFiles)
	for _, key := range slices.Sorted(maps.Keys(news)) {
		n, old := news[key], olds[key]
		if old == nil || n.digest(c.news.tree) == old.digest(c.olds.tree) {
			continue
		}
		if prints, before := c.news.files(n), c.olds.files(old); prints != nil && before != nil {
			c.out.Readers[key] = []string{n.String()}
			c.out.NewWritten, c.out.OldWritten = append(c.out.NewWritten, prints...), append(c.out.OldWritten, before...)
		}
	}
}

// failing returns the files of NEW. A mistake in one that OLD has too, with a mistake of its own, is not one of the change: no tool
// has applied what cannot be read. What can be read in it counts.
func (c *comparison) failing(files, olds []manifest.File) []manifest.File {
	failed := map[string]bool{}
	for i := range olds {
		failed[olds[i].Path] = olds[i].Err != nil
	}
	for i := range files {
		if f := &files[i]; f.Err != nil && failed[f.Path] {
			c.uncovered(f.Path, "file", f.Name, "cannot be read, as in OLD: "+mistakeIn(f))
			f.Err = nil
		}
	}
	return files
}

// uncovered lists something changed that cannot be read as it is deployed.
func (c *comparison) uncovered(unit, kind, file, reason string) {
	c.out.NotCovered = append(c.out.NotCovered, NotCovered{Unit: unit, Kind: kind, File: file, Reason: reason, Changed: true})
}

// mistakeIn returns what is wrong with a file, without its name.
func mistakeIn(f *manifest.File) string { return strings.TrimPrefix(f.Err.Error(), f.Name+": ") }

// withoutForeign takes templates of other tools, such as a helmfile.yaml, out of the files of both sides: on neither side they hold an object.
func withoutForeign(news, olds []manifest.File) (newRest, oldRest []manifest.File) {
	holds := map[string]bool{}
	for _, f := range slices.Concat(news, olds) {
		holds[f.Path] = holds[f.Path] || mayHoldObject(&f)
	}
	foreign := func(f manifest.File) bool { return f.Err != nil && !holds[f.Path] }
	return slices.DeleteFunc(news, foreign), slices.DeleteFunc(olds, foreign)
}

// mayHoldObject reports whether a file has an object, or cannot be read and may have one. A template of Helm may print one that it names
// nowhere.
func mayHoldObject(f *manifest.File) bool {
	if f.Err == nil {
		return slices.ContainsFunc(f.Documents, func(d *yamldoc.Document) bool { return d.Object["kind"] != nil })
	}
	template, ok := errors.AsType[*manifest.TemplateError](f.Err)
	return !ok || template.MayHoldObject || strings.Contains("/"+f.Path, "/templates/")
}

// templates takes the files that are templates of no chart here, and those of other repositories, out of files: nobody knows what
// they become.
func (c *comparison) templates(files []manifest.File) []manifest.File {
	return slices.DeleteFunc(files, func(f manifest.File) bool {
		reason := unreadable(&f)
		if reason != "" {
			c.uncovered(f.Path, "file", f.Name, reason)
		}
		return reason != ""
	})
}

// unreadable returns why nobody knows what a file becomes, "" for most files.
func unreadable(f *manifest.File) string {
	var template *manifest.TemplateError
	switch {
	case f.Elsewhere:
		return mistakeIn(f)
	case errors.As(f.Err, &template):
		return "it is a template, not YAML"
	}
	return ""
}

// addValues adds the documents that are not objects of the files that pairFiles has left out.
func (c *comparison) addValues() {
	for _, side := range [...]struct {
		of   *Side
		into *[]manifest.File
	}{{c.newSide, &c.out.New}, {c.oldSide, &c.out.Old}} {
		read := map[string]bool{}
		for _, f := range *side.into {
			read[f.Path] = true
		}
		left := slices.DeleteFunc(slices.Clone(side.of.Files), func(f manifest.File) bool { return read[f.Path] || f.Err != nil })
		for _, f := range readable(c.parse(side.of, left, nil)) {
			f.Documents = slices.DeleteFunc(f.Documents, func(d *yamldoc.Document) bool { return d.Object["apiVersion"] != nil && d.Object["kind"] != nil })
			*side.into = append(*side.into, f)
		}
	}
}

// baselines returns the files of OLD that NEW is compared with. It leaves out files that cannot be read.
func (c *comparison) baselines(files []manifest.File) []manifest.File {
	for i := range files {
		f := &files[i]
		known := func(n NotCovered) bool { return n.Kind == "file" && n.Unit == f.Path }
		if f.Err != nil && !slices.ContainsFunc(c.out.NotCovered, known) {
			c.uncovered(f.Path, "file", f.Name, "there is nothing to compare with, since OLD cannot be read: "+strings.TrimPrefix(mistakeIn(f), "cannot be read: "))
		}
		f.Err = nil
	}
	return files
}

// alike reports whether both sides have a file with the same content, or cannot read it.
func (c *comparison) alike(n, old *manifest.File) bool {
	if n.Elsewhere || old.Elsewhere { // where both sides have it alike, it is not among the files
		return false
	}
	if n.Err != nil || old.Err != nil {
		return n.Err != nil && old.Err != nil && strings.TrimPrefix(n.Err.Error(), n.Name) == strings.TrimPrefix(old.Err.Error(), old.Name)
	}
	a, b := c.newSide.id(n), c.oldSide.id(old)
	return a == b && a != ""
}

// parse reads files. With wanted, it reads only the documents whose texts are wanted.
func (c *comparison) parse(s *Side, files []manifest.File, wanted func(text []byte) bool) []manifest.File {
	parsed := make([]manifest.File, len(files))
	manifest.Each(len(files), func(i int) { parsed[i] = s.parse(files[i], c.engine.shared, wanted) })
	return parsed
}
