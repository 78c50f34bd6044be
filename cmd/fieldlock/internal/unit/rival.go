package unit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A definition refers to an object by kind and name: to its source, or to variables and values. Where several files of the tree have such
// an object, the nearest one counts, and the others are its rivals.

// pairRivals adds comparisons for the changed objects that a definition may refer to as well, in files that are not as near. Otherwise two
// changes could hide a refusal: the first adds a copy of an object in a nearer file that nobody applies, and the second changes the object
// that is applied.
func (c *comparison) pairRivals(n, old *Unit) {
	if old == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(n.chosen)) {
		for _, file := range sorted(slices.Concat(n.rivals[key], old.rivals[key])) {
			alike := state(c.news.tree, file) == state(c.olds.tree, file)
			if file == n.chosen[key] || file == old.chosen[key] || alike && !strings.HasPrefix(key, "HelmChart\x00") {
				continue
			}
			again, before := c.news.withRival(n, key, file), c.olds.withRival(old, key, file)
			if !alike && again.refersAlike(before) || alike && again.digest(c.news.tree) == before.digest(c.olds.tree) {
				continue
			}
			in := c.olds
			if before == old {
				in = c.news
			}
			switch elsewhere, used := in.isElsewhere(n, key, file); {
			case elsewhere:
			case used:
				c.out.NotCovered = append(c.out.NotCovered, NotCovered{
					Unit: again.Name, Kind: again.Kind, File: in.tree.Name(file), Changed: true,
					Reason: "it may refer to what changed in " + in.tree.Name(file) + "; of several such objects, the nearest one counts: " + n.chosen[key],
				})
			default:
				was := *before
				was.Name, was.File = again.Name, again.File // the objects of both pair
				c.pairs = append(c.pairs, unitPair{new: again, old: &was, changed: true})
			}
		}
	}
}

// refersAlike reports whether what two definitions refer to comes to the same.
func (u *Unit) refersAlike(other *Unit) bool {
	return bytes.Equal(u.spec, other.spec) && u.tree == other.tree && fmt.Sprint(u.missing) == fmt.Sprint(other.missing)
}

// withRival reads the definition of a unit again with the object of another file. It returns u if the file has no such object.
func (s *side) withRival(u *Unit, key, file string) *Unit {
	if !slices.Contains(u.rivals[key], file) {
		return u
	}
	again := s.again(u, map[string]string{key: file})
	again.Name += " with " + file
	s.close(again)
	return again
}

// isElsewhere reports whether a file with an object that a unit may refer to is surely for another cluster: for a unit of the same name, or
// applied by units that the cluster of u has from other files. used reports whether another unit refers to it.
func (s *side) isElsewhere(u *Unit, key, file string) (elsewhere, used bool) {
	readers, others := 0, 0
	for _, r := range s.units {
		if r.chosen[key] == file && r.File != u.File {
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

// is reports whether an object is what a definition refers to by a key.
func (o *Object) is(key string) bool {
	of := strings.Split(key, "\x00")
	namespace, _ := yamldoc.At(o.Object, "metadata", "namespace").(string)
	return o.Object["kind"] == of[0] && yamldoc.At(o.Object, "metadata", "name") == of[2] && (namespace == of[1] || namespace == "" || of[1] == "")
}

// pairPrinted adds comparisons for units that refer to an object, such as a ConfigMap, which a changed unit generates or patches, or in which it
// sets variables: no file has the object as it is applied.
func (c *comparison) pairPrinted() {
	printings := map[any][]printing{}
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
		for _, key := range slices.Sorted(maps.Keys(p.new.rivals)) {
			of := strings.Split(key, "\x00")
			list := slices.DeleteFunc(slices.Clone(printings[identity{of[0], of[2]}]), func(o printing) bool {
				return !o.new.is(key) || o.by.new.clashes(p.new) || c.isAsWritten(o, p, key)
			})
			for _, o := range list {
				c.pairWithPrinted(p, key, o, len(list) == 1)
			}
		}
	}
}

// isAsWritten reports whether an object that is printed is equal to the one in the file that a unit refers to, on both sides.
func (c *comparison) isAsWritten(o printing, p unitPair, key string) bool {
	of := strings.Split(key, "\x00")
	has := func(s *side, u *Unit, printed *Object) bool {
		return printed == nil || slices.ContainsFunc(s.objects(of[0], of[2]), func(w written) bool {
			return w.file == u.chosen[key] && sameContent(w.object, printed.Object)
		})
	}
	return has(c.news, p.new, o.new) && has(c.olds, p.old, o.old)
}

// pairWithPrinted adds a comparison for a unit that refers to an object which another unit prints. The unit is not covered if it is unclear which
// object is applied: another file has it too, or several units print it.
func (c *comparison) pairWithPrinted(p unitPair, key string, o printing, only bool) {
	file, was := p.new.chosen[key], p.old.chosen[key]
	reads := func(u *Unit, file string) bool { return file == "" || slices.Contains(u.Reads, file) }
	if o.old == nil || !only || !reads(o.by.new, file) && !reads(o.by.old, was) || c.othersPrint(p.new, o, file) {
		if _, err := c.news.render(p.new); p.changed && err != nil {
			return // that is reported already
		}
		reason := "it may refer to what changed in what " + o.by.new.String() + " prints"
		if file != "" {
			reason += "; check takes what is in " + file
		}
		c.out.NotCovered = append(c.out.NotCovered, NotCovered{
			Unit: p.new.Name, Kind: p.new.Kind, File: c.news.tree.Name(p.new.File), Changed: true, Reason: reason,
		})
		return
	}
	again, before := c.news.withPrinted(p.new, o.new), c.olds.withPrinted(p.old, o.old)
	again.Name += " with what " + o.by.new.String() + " prints"
	before.Name, before.File = again.Name, again.File // the objects of both pair
	c.pairs = append(c.pairs, unitPair{new: again, old: before, changed: true})
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

// withPrinted reads the definition of a unit again; o takes the place of the object of a file that it refers to.
func (s *side) withPrinted(u *Unit, o *Object) *Unit {
	s.printed = o
	again := s.again(u, u.chosen)
	s.printed = nil
	s.close(again)
	return again
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
