package unit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
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
			if file == n.chosen[key] || file == old.chosen[key] || state(c.news.tree, file) == state(c.olds.tree, file) {
				continue
			}
			again, before := c.news.withRival(n, key, file), c.olds.withRival(old, key, file)
			if again.refersAlike(before) {
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
