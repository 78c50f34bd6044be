package unit

import (
	"maps"
	"regexp"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A changed file that a unit reads is compared as the unit prints it, and as it is written, too: somebody may apply it
// so.
//
//	base/pvc.yaml         storageClassName: a → b     refused as it is written
//	prod/kustomization    patches it to c             printed as before: the refusal is a warning

// writtenCRD matches the text of a CRD. CRDs are compared as the units print them only.
var writtenCRD = regexp.MustCompile(`(?m)^kind: *["']?CustomResourceDefinition\b`)

// addWritten reads the changed files that units of both sides read, and keeps the objects that one side lacks. Somebody
// may apply such a file as it is written: whoever compares the objects tells of a refusal in a field that the units
// print as before.
func (c *comparison) addWritten() {
	c.out.Readers, c.out.Failing = map[string][]string{}, map[string][]string{}
	for _, p := range c.pairs {
		if p.new == nil || !p.changed || c.news.byKey[p.new.pairKey()] != p.new || p.new.tree != nil || p.new.peeks {
			continue
		}
		into := c.out.Readers
		if _, err := c.news.objectsOf(p.new); err != nil {
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
			files[i].Documents = slices.DeleteFunc(files[i].Documents, func(d *yamldoc.Document) bool {
				return inNew[ids[d]] && inOld[ids[d]]
			})
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

// addWrittenUnits renders the definitions that change in these files, if another unit prints them as before: it may
// override the change.
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
					all[u.pairKey()] = u
				}
			}
		}
		return all
	}
	news, olds := find(c.news, newFiles), find(c.olds, oldFiles)
	for _, key := range slices.Sorted(maps.Keys(news)) {
		n, old := news[key], olds[key]
		if old == nil || n.inputDigest(c.news.tree) == old.inputDigest(c.olds.tree) {
			continue
		}
		if prints, before := c.news.renderedFiles(n), c.olds.renderedFiles(old); prints != nil && before != nil {
			c.out.Readers[key] = []string{n.String()}
			c.out.NewWritten, c.out.OldWritten = append(c.out.NewWritten,
				prints...), append(c.out.OldWritten, before...)
		}
	}
}
