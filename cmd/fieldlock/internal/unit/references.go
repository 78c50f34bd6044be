package unit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A definition refers to objects by kind, namespace and name: to its source, and to ConfigMaps and Secrets with
// variables or values. Candidates are the objects of that name in files, and those that kustomizations generate. A
// candidate is applied by the units that read its file; a file that no unit reads is applied with its directory. For
// example:
//
//	clusters/a/apps.yaml  a Kustomization apps, which reads apps/ and asks for the ConfigMap vars
//	clusters/a/vars.yaml  vars of the same directory: it is meant
//	clusters/b/apps.yaml  another Kustomization apps, so clusters/b is another cluster
//	clusters/b/vars.yaml  vars of that cluster: not meant
//	old/vars.yaml         vars that may be of this cluster: a change of it makes apps not covered
//
// The candidates of other clusters do not count. If the rest differ, those count that the same root applies as the
// definition. If these differ, too, nothing decides: the first one counts, and the unit is not covered if it changes.
// Where no candidate for the variables of a Kustomization changes, those that all candidates have count, and the other
// variables have values that the tree does not tell (comparison.shareMeaning).
//
// Before anything is rendered, an object counts as it is written, and the record of the unit has the records of the
// units that may print it (side.record). Where these differ, and before the unit is rendered, the object counts as they
// print it (side.resolve).

// reading is the definition of a unit while it is read.
type reading struct {
	*side
	unit   *Unit // what is known before: its name, its file, the unit that prints its definition, and what it keeps
	refers references
}

// define returns the unit that an object defines, which a unit has printed, or a file holds; nil for none.
func (s *side) define(o Object, parent *Unit) *Unit {
	return (&reading{side: s, unit: &Unit{parent: parent}, refers: references{}}).define(o)
}

func (d *reading) define(o Object) *Unit {
	k := d.kindOf(o.Object)
	if k == nil {
		return nil
	}
	d.unit.Kind, d.unit.Name, d.unit.File = k.name, nameOf(o.Object), o.File
	u := k.from(&definer{Options: &d.Options, revisions: d.revisions, lookup: d.resolve}, o)
	if u == nil {
		return nil
	}
	if u.parent, u.keeps, u.refers = d.unit.parent, d.unit.keeps, d.refers; u.File == "" && u.parent != nil {
		u.File = u.parent.File
	}
	d.close(u)
	return u
}

// resolve returns the object that a reference means.
func (d *reading) resolve(r flux.Reference) (object map[string]any, ok bool) {
	m := d.refers[r]
	if m == nil {
		m = d.meaning(r)
		d.refers[r] = m
	}
	return m.object, m.object != nil
}

// meaning finds what a reference means.
func (d *reading) meaning(r flux.Reference) *meaning {
	m := &meaning{contents: map[string]string{}, apart: map[string]bool{}}
	objects := map[string]map[string]any{} // of those in one file the last, as kubectl applies them
	for _, w := range d.candidates.objectsNamed(r.Kind, r.Name) {
		if means(r, w.object) {
			objects[w.file], m.contents[w.file] = w.object, d.candidates.contentOf(w.object)
		}
	}
	maps.Copy(m.contents, d.candidates.generatedFrom(r))
	m.makers = maps.Clone(d.candidates.makers(r))
	maps.DeleteFunc(m.makers, func(file, _ string) bool { return d.isElsewhere(d.unit, file) })
	m.files = slices.Sorted(maps.Keys(m.contents))
	if len(m.files) > 1 {
		m.files = slices.DeleteFunc(m.files, func(file string) bool {
			m.apart[file] = d.isElsewhere(d.unit, file)
			return m.apart[file]
		})
	}
	if file := d.unit.keeps[r]; m.contents[file] != "" {
		m.files = []string{file}
	}
	if m.differ() {
		own := slices.DeleteFunc(slices.Clone(m.files), func(file string) bool { return !d.isOwn(d.unit, file) })
		if len(own) > 0 {
			m.files = own
		}
	}
	if m.differ() {
		m.unclear = fmt.Sprintf("it refers to the %s %s, and nothing tells which one is meant: that of %s",
			r.Kind, r.Name, strings.Join(m.files, " or "))
		m.candidates = map[string]map[string]any{}
		for _, file := range m.files {
			m.candidates[m.contents[file]] = objects[file]
		}
	}
	if len(m.files) > 0 {
		m.object = objects[m.files[0]]
	}
	return m
}

// isElsewhere reports whether a file with an object is for another cluster than a unit: all that apply the file are.
func (s *side) isElsewhere(u *Unit, file string) bool {
	return !slices.ContainsFunc(s.appliers(u), func(by *Unit) bool {
		readers := s.deployers(file)
		return len(readers) == 0 && !s.isOtherCluster(by, file) ||
			slices.ContainsFunc(readers, func(p *Unit) bool {
				return !p.clashes(by) && !s.isOtherCluster(by, p.rootUnit().File)
			})
	})
}

// isOtherCluster reports whether a file, or a directory around it, is that of another cluster than the one of a unit:
// the largest one that does not hold the root of the unit defines another unit of its name, or of the name of one that
// it comes from.
func (s *side) isOtherCluster(u *Unit, file string) bool {
	root, dir := u.rootUnit().File, file
	for !rendered.Below(root, path.Dir(dir)) {
		dir = path.Dir(dir)
	}
	return slices.ContainsFunc(s.defined, func(other *Unit) bool {
		return rendered.Below(other.File, dir) && other.clashes(u)
	})
}

// isOwn reports whether the root that applies a unit applies a file, too. Roots in one directory count as one.
func (s *side) isOwn(u *Unit, file string) bool {
	own, others := map[string]bool{}, map[string]bool{}
	s.addOrigins(u, own)
	for _, p := range s.readers[file] {
		s.addOrigins(p, others)
	}
	if len(s.readers[file]) == 0 {
		others[path.Dir(file)] = true
	}
	for dir := range others {
		if own[dir] {
			return true
		}
	}
	return false
}

