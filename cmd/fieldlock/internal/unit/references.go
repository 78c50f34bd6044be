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
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A definition refers to objects by kind, namespace and name: to its source, and to ConfigMaps and Secrets with variables or values. Candidates
// are the objects of that name in files, and those that kustomizations generate. A candidate is applied by the units that read its file; a file
// that no unit reads is applied with its directory. For example:
//
//	clusters/a/apps.yaml  a Kustomization apps, which reads apps/ and asks for the ConfigMap vars
//	clusters/a/vars.yaml  vars of the same directory: it is meant
//	clusters/b/apps.yaml  another Kustomization apps, so clusters/b is another cluster
//	clusters/b/vars.yaml  vars of that cluster: not meant
//	old/vars.yaml         vars that may be of this cluster: a change of it makes apps not covered
//
// The candidates of other clusters do not count. If the rest differ, those count that the same root applies as the definition. If these differ,
// too, nothing decides: the first one counts, and the unit is not covered if it changes.
//
// Before anything is rendered, an object counts as it is written, and the record of the unit has the records of the units that may print it
// (side.record). Where these differ, and before the unit is rendered, the object counts as they print it (side.resolve).

// references are the objects that a definition refers to.
type references map[flux.Reference]*meaning

// meaning is what a reference means.
type meaning struct {
	object map[string]any // as it is written; nil if there is none, or if kustomize generates it
	files  []string       // that hold the object or generate it, all with the same content
	// contents identify the content of each candidate by its file; apart has those that are for other clusters.
	contents map[string]string
	apart    map[string]bool
}

// content identifies the content of the object, "" for none.
func (m *meaning) content() string {
	if len(m.files) == 0 {
		return ""
	}
	return m.contents[m.files[0]]
}

// definer reads the definition of a unit.
type definer struct {
	*side
	unit    *Unit // what is known before: its name, its file, the unit that prints its definition, and what it keeps
	refers  references
	printed map[flux.Reference]map[string]any // objects as units print them
	unclear string                            // why nothing tells what a reference means
}

// define returns the unit that an object defines, which a unit has printed, or a file holds; nil for none.
func (s *side) define(o Object, parent *Unit) *Unit {
	return (&definer{side: s, unit: &Unit{parent: parent}}).define(o)
}

func (d *definer) define(o Object) *Unit {
	k := d.kindOf(o.Object)
	if k == nil {
		return nil
	}
	d.unit.Kind, d.unit.Name, d.unit.File, d.refers = k.name, nameOf(o.Object), o.File, references{}
	u := k.from(d, o)
	if u == nil {
		return nil
	}
	if u.parent, u.keeps, u.refers, u.unclear = d.unit.parent, d.unit.keeps, d.refers, d.unclear; u.File == "" && u.parent != nil {
		u.File = u.parent.File
	}
	d.close(u)
	return u
}

// lookup returns the object that a reference means.
func (d *definer) lookup(r flux.Reference) (object map[string]any, ok bool) {
	m := d.refers[r]
	if m == nil {
		m = d.meaning(r)
		d.refers[r] = m
	}
	if object, ok = d.printed[r]; ok {
		return object, true
	}
	return m.object, m.object != nil
}

// meaning finds what a reference means.
func (d *definer) meaning(r flux.Reference) *meaning {
	m := &meaning{contents: map[string]string{}, apart: map[string]bool{}}
	objects := map[string]map[string]any{} // of those in one file the last, as kubectl applies them
	for _, w := range d.objects(r.Kind, r.Name) {
		if means(r, w.object) {
			objects[w.file], m.contents[w.file] = w.object, d.contentOf(w.object)
		}
	}
	maps.Copy(m.contents, d.generated(r))
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
	if m.differ() && d.readers != nil {
		d.unclear = fmt.Sprintf("it refers to the %s %s, and nothing tells which one is meant: that of %s", r.Kind, r.Name, strings.Join(m.files, " or "))
	}
	if len(m.files) > 0 {
		m.object = objects[m.files[0]]
	}
	return m
}

// differ reports whether the files have different contents.
func (m *meaning) differ() bool {
	return slices.ContainsFunc(m.files, func(file string) bool { return m.contents[file] != m.content() })
}

// means reports whether a reference may mean an object. A namespace that one of both does not give is any.
func means(r flux.Reference, object map[string]any) bool {
	namespace, _ := yamldoc.At(object, "metadata", "namespace").(string)
	return object["kind"] == r.Kind && yamldoc.At(object, "metadata", "name") == r.Name && (namespace == r.Namespace || namespace == "" || r.Namespace == "")
}

