package unit

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A definition refers to objects by kind, namespace and name: to its source, and to ConfigMaps and Secrets with variables or values. The tree may
// have several such objects, and nothing in it tells which one is applied:
//
//  1. The object in the nearest file counts. For clusters/a/apps.yaml, clusters/a/vars.yaml is nearer than infra/vars.yaml.
//  2. If OLD chose another file than NEW, the definition is compared with that file as well. A change may add a nearer file that nobody applies.
//  3. If any other such object changes, in a file or in what a unit prints, the definition is compared with that one as well. The nearer file
//     may be older than the change. An object that is surely for another cluster does not count, and where several units may have use for it,
//     the definition is not covered.

// references are the objects that a definition refers to.
type references struct {
	chosen choice                      // the files that count
	rivals map[flux.Reference][]string // all files with such objects
}

// choice has, for each reference, the file whose object counts.
type choice map[flux.Reference]string

// definer reads the definition of a unit.
type definer struct {
	*side
	references
	file    string  // with the definition
	prefers choice  // files that count, even if others are nearer
	printed *Object // counts instead of those in files, unless nil
}

// define returns the unit that an object defines, which a unit has printed, or a file holds; nil for none.
func (s *side) define(o Object, parent *Unit) *Unit {
	return (&definer{side: s}).define(o, parent)
}

func (d *definer) define(o Object, parent *Unit) *Unit {
	k := d.kindOf(o.Object)
	if k == nil {
		return nil
	}
	d.file, d.references = o.File, references{choice{}, map[flux.Reference][]string{}}
	u := k.from(d, o)
	if u == nil {
		return nil
	}
	if u.missing != nil {
		u.generated = d.generates()
	}
	if u.parent, u.references = parent, d.references; u.File == "" && parent != nil {
		u.File = parent.File
	}
	d.close(u)
	return u
}

// again defines a unit with another choice, and with a printed object in place of those in files unless it is nil. It returns the unit itself
// if this makes no difference.
func (s *side) again(u *Unit, prefers choice, printed *Object) *Unit {
	if printed == nil && maps.Equal(u.chosen, prefers) {
		return u // as for units that no object defines
	}
	d := &definer{side: s, prefers: prefers, printed: printed}
	again := d.define(Object{Document: &yamldoc.Document{Object: decode[definedSpec](u.spec).Object}, File: u.File}, u.parent)
	if again == nil {
		unread := *u
		unread.missing = &rendered.NotCovered{File: u.File, Reason: "an object that it refers to cannot be read"}
		again, unread.references = &unread, d.references
		s.close(again)
	}
	if printed != nil {
		return again
	}
	for _, r := range inOrder(again.chosen) {
		if file := again.chosen[r]; file != u.chosen[r] {
			again.Name += " with " + file
			return again
		}
	}
	return u
}