// addOrigins adds the directories that a unit comes from: that of its definition, and those of the units that read or
// print it.
func (s *side) addOrigins(u *Unit, dirs map[string]bool) {
	dir := path.Dir(u.File)
	if dirs[dir] && u.parent == nil {
		return
	}
	dirs[dir] = true
	if u.parent != nil {
		s.addOrigins(u.parent, dirs)
		return
	}
	for _, by := range s.readers[u.File] {
		s.addOrigins(by, dirs)
	}
}

// appliers returns the units that apply a unit whose definition is known as it is written: those that read its file.
// Any other unit stands for itself.
func (s *side) appliers(u *Unit) []*Unit {
	if by := s.deployers(u.File); u.parent == nil && len(by) > 0 {
		return by
	}
	return []*Unit{u}
}

// deployers returns the units that read a file, without the kustomizations and charts that units of a tool render.
func (s *side) deployers(file string) []*Unit {
	return slices.DeleteFunc(slices.Clone(s.readers[file]), func(u *Unit) bool {
		return u.kind.find != nil && slices.ContainsFunc(s.readers[u.File], func(by *Unit) bool {
			return by.kind.find == nil
		})
	})
}

// record identifies all that a unit may read: its definition, its files, and the units that may print the objects that
// it refers to. It is known before anything is rendered, and a unit with the same record on both sides is unchanged.
func (s *side) record(u *Unit) string {
	h := sha256.New()
	fmt.Fprint(h, u.inputDigest(s.tree))
	for _, r := range inOrder(u.refers) {
		for _, p := range s.printers(u, u.refers[r]) {
			fmt.Fprintf(h, "\x00%s", p.inputDigest(s.tree))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// printers returns the units that may print the object which a reference of a unit means, or one that makes it: of
// several those of its cluster, and of these those of its root if there are any.
func (s *side) printers(u *Unit, m *meaning) []*Unit {
	var all []*Unit
	for _, file := range slices.Concat(m.files, slices.Sorted(maps.Keys(m.makers))) {
		for _, p := range s.readers[file] {
			if s.byKey[p.pairKey()] == p && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	if len(all) < 2 {
		return all
	}
	all = slices.DeleteFunc(all, func(p *Unit) bool { return p.clashes(u) || s.isOtherCluster(u, p.rootUnit().File) })
	own := slices.DeleteFunc(slices.Clone(all), func(p *Unit) bool {
		return path.Dir(p.rootUnit().File) != path.Dir(u.rootUnit().File)
	})
	if len(own) > 0 {
		return own
	}
	return all
}

// refersToArtifact reports whether the source of a unit is made of another one. As it is printed, it may have other
// files than as it is written.
func (u *Unit) refersToArtifact() bool {
	for r, m := range u.refers {
		if r.Kind == "ExternalArtifact" && m.object != nil {
			return true
		}
	}
	return false
}

// resolve gives a unit the objects that it refers to as other units print them: these may patch or generate them.
// Several units that print one object differently make it unclear what is meant. It is clear if units print all
// candidates, and print one object.
func (s *side) resolve(u *Unit) {
	again := false
	for _, r := range inOrder(u.refers) {
		m, printers := u.refers[r], s.printers(u, u.refers[r])
		var first map[string]any
		objects, by := map[string]map[string]any{}, map[string]string{} // by content, and the units that print them
		made := map[string]string{}                                     // by file
		complete := true
		for _, p := range printers {
			list, err := s.objectsOf(p) // one that cannot be rendered counts as it is written
			complete = complete && err == nil
			for _, o := range list {
				if len(m.makers) > 0 && s.candidates.mayMake(o.Object, r) {
					made[cmp.Or(o.File, p.File)] += "\x00" + digestOf(withoutMetadata(o.Object))
				}
				for _, object := range referred(o.Object) {
					if !means(r, object) {
						continue
					}
					if first == nil {
						first = object
					}
					content := s.candidates.contentOf(object)
					objects[content], by[content] = object, p.String()
				}
			}
		}
		if len(made) > 0 {
			m.makers, u.digestIn = made, nil
		}
		for _, file := range m.files {
			complete = complete && slices.ContainsFunc(s.readers[file], func(p *Unit) bool {
				return slices.Contains(printers, p)
			})
		}
		switch {
		case len(objects) > 1:
			m.unclear = fmt.Sprintf("it refers to the %s %s, which several units print differently: %s",
				r.Kind, r.Name, strings.Join(slices.Sorted(maps.Values(by)), ", "))
			m.object, m.candidates, again = first, objects, true
		case len(objects) == 1 && complete && m.unclear != "":
			for _, file := range m.files {
				m.contents[file] = s.candidates.contentOf(first)
			}
			m.object, m.unclear, again = first, "", true
		case len(objects) == 1 && objects[m.content()] == nil:
			m.object, m.candidates, again = first, nil, true
		}
	}
	if again {
		s.redefine(u, u.refers)
	}
}

// redefine defines a unit with other objects that it refers to: those of the files that it keeps, except for references
// whose meaning is known.
func (s *side) redefine(u *Unit, known references) {
	d := &reading{side: s, unit: &Unit{parent: u.parent, keeps: u.keeps}, refers: known}
	again := d.define(Object{Document: &yamldoc.Document{Object: decode[definedSpec](u.spec).Object}, File: u.File})
	if again == nil {
		u.Err = &rendered.NotCovered{File: u.File, Reason: "an object that it refers to cannot be read"}
		return
	}
	again.document = u.document
	*u = *again
}