// inOrder returns references sorted.
func inOrder[V any](of map[flux.Reference]V) []flux.Reference {
	return slices.SortedFunc(maps.Keys(of), func(a, b flux.Reference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// isElsewhere reports whether a file with an object is for another cluster than a unit: all that apply the file are.
func (s *side) isElsewhere(u *Unit, file string) bool {
	return !slices.ContainsFunc(s.appliers(u), func(by *Unit) bool {
		readers := s.readers[file]
		return len(readers) == 0 && !s.isOtherCluster(by, file) ||
			slices.ContainsFunc(readers, func(p *Unit) bool { return !p.clashes(by) && !s.isOtherCluster(by, p.root().File) })
	})
}

// isOtherCluster reports whether a directory around a file is that of another cluster than the one of a unit: the largest one that does not hold
// the root of the unit defines another unit of its name, or of the name of one that it comes from.
func (s *side) isOtherCluster(u *Unit, file string) bool {
	root, dir := u.root().File, file
	for !below(root, path.Dir(dir)) {
		dir = path.Dir(dir)
	}
	return dir != file && slices.ContainsFunc(s.defined, func(other *Unit) bool { return below(other.File, dir) && other.clashes(u) })
}

// clashes reports whether a unit is for another cluster than u: both are, or come from, units of one name that different files define.
func (u *Unit) clashes(other *Unit) bool {
	for x := u; x != nil; x = x.parent {
		for y := other; y != nil; y = y.parent {
			if x.String() == y.String() && x.File != y.File {
				return true
			}
		}
	}
	return false
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

// addOrigins adds the directories that a unit comes from: that of its definition, and those of the units that read or print it.
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

// appliers returns the units that apply a unit whose definition is known as it is written: those that read its file. Any other unit stands for
// itself.
func (s *side) appliers(u *Unit) []*Unit {
	if by := s.readers[u.File]; u.parent == nil && len(by) > 0 {
		return by
	}
	return []*Unit{u}
}

// root returns the unit that a unit comes from in the end.
func (u *Unit) root() *Unit {
	for u.parent != nil {
		u = u.parent
	}
	return u
}

// record identifies all that a unit may read: its definition, its files, and the units that may print the objects that it refers to. It is
// known before anything is rendered, and a unit with the same record on both sides is unchanged.
func (s *side) record(u *Unit) string {
	h := sha256.New()
	fmt.Fprint(h, u.digest(s.tree))
	for _, r := range inOrder(u.refers) {
		for _, p := range s.printers(u, u.refers[r]) {
			fmt.Fprintf(h, "\x00%s", p.digest(s.tree))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// printers returns the units that may print the object which a reference of a unit means: of several those of its cluster, and of these
// those of its root if there are any.
func (s *side) printers(u *Unit, m *meaning) []*Unit {
	var all []*Unit
	for _, file := range m.files {
		for _, p := range s.readers[file] {
			if s.byKey[p.key()] == p && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	if len(all) < 2 {
		return all
	}
	all = slices.DeleteFunc(all, func(p *Unit) bool { return p.clashes(u) || s.isOtherCluster(u, p.root().File) })
	own := slices.DeleteFunc(slices.Clone(all), func(p *Unit) bool { return path.Dir(p.root().File) != path.Dir(u.root().File) })
	if len(own) > 0 {
		return own
	}
	return all
}

// resolve gives a unit the objects that it refers to as other units print them: these may patch or generate them. Several units that print
// one object differently make it unclear what is meant.
func (s *side) resolve(u *Unit) {
	printed := map[flux.Reference]map[string]any{}
	unclear := ""
	for _, r := range inOrder(u.refers) {
		m := u.refers[r]
		contents := map[string]string{} // with the unit that prints it
		for _, p := range s.printers(u, m) {
			objects, _ := s.render(p) // one that cannot be rendered counts as it is written
			for _, o := range objects {
				if !isReferred(o.Object) || !means(r, o.Object) {
					continue
				}
				if printed[r] == nil {
					printed[r] = o.Object
				}
				contents[s.contentOf(o.Object)] = p.String()
			}
		}
		if contents[m.content()] != "" && len(contents) == 1 {
			delete(printed, r)
		}
		if len(contents) > 1 {
			by := slices.Sorted(maps.Values(contents))
			unclear = fmt.Sprintf("it refers to the %s %s, which several units print differently: %s", r.Kind, r.Name, strings.Join(by, ", "))
		}
	}
	if len(printed) == 0 {
		return
	}
	if s.redefine(u, printed); unclear != "" {
		u.unclear = unclear
	}
}

// redefine defines a unit with other objects that it refers to: those of the files that it keeps, and those that are printed.
func (s *side) redefine(u *Unit, printed map[flux.Reference]map[string]any) {
	d := &definer{side: s, unit: &Unit{parent: u.parent, keeps: u.keeps}, printed: printed}
	again := d.define(Object{Document: &yamldoc.Document{Object: decode[definedSpec](u.spec).Object}, File: u.File})
	if again == nil {
		u.Err = &rendered.NotCovered{File: u.File, Reason: "an object that it refers to cannot be read"}
		return
	}
	again.document = u.document
	*u = *again
}

// wasDefined returns the unit of OLD whose definition is that of a unit, perhaps in another file.
func (c *comparison) wasDefined(n, old *Unit) *Unit {
	if old == nil {
		i := slices.IndexFunc(c.olds.units, func(u *Unit) bool { return u.String() == n.String() && c.news.byKey[u.key()] == nil })
		if i >= 0 {
			return c.olds.units[i]
		}
	}
	return old
}

// keepMeaning makes a unit refer to the objects of the files that OLD means, as long as NEW has these: a change may add others of their names.
func (c *comparison) keepMeaning(n, old *Unit) {
	keeps := map[flux.Reference]string{}
	for r, was := range old.refers {
		if now := n.refers[r]; now != nil && len(was.files) > 0 && !slices.Contains(now.files, was.files[0]) && now.contents[was.files[0]] != "" {
			keeps[r] = was.files[0]
		}
	}
	if len(keeps) > 0 {
		n.keeps = keeps
		c.news.redefine(n, nil)
	}
}

// unsure returns a file with an object that a unit may refer to as well and that changes, "" for none.
func (n *Unit) unsure(old *Unit) string {
	for _, r := range inOrder(n.refers) {
		now, was := n.refers[r], old.refers[r]
		if was == nil {
			continue
		}
		for _, file := range sorted(slices.AppendSeq(slices.Collect(maps.Keys(now.contents)), maps.Keys(was.contents))) {
			content, before := now.contents[file], was.contents[file]
			counts := content != "" && !now.apart[file] || before != "" && !was.apart[file]
			if counts && content != before && (content != "" && content != now.content() || before != "" && before != was.content()) {
				return file
			}
		}
	}
	return ""
}

// fileObject is an object of a file.
type fileObject struct {
	file   string
	object map[string]any
}

// objects returns the objects of a kind with a name that files of the tree hold, in any namespace.
func (s *side) objects(kind, name string) []fileObject {
	key := kind + "\x00" + name
	if found, known := s.found[key]; known || strings.Contains(name, "$") {
		return found
	}
	var found []fileObject
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
				found = append(found, fileObject{file, d.Object})
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

// generated identifies, for each kustomization that generates an object, what it is generated from.
func (s *side) generated(r flux.Reference) map[string]string {
	key := r.Kind + "\x00" + r.Name
	if all, known := s.generates[key]; known || r.Kind != "ConfigMap" && r.Kind != "Secret" || strings.Contains(r.Name, "$") {
		return all
	}
	if s.generators == nil {
		s.generators = map[string][]byte{}
		for _, file := range s.tree.Paths() {
			if isKustomization(file) {
				if data, err := s.tree.ReadFile(file); err == nil && mentions(data, "Generator") {
					s.generators[file] = data
				}
			}
		}
	}
	all := map[string]string{}
	for file, data := range s.generators {
		if !mentions(data, r.Name) {
			continue
		}
		for _, g := range kustomize.Generators(data, r.Kind, r.Name) {
			all[file] += "\x00" + g.Text
			for _, name := range g.Files {
				name = path.Join(path.Dir(file), name)
				all[file] += "\x00" + name + "\x00" + state(s.tree, name)
			}
		}
	}
	s.generates[key] = all
	return all
}

// contentOf identifies what decides of an object that definitions refer to, and the files that a HelmChart names.
func (s *side) contentOf(object map[string]any) string {
	spec, isSource := object["spec"].(map[string]any)
	if !isSource {
		data := maps.Clone(object)
		delete(data, "metadata")
		delete(data, "sops")
		return digestOf(data)
	}
	content := digestOf(deciding(spec))
	if dir, _ := spec["chart"].(string); object["kind"] == "HelmChart" && strings.Contains(dir, "/") {
		for _, name := range s.tree.Paths() {
			if below(name, path.Clean(dir)) {
				content += state(s.tree, name)
			}
		}
	}
	return content
}
