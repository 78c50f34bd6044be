package argo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// helmFiles returns the files that a chart source reads.
func (a *Application) helmFiles(tree fs.FS, s *Source, environment func(string) string) ([]string, error) {
	files, err := helm.Files(tree, s.Path)
	if err != nil || s.spec.Helm == nil {
		return files, err
	}
	values, err := a.valuesFiles(tree, s, environment)
	if err != nil {
		return nil, err
	}
	files = append(files, values...)
	for _, p := range s.spec.Helm.FileParameters {
		name, err := a.valuesFile(s, p.Path, environment)
		if err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	return files, nil
}

// referredFiles returns the files of other sources that the source of a fetched chart names. What is wrong with them
// shows when the chart is rendered.
func (a *Application) referredFiles(tree fs.FS, s *Source, environment func(string) string) []string {
	var files []string
	for _, written := range s.spec.Helm.named() {
		name, err := a.valuesFile(s, written, environment)
		if err != nil || !strings.HasPrefix(written, "$") {
			continue
		}
		files = append(files, existing(tree, name)...)
	}
	return files
}

// existing returns the files that a path or a pattern leads to.
func existing(tree fs.FS, name string) []string {
	if isPattern(name) {
		matches, _ := matching(tree, name, true)
		return matches
	}
	if info, err := fs.Stat(tree, name); err == nil && info.Mode().IsRegular() {
		return []string{name}
	}
	return nil
}

// Refers returns the files that a source may read which cannot be rendered: files that it names in any repository, and
// all of its files if its kind is not known. It leaves out those that [Application.Files] looks at.
func (a *Application) Refers(tree fs.FS, source int) []string {
	var files []string
	s := &a.Sources[source]
	if _, err := s.kind(tree); err != nil && s.InTree && s.pathWritten && s.Chart == "" {
		files, _ = matching(tree, path.Join(s.Path, "**"), true)
	}
	for _, written := range s.spec.Helm.named() {
		_, name, ok := strings.Cut(a.environment(s)(strings.TrimPrefix(written, "$")), "/")
		if !ok || !strings.HasPrefix(written, "$") {
			continue
		}
		if name, err := insideTree(name); err == nil {
			files = append(files, existing(tree, name)...)
		}
	}
	return files
}

// renderChart renders a chart source with the command line that Argo CD would give to Helm.
func (a *Application) renderChart(tree fs.FS, s *Source, o Options) ([]rendered.Object, error) {
	spec := helmSpec{}
	if s.spec.Helm != nil {
		spec = *s.spec.Helm
	}
	r, err := a.release(tree, s, &spec, o)
	if err != nil {
		return nil, err
	}
	objects, err := helm.Render(tree, s.Path, *r)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(object rendered.Object) bool {
		return object.Role == rendered.CRD && spec.SkipCRDs || object.Role == rendered.Test && spec.SkipTests
	})
	for i := range objects {
		if objects[i].Role == rendered.CRD {
			objects[i].Role = ""
		}
	}
	return objects, nil
}

// release returns what a chart source is rendered with.
func (a *Application) release(tree fs.FS, s *Source, spec *helmSpec, o Options) (*helm.Release, error) {
	environment := a.environment(s)
	files, err := a.valuesFiles(tree, s, environment)
	if err != nil {
		return nil, err
	}
	r := &helm.Release{
		Name: spec.ReleaseName, Namespace: spec.Namespace, ValuesFiles: files, SkipSchema: spec.SkipSchema,
		Cluster: o.Cluster.With(spec.KubeVersion, spec.APIVersions), Lacking: o.Lacking,
	}
	if r.Name == "" {
		r.Name = a.Name
	}
	if r.Namespace == "" {
		r.Namespace = a.Destination.Namespace
	}
	values := []byte(spec.Values)
	if len(spec.ValuesObject) > 0 {
		values = spec.ValuesObject
	}
	if err := yaml.Unmarshal(values, &r.Values); err != nil {
		return nil, fmt.Errorf("%s: the values cannot be read: %w", s.Path, err)
	}
	for _, p := range spec.Parameters {
		set := p.Name + "=" + escaped(environment(p.Value))
		if p.ForceString {
			r.SetString = append(r.SetString, set)
		} else {
			r.Set = append(r.Set, set)
		}
	}
	for _, p := range spec.FileParameters {
		name, err := a.valuesFile(s, p.Path, environment)
		if err != nil {
			return nil, err
		}
		r.SetFile = append(r.SetFile, p.Name+"="+escaped(name))
	}
	return r, nil
}

// escaped makes the commas of a value part of it, unless it is a list: "{a,b}".
func escaped(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	var before rune
	for _, r := range value {
		if r == ',' && before != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// valuesFiles resolves the files of values of a chart source: patterns become the files that they match, except those
// that are also written out, and each file counts once.
func (a *Application) valuesFiles(tree fs.FS, s *Source, environment func(string) string) ([]string, error) {
	if s.spec.Helm == nil {
		return nil, nil
	}
	if n := len(s.spec.Helm.ValueFiles); n > maxPatterns {
		return nil, fmt.Errorf("%s: %d files of values are more than %d", s.Path, n, maxPatterns)
	}
	var resolved []string
	for _, written := range s.spec.Helm.ValueFiles {
		name, err := a.valuesFile(s, written, environment)
		if err != nil {
			return nil, err
		}
		resolved = append(resolved, name)
	}
	var files []string
	for _, name := range resolved {
		matches := []string{name}
		if isPattern(name) {
			var err error
			if matches, err = matching(tree, name, true); err != nil {
				return nil, err
			}
			matches = slices.DeleteFunc(matches, func(match string) bool { return slices.Contains(resolved, match) })
		} else if _, err := fs.Stat(tree, name); errors.Is(err, fs.ErrNotExist) {
			matches = nil
		}
		if len(matches) == 0 && !s.spec.Helm.IgnoreMissingValueFiles {
			return nil, fmt.Errorf("%s: the file of values %s does not exist", s.Path, name)
		}
		for _, match := range matches {
			if !slices.Contains(files, match) {
				files = append(files, match)
			}
		}
	}
	return files, nil
}

// valuesFile resolves the path of a file of values: below the source's directory, with a leading slash below the root
// of the repository, and with "$NAME/" below the root of the source of that name.
func (a *Application) valuesFile(s *Source, written string, environment func(string) string) (string, error) {
	if strings.HasPrefix(written, "$") {
		name, below, _ := strings.Cut(written[1:], "/")
		if i := slices.IndexFunc(a.Sources, func(s Source) bool { return s.Ref == name }); i >= 0 {
			if ref := a.Sources[i]; !ref.InTree {
				return "", notCovered("the values %s are in %s at %s", written, ref.RepoURL, ref.revision())
			}
			return insideTree(environment(below))
		}
	}
	written = environment(written)
	if u, err := url.Parse(written); err == nil && u.Scheme != "" {
		return "", notCovered("the values are at %s", written)
	}
	if path.IsAbs(written) {
		return insideTree(written)
	}
	return insideTree(path.Join(s.Path, written))
}
