package unit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Units are defined by objects, too: by those in files that no unit reads, and by those that other units print. An object that a
// unit prints counts as it is printed, with the patches and variables of that unit.
//
// The definitions as they are written tell which files each unit would read, and so where to begin: a definition in a file that
// another unit reads is found when that unit is rendered. Flux's own Kustomization is often among the files that it reads;
// definitions that only such a circle reads are taken as they are written.

// definition is an object that defines a unit, as it is written in a file.
type definition struct {
	*yamldoc.Document
	file string
	unit *Unit // nil for a definition that cannot be read
}

// maxUnits bounds the units of a tree: objects that define each other could go on for ever.
const maxUnits = 5000

// discovery finds the units of one side that objects define.
type discovery struct {
	*side
	written []*definition
	holds   map[string]bool    // files that may hold a definition
	readers map[string][]*Unit // by file
	live    map[*Unit]bool
	failed  map[*Unit]bool // live Flux Kustomizations with a mistake
	queue   []*Unit
}

// discover adds the units that objects define, and drops those that others render.
func (s *side) discover() {
	d := &discovery{side: s, holds: map[string]bool{}, readers: map[string][]*Unit{}, live: map[*Unit]bool{}, failed: map[*Unit]bool{}}
	d.scan()
	if len(d.holds) == 0 && !slices.ContainsFunc(s.units, func(u *Unit) bool { return slices.ContainsFunc(u.Reads, d.holdsAny) }) {
		return
	}
	for _, w := range d.written {
		if w.unit != nil && w.unit.remote() {
			s.elsewhere = append(s.elsewhere, w)
			w.unit = nil
		}
	}
	roots := s.units
	s.units, s.byKey = nil, map[string]*Unit{}
	for _, u := range roots {
		d.index(u)
	}
	for _, w := range d.written {
		if w.unit != nil {
			d.index(w.unit)
		}
	}
	for _, u := range roots {
		if !d.isRead(u.File, u, func(*Unit) bool { return true }) {
			d.begin(u)
		}
	}
	for _, w := range d.written {
		if w.unit != nil && !d.isRead(w.file, w.unit, func(*Unit) bool { return true }) {
			d.begin(w.unit)
		}
	}
	d.run()
	isLive := func(u *Unit) bool { return d.live[u] && !d.failed[u] } // one that fails prints none of the definitions in its files
	for _, w := range d.circles() {
		if !d.isRead(w.file, w.unit, isLive) {
			d.begin(w.unit)
			d.run()
		}
	}
	for _, u := range roots {
		if !d.live[u] && !d.isRead(u.File, u, isLive) {
			d.begin(u)
			d.run()
		}
	}
	s.units = slices.DeleteFunc(s.units, func(u *Unit) bool {
		if u.kind.find == nil {
			if !d.failed[u] || u.parent != nil || !d.isRead(u.File, u, isLive) {
				return false
			}
			delete(s.byKey, u.key()) // as it is written; the units that read it print it otherwise
			return true
		}
		return d.isRead(u.File, u, func(by *Unit) bool { return d.live[by] && by.kind.find == nil })
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
		d.holds[name] = found.holds // a template
		for _, document := range found.documents {
			w := &definition{Document: document, file: name}
			if units := d.defined(Object{Document: document, File: name}, nil); len(units) > 0 {
				w.unit = units[0]
			}
			d.written = append(d.written, w)
		}
	}
	for _, w := range d.written {
		if w.unit != nil {
			d.close(w.unit)
			d.holds[w.file] = d.holds[w.file] || !w.unit.remote() || w.unit.missing == nil // a patch may name another path
		}
	}
}

// fileDefinitions are the definitions in a text, and which other words it has.
type fileDefinitions struct {
	defines        bool // it may have definitions
	documents      []*yamldoc.Document
	holds          bool // a template that may define others
	policies, crds bool
}

// definitionsIn returns what a file defines; nil for most files, and for one that cannot be read.
func (e *engine) definitionsIn(s *side, name string) *fileDefinitions {
	id, err := s.tree.ID(name)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	found, ok := e.definitions[id]
	e.mu.Unlock()
	if ok {
		return found
	}
	err = scan(s.tree, name, func(data []byte) {
		defines := slices.ContainsFunc(definers, func(word []byte) bool { return bytes.Contains(data, word) })
		if policies, crds := mentions(data, policyKind), mentions(data, crdKind); defines || policies || crds {
			found = &fileDefinitions{defines: defines, policies: policies, crds: crds}
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
		documents, _, err := e.shared.Read(name, data)
		found.holds = err != nil
		for _, document := range documents {
			if k := e.kindOf(document.Object); k != nil {
				found.documents = append(found.documents, document)
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.definitions[id] = found
	return found
}

func (d *discovery) definitionsIn(name string) *fileDefinitions {
	return d.engine.definitionsIn(d.side, name)
}

// definers are the groups of the kinds that define units.
var definers = [][]byte{[]byte("toolkit.fluxcd.io"), []byte("argoproj.io")}

// kindOf returns the kind of unit that an object defines; nil for none.
func (e *engine) kindOf(object map[string]any) *kind {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, k := range e.kinds {
		if k.group != "" && k.group == group && k.object == name {
			return k
		}
	}
	return nil
}

// defined returns the units that an object defines, which a unit has printed, or a file holds.
func (d *discovery) defined(o Object, parent *Unit) []*Unit {
	k := d.kindOf(o.Object)
	if k == nil {
		return nil
	}
	units := d.define(k, o, nil)
	for _, u := range units {
		u.parent = parent
		if u.File == "" {
			u.File = o.File
		}
		if u.File == "" && parent != nil {
			u.File = parent.File
		}
	}
	return units
}

// index notes which files a unit reads.
func (d *discovery) index(u *Unit) {
	if u.peeks || u.tree != nil {
		return
	}
	for _, name := range u.Reads {
		d.readers[name] = append(d.readers[name], u)
	}
}

// isRead reports whether another unit of some kind reads a file.
func (d *discovery) isRead(name string, by *Unit, counts func(*Unit) bool) bool {
	return slices.ContainsFunc(d.readers[name], func(u *Unit) bool { return u != by && u.id() != by.id() && counts(u) })
}

// begin makes a unit live, unless its definition comes from itself.
func (d *discovery) begin(u *Unit) {
	if d.live[u] || d.byKey[u.key()] != nil {
		return
	}
	for by := u.parent; by != nil; by = by.parent {
		if by.written() == u.written() {
			return
		}
	}
	if len(d.units) >= maxUnits {
		d.leftOut = u
		return
	}
	d.live[u] = true
	d.units, d.byKey[u.key()] = append(d.units, u), u
	d.queue = append(d.queue, u)
}

// run renders live units that may define others, until there are no more.
func (d *discovery) run() {
	for len(d.queue) > 0 {
		batch := slices.DeleteFunc(d.queue, func(u *Unit) bool { return !d.mayDefine(u) })
		d.queue = nil
		d.renderAll(batch)
		for _, u := range batch {
			objects, err := d.render(u)
			if err != nil {
				d.failed[u] = u.Kind == "Flux Kustomization" && !isMissing(err) // an app of apps that lacks a chart prints the rest
				continue
			}
			for _, o := range objects {
				if o.File == "" || u.tree != nil {
					o.File = d.fileOf(u, o)
				}
				for _, n := range d.defined(o, u) {
					d.close(n)
					d.index(n)
					d.begin(n)
				}
			}
		}
	}
}

// mayDefine reports whether a unit may print a definition.
func (d *discovery) mayDefine(u *Unit) bool {
	if u.Err != nil || u.peeks || u.tree != nil {
		return u.Err == nil
	}
	return slices.ContainsFunc(u.Reads, d.holdsAny)
}

// holdsAny reports whether a file that a unit reads may hold a definition; kustomize reads files of any name.
func (d *discovery) holdsAny(name string) bool {
	if holds, known := d.holds[name]; known || manifest.HasObjects(name) {
		return holds
	}
	found := d.definitionsIn(name)
	d.holds[name] = found != nil && found.defines
	return d.holds[name]
}

// circles returns the definitions that only units read which are not live, those that read most files first.
func (d *discovery) circles() []*definition {
	var list []*definition
	for _, w := range d.written {
		if w.unit != nil && d.byKey[w.unit.key()] == nil {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b *definition) int { return len(b.unit.Reads) - len(a.unit.Reads) })
	return list
}

// fileOf returns the file that holds the definition that a unit prints as an object: the one with a document of that kind and
// name.
func (s *side) fileOf(u *Unit, o Object) string {
	if u.tree != nil {
		return u.File
	}
	name, _ := yamldoc.At(o.Object, "metadata", "name").(string)
	for _, file := range u.Reads {
		if id, err := s.tree.ID(file); err == nil {
			s.mu.Lock()
			found := s.definitions[id]
			s.mu.Unlock()
			if found != nil && slices.ContainsFunc(found.documents, func(w *yamldoc.Document) bool {
				return w.Object["kind"] == o.Object["kind"] && yamldoc.At(w.Object, "metadata", "name") == name
			}) {
				return file
			}
		}
	}
	return u.File
}

// key identifies a unit among those of one side, and its counterpart on the other side. Several units may print one definition, each with
// its own patches.
func (u *Unit) key() string {
	if u.parent == nil {
		return u.written()
	}
	return u.written() + "\x00" + u.parent.written()
}

// written identifies the definition of a unit, whoever prints it.
func (u *Unit) written() string {
	if u.kind.group == "" {
		return u.String()
	}
	return u.String() + "\x00" + u.File
}

// id identifies a definition, however a parent has changed it, and a chart, whatever its values.
func (u *Unit) id() string {
	if u.kind.group == "" {
		return u.Kind + "\x00" + u.File
	}
	return u.Kind + "\x00" + u.Name + "\x00" + u.File
}

// remote reports whether a unit is rendered from what is not in the tree.
func (u *Unit) remote() bool { return u.Err != nil && isMissing(u.Err) }

// written is an object of a file.
type written struct {
	file   string
	object map[string]any
}

// define returns the units that an object of a kind defines, and notes from which files the objects come that it refers to. With
// prefers, the choice of another definition, those objects come from the same files as there, as far as these have them.
func (s *side) define(k *kind, o Object, prefers map[string]string) []*Unit {
	s.prefers, s.chosen, s.rivals = prefers, map[string]string{}, map[string][]string{}
	units := k.from(s, o)
	for _, u := range units {
		u.chosen, u.rivals = s.chosen, s.rivals
	}
	return units
}

// lookup returns the object of a kind with a name that files of the tree hold: the one nearest to a file, if there are several, and of
// those in one file the last, as kubectl applies them.
func (s *side) lookup(from, kind, namespace, name string) (object map[string]any, ok bool) {
	key, best := strings.Join([]string{kind, namespace, name}, "\x00"), -1
	s.rivals[key] = slices.Clip(s.rivals[key])
	if o := s.printed; o != nil && o.is(key) {
		return o.Object, true
	}
	for _, w := range s.objects(kind, name) {
		if in, _ := yamldoc.At(w.object, "metadata", "namespace").(string); in != "" && namespace != "" && in != namespace {
			continue
		}
		s.rivals[key] = append(s.rivals[key], w.file)
		near := common(from, w.file)
		if w.file == s.prefers[key] {
			near = len(from) + 1
		}
		if near > best || w.file == s.chosen[key] {
			best, object, ok = near, w.object, true
			s.chosen[key] = w.file
		}
	}
	return object, ok
}

// asBefore reads the definition of a unit again with the files that OLD's definition refers to. It returns nil if both refer to the same
// files. Without it, a file that a change adds and nobody applies could hide the file that is applied.
func (s *side) asBefore(u, old *Unit) *Unit {
	if maps.Equal(u.chosen, old.chosen) {
		return nil // as for units that no object defines
	}
	again := s.again(u, old.chosen)
	for key, file := range again.chosen {
		if file != u.chosen[key] {
			again.Name += " with " + file
			s.close(again)
			return again
		}
	}
	return nil
}

// again reads the definition of a unit again, with a choice of the files that it refers to.
func (s *side) again(u *Unit, prefers map[string]string) *Unit {
	object := decode[definedSpec](u.spec).Object
	units := s.define(u.kind, Object{Document: &yamldoc.Document{Object: object}, File: u.File}, prefers)
	if len(units) == 0 {
		unread := *u
		unread.missing = &rendered.NotCovered{File: u.File, Reason: "an object that it refers to cannot be read"}
		unread.chosen = s.chosen
		return &unread
	}
	units[0].parent = u.parent
	return units[0]
}

// objects returns the objects of a kind with a name, in any namespace.
func (s *side) objects(kind, name string) []written {
	key := kind + "\x00" + name
	if found, known := s.found[key]; known || strings.Contains(name, "$") {
		return found
	}
	var found []written
	for _, file := range s.tree.Paths() {
		if !manifest.HasObjects(file) {
			continue
		}
		data, err := s.tree.ReadFile(file)
		if err != nil || !mentions(data, kind, name) {
			continue
		}
		documents, _, _ := s.shared.Read(file, data)
		for _, d := range documents {
			if d.Object["kind"] == kind && yamldoc.At(d.Object, "metadata", "name") == name && isReferred(d.Object) {
				found = append(found, written{file, d.Object})
			}
		}
	}
	s.found[key] = found
	return found
}

// isReferred reports whether an object is of the API group of those that definitions refer to, and not of another kind of that name.
func isReferred(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	if kind := object["kind"]; kind == "ConfigMap" || kind == "Secret" {
		return apiVersion == "v1"
	}
	return strings.HasPrefix(apiVersion, "source.toolkit.fluxcd.io/")
}

// common returns how many leading directories two paths have in common.
func common(a, b string) int {
	n := 0
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			n++
		}
	}
	return n
}

// digestOf returns a digest of an object.
func digestOf(object map[string]any) string {
	data, _ := json.Marshal(object)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