// inOrder returns references sorted.
func inOrder[V any](of map[flux.Reference]V) []flux.Reference {
	return slices.SortedFunc(maps.Keys(of), func(a, b flux.Reference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// lookup returns the object that a reference means: of those in one file the last, as kubectl applies them.
func (d *definer) lookup(r flux.Reference) (object map[string]any, ok bool) {
	d.rivals[r] = slices.Clip(d.rivals[r])
	if o := d.printed; o != nil && means(r, o.Object) {
		return o.Object, true
	}
	best := -1
	for _, w := range d.objects(r.Kind, r.Name) {
		if !means(r, w.object) {
			continue
		}
		d.rivals[r] = append(d.rivals[r], w.file)
		near := common(d.file, w.file)
		if w.file == d.prefers[r] {
			near = len(d.file) + 1
		}
		if near > best || w.file == d.chosen[r] {
			best, object, ok = near, w.object, true
			d.chosen[r] = w.file
		}
	}
	return object, ok
}

// generates describes what kustomizations generate of the objects that were looked up.
func (d *definer) generates() []string {
	var all []string
	for _, r := range inOrder(d.rivals) {
		if r.Kind != "ConfigMap" && r.Kind != "Secret" || strings.Contains(r.Name, "$") {
			continue
		}
		for _, file := range d.tree.Paths() {
			if !isKustomization(file) {
				continue
			}
			if data, err := d.tree.ReadFile(file); err == nil && mentions(data, "Generator", r.Name) {
				for _, g := range kustomize.Generators(data, r.Kind, r.Name) {
					all = append(all, g.Text)
					for _, name := range g.Files {
						name = path.Join(path.Dir(file), name)
						all = append(all, name, state(d.tree, name))
					}
				}
			}
		}
	}
	return all
}

// means reports whether a reference may mean an object. A namespace that one of both does not give is any.
func means(r flux.Reference, object map[string]any) bool {
	namespace, _ := yamldoc.At(object, "metadata", "namespace").(string)
	return object["kind"] == r.Kind && yamldoc.At(object, "metadata", "name") == r.Name && (namespace == r.Namespace || namespace == "" || r.Namespace == "")
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

// pairAgain adds a comparison for a unit that was defined again, and for the unit of OLD.
func (c *comparison) pairAgain(again, old *Unit) {
	before := *old
	before.Name, before.File = again.Name, again.File // the objects of both pair
	c.pairs = append(c.pairs, unitPair{new: again, old: &before, changed: true})
}

// pairReferred adds the comparisons of rules 2 and 3 for objects in files. In OLD, the definition may be in another file.
func (c *comparison) pairReferred(n, old *Unit) {
	if old == nil {
		i := slices.IndexFunc(c.olds.units, func(u *Unit) bool { return u.String() == n.String() && c.news.byKey[u.key()] == nil })
		if i < 0 {
			return
		}
		old = c.olds.units[i]
	}
	if again := c.news.again(n, old.chosen, nil); again != n && again.digest(c.news.tree) != old.digest(c.olds.tree) {
		c.pairAgain(again, old)
	}
	for _, r := range inOrder(n.chosen) {
		for _, file := range sorted(slices.Concat(n.rivals[r], old.rivals[r])) {
			names := r.Kind == "HelmChart" // a directory, which may change although the object does not
			if file == n.chosen[r] || file == old.chosen[r] || !names && state(c.news.tree, file) == state(c.olds.tree, file) {
				continue
			}
			again, before := c.news.again(n, choice{r: file}, nil), c.olds.again(old, choice{r: file}, nil)
			if alike := again.digest(c.news.tree) == before.digest(c.olds.tree); alike || !names && again.refersAlike(before) {
				continue
			}
			in := c.olds
			if before == old {
				in = c.news
			}
			switch elsewhere, used := in.isElsewhere(n, r, file); {
			case elsewhere:
			case used:
				reason := "it may refer to what changed in " + in.tree.Name(file) + "; of several such objects, the nearest one counts: " + n.chosen[r]
				c.uncovered(again.Name, again.Kind, in.tree.Name(file), reason)
			default:
				c.pairAgain(again, before)
			}
		}
	}
}

// refersAlike reports whether two definitions give the same unit after their references are resolved.
func (u *Unit) refersAlike(other *Unit) bool {
	return bytes.Equal(u.spec, other.spec) && u.tree == other.tree && fmt.Sprint(u.missing) == fmt.Sprint(other.missing)
}

// isElsewhere reports whether a file with an object that a unit may refer to is surely for another cluster: for a unit of the same name, or
// applied by units that the cluster of u has from other files. used reports whether another unit refers to it.
func (s *side) isElsewhere(u *Unit, to flux.Reference, file string) (elsewhere, used bool) {
	readers, others := 0, 0
	for _, r := range s.units {
		if r.chosen[to] == file && r.File != u.File {
			if used = true; r.String() == u.String() {
				return true, true
			}
		}
		if r.tree == nil && !r.peeks && slices.Contains(r.Reads, file) {
			if readers++; r.clashes(u) {
				others++
			}
		}
	}
	return readers > 0 && readers == others, used
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

// printing is an object that a unit prints, and what it printed in OLD; old is nil for one that it did not print.
type printing struct {
	by       unitPair
	new, old *Object
}

// pairPrinted adds the comparisons of rule 3 for objects that a changed unit generates or patches, or in which it sets variables: no file has
// such an object as it is applied.
func (c *comparison) pairPrinted() {
	printings := map[identity][]printing{}
	for _, p := range c.pairs {
		if p.new == nil || p.forced || !p.changed {
			continue
		}
		news, err := c.news.render(p.new)
		var olds []Object
		if p.old != nil && err == nil {
			olds, err = c.olds.render(p.old)
		}
		if err != nil {
			continue
		}
		before := byName(olds)
		for i := range news {
			o := printing{by: p, new: &news[i]}
			if !isReferred(o.new.Object) {
				continue
			}
			if list := before[namedAs(o.new.Document)]; list != nil {
				o.old = list[0]
			}
			if o.old == nil || !sameContent(o.new.Object, o.old.Object) {
				id, _ := identityOf(o.new.Document)
				printings[id] = append(printings[id], o)
			}
		}
	}
	for _, p := range slices.Clip(c.pairs) {
		if p.new == nil || p.old == nil || p.forced {
			continue
		}
		for _, r := range inOrder(p.new.rivals) {
			list := slices.DeleteFunc(slices.Clone(printings[identity{r.Kind, r.Name}]), func(o printing) bool {
				return !means(r, o.new.Object) || o.by.new.clashes(p.new) || c.isAsWritten(o, p, r)
			})
			for _, o := range list {
				c.pairWithPrinted(p, r, o, len(list) == 1)
			}
		}
	}
}

// isAsWritten reports whether an object that is printed is equal to the one in the file that a unit refers to, on both sides.
func (c *comparison) isAsWritten(o printing, p unitPair, r flux.Reference) bool {
	has := func(s *side, u *Unit, printed *Object) bool {
		return printed == nil || slices.ContainsFunc(s.objects(r.Kind, r.Name), func(w fileObject) bool {
			return w.file == u.chosen[r] && sameContent(w.object, printed.Object)
		})
	}
	return has(c.news, p.new, o.new) && has(c.olds, p.old, o.old)
}

// pairWithPrinted adds a comparison for a unit that refers to an object which another unit prints. The unit is not covered if it is unclear which
// object is applied: another file has it too, or several units print it.
func (c *comparison) pairWithPrinted(p unitPair, r flux.Reference, o printing, only bool) {
	file, was := p.new.chosen[r], p.old.chosen[r]
	reads := func(u *Unit, file string) bool { return file == "" || slices.Contains(u.Reads, file) }
	if o.old == nil || !only || !reads(o.by.new, file) && !reads(o.by.old, was) || c.othersPrint(p.new, o, file) {
		if _, err := c.news.render(p.new); p.changed && err != nil {
			return // that is reported already
		}
		reason := "it may refer to what changed in what " + o.by.new.String() + " prints"
		if file != "" {
			reason += "; check takes what is in " + file
		}
		c.uncovered(p.new.Name, p.new.Kind, c.news.tree.Name(p.new.File), reason)
		return
	}
	again := c.news.again(p.new, p.new.chosen, o.new)
	again.Name += " with what " + o.by.new.String() + " prints"
	c.pairAgain(again, c.olds.again(p.old, p.old.chosen, o.old))
}

// othersPrint reports whether units that do not change may print an object, too, as overlays of other clusters do.
func (c *comparison) othersPrint(u *Unit, o printing, file string) bool {
	name, _ := yamldoc.At(o.new.Object, "metadata", "name").(string)
	return slices.ContainsFunc(c.news.units, func(r *Unit) bool {
		return r != o.by.new && r.tree == nil && !r.peeks && !r.clashes(u) && slices.ContainsFunc(r.Reads, func(in string) bool {
			if in == file {
				return true
			}
			if !isKustomization(in) {
				return false
			}
			data, err := c.news.tree.ReadFile(in)
			return err == nil && mentions(data, "Generator", name)
		})
	})
}

// sameContent reports whether two objects are equal but for their metadata.
func sameContent(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	for _, key := range []string{"metadata", "sops"} {
		delete(a, key)
		delete(b, key)
	}
	return jsonvalue.Equal(a, b)
}
