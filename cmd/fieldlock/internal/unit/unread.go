package unit

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Each file that differs has one fate: it is read, as a manifest or by a unit; it cannot be deployed; the settings
// exclude it; or it is not covered. Most fates are told where the files are read: here are the files that nothing looks
// at, though somebody may deploy them.

// addUnread lists the changed files that could be deployed and that nothing reads.
func (c *comparison) addUnread() {
	accounted := map[string]bool{}
	for _, side := range [...]*Side{c.newSide, c.oldSide} {
		for i := range side.Files {
			accounted[side.Files[i].Path] = true
		}
	}
	units := slices.Concat(c.news.units, c.olds.units)
	readers := map[string][]*Unit{}
	for _, u := range units {
		for _, name := range u.Reads {
			readers[name] = append(readers[name], u)
		}
	}
	for _, name := range sorted(slices.Concat(c.newSide.Tree.Paths(), c.oldSide.Tree.Paths())) {
		reason := ""
		differs := func() bool { return state(c.newSide.Tree, name) != state(c.oldSide.Tree, name) }
		switch {
		case !c.newSide.names(name) && !c.oldSide.names(name), !manifest.HasObjects(name) && path.Ext(name) != ".tpl":
			continue
		case manifest.IsHidden(name):
			if !accounted[name] && len(readers[name]) == 0 && differs() &&
				(c.news.isHiddenManifest(name) || c.olds.isHiddenManifest(name)) {
				reason = "it is in a hidden directory, and no unit reads it"
			}
		case !c.engine.Plain && namedAsValues(name) && differs() && (c.news.areValues(name) || c.olds.areValues(name)):
			if !c.news.uses(name, readers[name]) && !c.olds.uses(name, readers[name]) {
				reason = "no rendering of the chart uses these values"
			}
		}
		if reason == "" {
			continue
		}
		if c.engine.Exclude != nil && c.engine.Exclude(name) {
			reason = Excluded
		}
		tree := c.newSide.Tree
		if !exists(tree, name) {
			tree = c.oldSide.Tree
		}
		c.uncovered(name, "file", tree.Name(name), reason)
	}
}

// manifestFields match the fields that each manifest has.
var manifestFields = [...]*regexp.Regexp{regexp.MustCompile(`(?m)^[\s{-]*"?apiVersion"?\s*:`),
	regexp.MustCompile(`(?m)^[\s{-]*"?kind"?\s*:|,\s*"kind"\s*:`)}

// isHiddenManifest reports whether a file in a hidden directory is a manifest, a template of one, or a part of a chart
// or kustomization there. The directory .github belongs to GitHub, which deploys nothing to a cluster.
func (s *side) isHiddenManifest(name string) (found bool) {
	if !exists(s.tree, name) || rendered.Below(name, ".github") {
		return false
	}
	for dir := path.Dir(name); isHidden(dir); dir = path.Dir(dir) {
		if exists(s.tree, path.Join(dir, "Chart.yaml")) || isDir(s.tree, path.Join(dir, "templates")) ||
			exists(s.tree, path.Join(dir, "kustomization.yaml")) {
			return true
		}
	}
	scan(s.tree, name, func(data []byte) { found = manifestFields[0].Match(data) && manifestFields[1].Match(data) })
	return found
}

// namedAsValues reports whether a file has the name of one with values for an environment: values-prod.yaml,
// prod.values.yaml, values/prod.yaml.
func namedAsValues(name string) bool {
	ext := path.Ext(name)
	if ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return false
	}
	base := path.Base(name)
	stem := strings.TrimSuffix(base, ext)
	return path.Base(path.Dir(name)) == "values" ||
		stem != "values" && (strings.HasPrefix(stem, "values") || strings.HasSuffix(stem, "values")) &&
			!strings.HasPrefix(base, "values.schema.")
}

// areValues reports whether a file is beside the Chart.yaml of an application, or in a directory for values there.
func (s *side) areValues(name string) bool {
	if !exists(s.tree, name) {
		return false
	}
	dir := path.Dir(name)
	if path.Base(dir) == "values" && !exists(s.tree, path.Join(dir, "Chart.yaml")) {
		dir = path.Dir(dir)
	}
	data, err := s.tree.ReadFile(path.Join(dir, "Chart.yaml"))
	return err == nil && !library.Match(data)
}

// library matches the Chart.yaml of a chart that cannot be installed.
var library = regexp.MustCompile(`(?m)^type:\s*["']?library\b`)

// uses reports whether one of the units that read a file of values names it: in its definition, or in a kustomization.
func (s *side) uses(name string, readers []*Unit) bool {
	base := []byte(path.Base(name))
	return slices.ContainsFunc(readers, func(u *Unit) bool {
		return bytes.Contains(u.spec, base) || slices.ContainsFunc(u.Reads, func(file string) bool {
			if !isKustomization(file) && path.Base(file) != "Kustomization" {
				return false
			}
			data, err := u.in(s.tree).ReadFile(file)
			return err == nil && bytes.Contains(data, base)
		})
	})
}
