package celrule

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// word is a lock as import weighs it: one of the update words, or valueFixed.
type word string

// valueFixed is x-kubernetes-immutable on the values of a map or the items of a keyed list.
const valueFixed word = "valueFixed"

// candidate is a word at a level of a chain.
type candidate struct {
	word  word
	level int
}

// at is the place that carries the lock of w.
func (w candidate) at(c *chain) *place {
	if w.word == valueFixed {
		return c.places[w.level].inside()
	}
	return c.places[w.level]
}

// candidates lists the locks that may stand along the chain, the innermost first.
func (c *chain) candidates() []candidate {
	n := c.last()
	var all []candidate
	if c.keyed {
		switch kind := keysOf(c.lastPlace()); kind {
		case mapKeys, listKeys:
			all = append(all, candidate{valueFixed, n}, candidate{extension.NoAddItem, n}, candidate{extension.NoRemoveItem, n})
		case setItems:
			all = append(all, candidate{extension.NoAddItem, n}, candidate{extension.NoRemoveItem, n})
		}
	}
	for level := n; level >= 0; level-- {
		if level > 0 {
			all = append(all, candidate{extension.NoSet, level}, candidate{extension.NoUnset, level})
		}
		all = append(all, candidate{extension.NoModify, level})
	}
	return slices.DeleteFunc(all, func(w candidate) bool { return !w.allowed(c) })
}

// allowed reports whether the lock of w may stand at its place, and compares there as CEL does.
func (w candidate) allowed(c *chain) bool {
	p := w.at(c)
	if p.unlockable != "" || p.uncorrelated != "" || normalized(p.schema) {
		return false
	}
	switch w.word {
	case valueFixed, extension.NoModify:
		return c.unequal(p.schema) == ""
	case extension.NoAddItem, extension.NoRemoveItem:
		// Where no parent takes part in the chain, a null container would go unseen.
		return p.marks.MapType != extension.MapAtomic && (w.level > 0 || p.present())
	}
	return true
}

// refuses reports whether the lock of w refuses an update in state s.
func (w candidate) refuses(s *state) bool {
	level := w.level
	set := s.both(level-1) && s.depth[newSide] >= level && s.depth[oldSide] < level
	unset := s.both(level-1) && s.depth[newSide] < level && s.depth[oldSide] >= level
	switch w.word {
	case extension.NoSet:
		return set
	case extension.NoUnset:
		return unset
	case extension.NoModify:
		return s.differs(level)
	case extension.NoAddItem:
		return set && !s.empty[newSide] || s.both(level) && s.added
	case extension.NoRemoveItem:
		return unset && !s.empty[oldSide] || s.both(level) && s.removed
	case valueFixed:
		return s.both(level) && s.modified
	}
	return false
}
