package celrule

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// valueFixed is x-kubernetes-immutable on the values of a map or the items of a keyed list. Import weighs it next to the
// words of x-fieldlock-update.
const valueFixed schema.Lock = "valueFixed"

// candidate is a lock at a level of a chain.
type candidate struct {
	lock  schema.Lock
	level int
	// zero is set if the field has x-kubernetes-normalize: zero, too: its zero value counts as absent.
	zero bool
}

// at returns the location that carries the lock.
func (w candidate) at(c *chain) *schema.Location {
	if w.lock == valueFixed {
		return inside(c.at[w.level])
	}
	return c.at[w.level]
}

// candidatesOf lists the locks that are allowed along the chain, the innermost first.
func candidatesOf(c *chain) []candidate {
	n := len(c.at) - 1
	var all []candidate
	switch keysOf(c.last()) {
	case mapKeys, listKeys:
		all = append(all, candidate{lock: valueFixed, level: n})
		fallthrough
	case setItems:
		all = append(all, candidate{lock: schema.NoAddItem, level: n}, candidate{lock: schema.NoRemoveItem, level: n})
	}
	for level := n; level >= 0; level-- {
		if level > 0 {
			all = append(all, candidate{lock: schema.NoSet, level: level}, candidate{lock: schema.NoUnset, level: level})
		}
		all = append(all, candidate{lock: schema.NoModify, level: level})
	}
	if n > 0 {
		for _, l := range []schema.Lock{schema.NoSet, schema.NoUnset, schema.NoModify} {
			all = append(all, candidate{l, n, true})
		}
	}
	return slices.DeleteFunc(all, func(w candidate) bool { return !w.allowed(c) || !w.decidedBy(c) })
}

// decidedBy reports whether the states of c tell apart what decides about w: whether the value is the zero value, and
// which keys come and go.
func (w candidate) decidedBy(c *chain) bool {
	last := w.level == len(c.at)-1
	switch {
	case w.zero:
		return last && slices.Contains(c.literals, zeroOf(c.last()))
	case w.lock == schema.NoAddItem, w.lock == schema.NoRemoveItem, w.lock == valueFixed:
		return last && c.keyed
	}
	return true
}

// allowed reports whether the lock is allowed at its location, and compares there the way CEL does.
func (w candidate) allowed(c *chain) bool {
	l := w.at(c)
	if c.tree.unlockable[l] != "" || c.tree.uncorrelated[l] != "" || normalizedAround(l) {
		return false
	}
	switch w.lock {
	case valueFixed, schema.NoModify:
		return unequal(l.Schema) == ""
	case schema.NoAddItem, schema.NoRemoveItem:
		// At level 0 the chain does not show whether the container is null.
		return l.Marks.MapType != schema.MapAtomic && (w.level > 0 || present(l))
	}
	return true
}

// refuses reports whether the lock refuses an update in state s.
func (w candidate) refuses(s *state) bool {
	level := w.level
	set := s.both(level-1) && w.has(s, newSide) && !w.has(s, oldSide)
	unset := s.both(level-1) && !w.has(s, newSide) && w.has(s, oldSide)
	switch w.lock {
	case schema.NoSet:
		return set
	case schema.NoUnset:
		return unset
	case schema.NoModify:
		return s.differs(level) && w.has(s, newSide) && w.has(s, oldSide)
	case schema.NoAddItem:
		return set && !s.isEmpty[newSide] || s.both(level) && s.add
	case schema.NoRemoveItem:
		return unset && !s.isEmpty[oldSide] || s.both(level) && s.remove
	case valueFixed:
		return s.both(level) && s.modify
	}
	return false
}

// has reports whether one object has a value at the level of the lock, as the lock counts it.
func (w candidate) has(s *state, in side) bool {
	if w.zero && s.literal[in] >= 0 && s.literals[s.literal[in]] == zeroOf(s.last()) {
		return false
	}
	return s.depth[in] >= w.level
}

// zeroOf returns the zero value of a scalar, nil for other values.
func zeroOf(l *schema.Location) any {
	switch l.Type() {
	case "boolean":
		return false
	case "string":
		return ""
	case "integer":
		return int64(0)
	}
	return nil
}
