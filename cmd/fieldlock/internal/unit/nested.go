package unit

import (
	"bytes"
	"cmp"
	"path"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Units are defined by objects, too: by those in files that no unit reads, and by those that other units print. An
// object that a unit prints counts as it is printed, with the patches and variables of that unit.
//
// The definitions as they are written tell which files each unit would read, and so where to begin: a definition in a
// file that another unit reads is found when that unit is rendered. Flux's own Kustomization is often among the files
// that it reads; definitions that only such a circle reads are taken as they are written.

// maxUnits bounds the units of a tree: objects that define each other could go on for ever.
const maxUnits = 5000

// discovery finds the units of one side that objects define.
type discovery struct {
	*side
	written []*Unit         // that files define
	holds   map[string]bool // files that may hold a definition
	live    map[*Unit]bool
	failed  map[*Unit]bool // live Flux Kustomizations with a mistake
	queue   []*Unit
}

// discover adds the units that objects define, and drops those that others render.
func (s *side) discover() {
	d := &discovery{side: s, holds: map[string]bool{}, live: map[*Unit]bool{}, failed: map[*Unit]bool{}}
	d.scan()
	if len(d.holds) == 0 && !slices.ContainsFunc(s.units,
		func(u *Unit) bool { return slices.ContainsFunc(u.Reads, d.holdsAny) }) {
		return
	}
	roots := s.units
	s.units, s.byKey = nil, map[string]*Unit{}
	s.readers, s.defined = map[string][]*Unit{}, slices.Concat(roots, d.written)
	for _, u := range s.defined {
		d.index(u)
	}
	d.written = slices.DeleteFunc(d.written, func(u *Unit) bool {
		if d.isPatch(u) {
			return true
		}
		d.clarify(u)
		if u.remote() {
			s.elsewhere = append(s.elsewhere, u)
		}
		return u.remote()
	})
	for _, u := range slices.Concat(roots, d.written) {
		if !d.isRead(u, func(*Unit) bool { return true }) {
			d.begin(u)
		}
	}
	d.run()
	isLive := func(u *Unit) bool { return d.live[u] && !d.failed[u] } // one that fails prints none of the definitions in its files
	for _, u := range slices.Concat(d.circles(), roots) {
		if !d.live[u] && !d.isRead(u, isLive) {
			d.begin(u)
			d.run()
		}
	}
	s.units = slices.DeleteFunc(s.units, func(u *Unit) bool {
		if u.kind.find == nil {
			if !d.failed[u] || u.parent != nil || !d.isRead(u, isLive) {
				return false
			}
			delete(s.byKey, u.pairKey()) // as it is written; the units that read it print it otherwise
			return true
		}
		return d.isRead(u, func(by *Unit) bool { return d.live[by] && by.kind.find == nil })
	})
	printed := map[[2]string]bool{} // files with definitions that a unit prints, by kind
	for _, u := range s.units {
		if u.parent != nil {
			printed[[2]string{u.Kind, u.File}] = true
		}
	}
	s.elsewhere = slices.DeleteFunc(s.elsewhere, func(u *Unit) bool {
		isPrinted := printed[[2]string{u.Kind, u.File}]
		// A definition that is not read as it is written may be printed as it should be.
		return isPrinted || u.unread && slices.ContainsFunc(s.units, func(by *Unit) bool { return by.id() == u.id() })
	})
}

// scan finds the definitions that are written in files.
func (d *discovery) scan() {
	for _, name := range d.tree.Paths() {
		if !manifest.HasObjects(name) && path.Ext(name) != ".tpl" || isHidden(path.Dir(name)) {
			continue
		}
		found := d.definitionsIn(name)
		if found == nil || !found.defines {
			continue
		}
		if found.templated && d.inTemplates(name) {
			d.holds[name] = true // what it defines is what its chart prints
			continue
		}
		d.holds[name] = found.holds // a template
		for _, document := range found.documents {
			if u := d.define(Object{Document: document, File: name}, nil); u != nil {
				u.document = document
				d.written = append(d.written, u)
				d.holds[name] = true // also one whose files are elsewhere: a patch or a variable may change which
			}
		}
	}
}

// clarify defines a unit again that may refer to several objects, now that it is known which units read their files.
func (d *discovery) clarify(u *Unit) {
	for _, m := range u.refers {
		if len(m.contents) > 1 || len(m.makers) > 0 {
			d.redefine(u, references{})
			return
		}
	}
}

// inTemplates reports whether a file is among the templates of a chart.
func (s *side) inTemplates(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && exists(s.tree, path.Join(path.Dir(dir), "Chart.yaml")) {
			return true
		}
	}
	return false
}

