// Package listindex finds list items by value or by key and compares sets, as x-kubernetes-list-type asks. Package listtype
// is its public face.
//
// Values are JSON as k8s.io/apimachinery/pkg/util/json decodes it. Nothing is changed or kept.
package listindex

import (
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Equality says which items of a list are the same one. Equal is an equivalence, and items that are Equal have the
// same Hash under one seed.
type Equality interface {
	Equal(a, b any) bool
	Hash(seed maphash.Seed, v any) uint64
}

// JSON is the equality of JSON values without a schema: lists are ordered, numbers compare by exact value, and null,
// {} and [] differ.
type JSON struct{}

// Equal reports whether a and b are the same JSON value. Cost: O(size) until the first difference, no allocation.
func (JSON) Equal(a, b any) bool { return jsonvalue.Equal(a, b) }

// Hash returns a hash of v that equal values share.
func (JSON) Hash(seed maphash.Seed, v any) uint64 { return jsonvalue.Hash(seed, v) }

// Keys is the equality of the items of a list-type map: same key tuple, whatever else is in them. Keys are compared as
// JSON values, so 80 is not "80", and as tuples, so two different tuples are never the same key. An item that is not an
// object equals only the same value.
type Keys []Key

// Key is one key field: a name of x-kubernetes-list-map-keys, with the default of that property in the item schema.
type Key struct {
	Name       string
	Default    any
	HasDefault bool
}

// Of returns the key's value in item. A missing field has its default; if there is no default, ok is false, which differs
// from null.
func (k *Key) Of(item map[string]any) (value any, ok bool) {
	if value, ok = item[k.Name]; ok {
		return value, true
	}
	return k.Default, k.HasDefault
}

// Equal reports whether the items a and b have the same key tuple.
func (ks Keys) Equal(a, b any) bool {
	ma, aok := a.(map[string]any)
	mb, bok := b.(map[string]any)
	if !aok || !bok {
		return aok == bok && jsonvalue.Equal(a, b)
	}
	return ks.Same(ma, mb)
}

// Same is Equal for items that are objects.
func (ks Keys) Same(a, b map[string]any) bool {
	for i := range ks {
		va, aok := ks[i].Of(a)
		vb, bok := ks[i].Of(b)
		if aok != bok || aok && !jsonvalue.Equal(va, vb) {
			return false
		}
	}
	return true
}

// Hash returns a hash of the key tuple of item.
func (ks Keys) Hash(seed maphash.Seed, item any) uint64 {
	m, ok := item.(map[string]any)
	if !ok {
		return jsonvalue.Hash(seed, item)
	}
	h := uint64(hashTuple)
	for i := range ks {
		value, ok := ks[i].Of(m)
		h = hashField(h, seed, value, ok)
	}
	return h
}

const hashTuple = 1

// hashField is the hash of a key tuple with one more field.
func hashField(hash uint64, seed maphash.Seed, value any, ok bool) uint64 {
	if ok {
		hash ^= jsonvalue.Hash(seed, value)
	}
	return jsonvalue.Mix(hash)
}

// Tuple returns the key of item as an object of its key fields, without the missing ones.
func (ks Keys) Tuple(item map[string]any) map[string]any {
	tuple := make(map[string]any, len(ks))
	for i := range ks {
		if value, ok := ks[i].Of(item); ok {
			tuple[ks[i].Name] = value
		}
	}
	return tuple
}

// The limits up to which Unique needs no memory of its own.
const (
	uniquePairs = 8    // compare each with each
	uniqueTable = 2048 // a table on the stack, at most half full
)

// Unique reports whether no two items of list are equal. Cost: O(n) hashes, and no allocation up to 2,048 items.
func Unique(list []any, eq Equality) bool {
	switch {
	case len(list) <= uniquePairs:
		for i := range list {
			for j := range i {
				if eq.Equal(list[i], list[j]) {
					return false
				}
			}
		}
		return true
	case len(list) <= uniqueTable:
		var slots [2 * uniqueTable]uint16
		return unique(list, eq, slots[:slotsFor(list, 32)])
	}
	return unique(list, eq, make([]uint32, slotsFor(list, 4*uniqueTable)))
}

// unique fills slots, of which there is a power of two, with positions + 1.
func unique[P uint16 | uint32](list []any, eq Equality, slots []P) bool {
	seed := maphash.MakeSeed()
	mask := len(slots) - 1
	for i, item := range list {
		slot := int(eq.Hash(seed, item)) & mask
		for ; slots[slot] != 0; slot = (slot + 1) & mask {
			if eq.Equal(list[slots[slot]-1], item) {
				return false
			}
		}
		slots[slot] = P(i + 1)
	}
	return true
}

// Matcher matches items with those of a list. Its lookups change it: it is for one goroutine.
type Matcher struct {
	olds  counter
	found [block]int32
}

// NewMatcher returns a matcher for oldList. Cost: O(n) hashes and comparisons.
func NewMatcher(oldList []any, eq Equality) *Matcher { return &Matcher{olds: newCounter(oldList, eq)} }

// MatchSome is how many items are best given to Match at once, by callers that look at each match soon after.
const MatchSome = block

// Match appends to at, for each of items, the index of the item of the list that is equal to it, or -1. ok is false if
// there are several of these, or if another item was matched with it before: then items cannot be matched one to one.
func (m *Matcher) Match(items []any, at []int) (_ []int, ok bool) {
	for ; len(items) > 0; items = items[min(block, len(items)):] {
		some := items[:min(block, len(items))]
		m.olds.find(some, &m.found)
		for i := range some {
			number := m.found[i]
			if number < 0 {
				at = append(at, -1)
				continue
			}
			first, left := m.olds.take(number)
			if left != 1 {
				return nil, false
			}
			at = append(at, first)
		}
	}
	return at, true
}

// Match finds for each item of newList the index of the item of oldList that is equal to it, or -1. It returns false if
// an item occurs in both lists, and in one of them more than once: then items cannot be matched one to one.
// Cost: O(n) hashes and comparisons.
func Match(newList, oldList []any, eq Equality) (at []int, ok bool) {
	return NewMatcher(oldList, eq).Match(newList, make([]int, 0, len(newList)))
}