// definitionsIn returns what a file defines; nil for most files, and for one that cannot be read.
func (s *side) definitionsIn(name string) *fileDefinitions {
	id, err := s.tree.ID(name)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	found, ok := s.definitions[id]
	s.mu.Unlock()
	if ok {
		return found
	}
	err = scan(s.tree, name, func(data []byte) {
		defines := slices.ContainsFunc(definers, func(word []byte) bool { return bytes.Contains(data, word) })
		if policies, crds := mentions(data, policyKind), mentions(data, crdKind); defines || policies || crds {
			found = &fileDefinitions{defines: defines, named: s.namesDefinition(data), policies: policies, crds: crds}
		}
	})
	if err != nil {
		return nil
	}
	if found != nil && found.defines {
		data, err := s.tree.ReadFile(name)
		if err != nil {
			return nil
		}
		documents, _, err := s.shared.Read(name, data)
		found.holds, found.templated = err != nil, bytes.Contains(data, []byte("{{"))
		for _, document := range documents {
			if s.kindOf(document.Object) != nil {
				found.documents = append(found.documents, document)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.definitions[id] = found
	return found
}

// namesDefinition reports whether a text has the group and the kind of a definition.
func (e *engine) namesDefinition(data []byte) bool {
	for _, k := range e.kinds {
		if k.group != "" && mentions(data, k.group, k.object) {
			return true
		}
	}
	return false
}

// definers are the groups of the kinds that define units.
var definers = [][]byte{[]byte("toolkit.fluxcd.io"), []byte("argoproj.io")}

// index notes which files a unit reads.
func (d *discovery) index(u *Unit) {
	if u.peeks || u.tree != nil {
		return
	}
	for _, name := range u.Reads {
		d.readers[name] = append(d.readers[name], u)
	}
}

// isRead reports whether another unit that counts reads the file of a unit.
func (d *discovery) isRead(u *Unit, counts func(by *Unit) bool) bool {
	return slices.ContainsFunc(d.readers[u.File], func(by *Unit) bool {
		return by != u && by.id() != u.id() && counts(by)
	})
}

// isPatch reports whether the file of a unit is only input of others, such as a patch of many definitions: nothing is
// defined as it is written there.
func (d *discovery) isPatch(u *Unit) bool {
	readers := slices.DeleteFunc(slices.Clone(d.readers[u.File]), func(by *Unit) bool {
		return by == u || by.id() == u.id()
	})
	return len(readers) > 0 && !slices.ContainsFunc(readers, func(by *Unit) bool { return !by.lacking.Inputs[u.File] })
}

// begin makes a unit live, unless its definition comes from itself.
func (d *discovery) begin(u *Unit) {
	if d.live[u] || d.byKey[u.pairKey()] != nil {
		return
	}
	for by := u.parent; by != nil; by = by.parent {
		if by.written() == u.written() {
			return
		}
	}
	if len(d.units) >= maxUnits {
		d.leftOut = append(d.leftOut, u)
		return
	}
	d.live[u] = true
	d.units, d.byKey[u.pairKey()] = append(d.units, u), u
	d.queue = append(d.queue, u)
}

// run renders live units that may define others, until there are no more.
func (d *discovery) run() {
	for len(d.queue) > 0 {
		batch := slices.DeleteFunc(d.queue, func(u *Unit) bool { return !d.mayDefine(u) })
		d.queue = nil
		for _, u := range batch {
			d.resolve(u)
		}
		d.renderAll(batch)
		for _, u := range batch {
			objects, err := d.objectsOf(u)
			if err != nil {
				if isMissing(err) && u.kind.deploys != nil {
					d.widen(u, err)
				}
				d.failed[u] = u.Kind == "Flux Kustomization" && !isMissing(err) // an app of apps that lacks a chart prints the rest
				continue
			}
			for _, o := range objects {
				if o.File == "" || u.tree != nil {
					o.File = d.fileOf(u, o)
				}
				if n := d.define(o, u); n != nil {
					d.index(n)
					d.begin(n)
				}
			}
		}
	}
}

// widen gives a unit whose definitions are not known the files that these may deploy as its record.
func (s *side) widen(u *Unit, err error) {
	dirs := u.kind.deploys(u)
	u.Reads = slices.Clone(u.Reads)
	for _, name := range u.in(s.tree).Paths() {
		if (manifest.HasObjects(name) || path.Ext(name) == ".tpl") &&
			slices.ContainsFunc(dirs, func(dir string) bool { return rendered.Below(name, dir) }) {
			u.Reads = append(u.Reads, name)
		}
	}
	u.Reads = sorted(u.Reads)
	lists := u.lists
	u.lists = func(name string) bool { return lists(name) && !manifest.HasObjects(name) && path.Ext(name) != ".tpl" }
	u.Err, u.digestIn = err, nil
}

// mayDefine reports whether a unit may print a definition.
func (d *discovery) mayDefine(u *Unit) bool {
	if u.Err != nil || u.peeks || u.tree != nil {
		return u.Err == nil
	}
	return slices.ContainsFunc(u.Reads, d.holdsAny)
}

// holdsAny reports whether a file that a unit reads may hold a definition; kustomize reads files of any name. A script
// that names only the group, as one with the rules of a role does, holds none; a template may print the kind.
func (d *discovery) holdsAny(name string) bool {
	if holds, known := d.holds[name]; known || manifest.HasObjects(name) {
		return holds
	}
	found := d.definitionsIn(name)
	d.holds[name] = found != nil && found.defines && (found.named || d.inTemplates(name))
	return d.holds[name]
}

// circles returns the units that files define which only units read that are not live: first those that read their own
// file, such as the Kustomization of a whole cluster, and of these those that read most files.
func (d *discovery) circles() []*Unit {
	list := slices.DeleteFunc(slices.Clone(d.written), func(u *Unit) bool { return d.byKey[u.pairKey()] != nil })
	rank := func(u *Unit) int {
		if slices.Contains(u.Reads, u.File) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b *Unit) int { return cmp.Or(rank(a)-rank(b), len(b.Reads)-len(a.Reads)) })
	return list
}

// fileOf returns the file that holds the definition that a unit prints as an object: the one with a document of that
// kind and name that is not a patch.
func (s *side) fileOf(u *Unit, o Object) string {
	if u.tree != nil {
		return u.File
	}
	name := fieldpath.Text(o.Object, "metadata", "name")
	for _, file := range u.Reads {
		if id, err := s.tree.ID(file); err == nil && !u.lacking.Inputs[file] {
			s.mu.Lock()
			found := s.definitions[id]
			s.mu.Unlock()
			if found != nil && slices.ContainsFunc(found.documents, func(w *yamldoc.Document) bool {
				return w.Object["kind"] == o.Object["kind"] && fieldpath.Value(w.Object, "metadata", "name") == name
			}) {
				return file
			}
		}
	}
	return u.File
}
