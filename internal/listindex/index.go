// Package listindex finds list items by value or by key and compares sets, as x-kubernetes-list-type asks. Package listtype
// is its public face.
//
// Values are JSON as k8s.io/apimachinery/pkg/util/json decodes it. Nothing is changed or kept.
package listindex

import (
	"hash/maphash"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Index finds the positions of the items of a list that are equal to a given one. It reads the list until it is
// dropped and never changes it; a lookup changes nothing either, so concurrent ones are safe.
type Index struct {
	list   []any
	eq     Equality
	seed   maphash.Seed
	slots  []int32 // open addressing by hash: group number + 1, or 0
	groups []group
	next   []int32 // by position: the next position of the same group, or -1
}

// group is the positions of equal items.
type group struct {
	hash        uint64
	first, last int32
	count       int32
}

// NewIndex indexes list, which may be nil, under eq. Cost: O(n) hashes and comparisons, also when all items are equal;
// four allocations. Lists have fewer than 2^31 items.
func NewIndex(list []any, eq Equality) *Index {
	ix := &Index{
		list:   list,
		eq:     eq,
		seed:   maphash.MakeSeed(),
		slots:  make([]int32, slotsFor(list, 4)),
		groups: make([]group, 0, len(list)),
		next:   make([]int32, len(list)),
	}
	for i, item := range list {
		ix.next[i] = -1
		hash := eq.Hash(ix.seed, item)
		slot, found := ix.slot(hash, item)
		if found {
			g := &ix.groups[ix.slots[slot]-1]
			ix.next[g.last] = int32(i)
			g.last = int32(i)
			g.count++
			continue
		}
		ix.groups = append(ix.groups, group{hash, int32(i), int32(i), 1})
		ix.slots[slot] = int32(len(ix.groups))
	}
	return ix
}

// slotsFor returns how many slots a table of the items of list has: a power of two, at least two for each item, and at
// least least, which is a power of two too.
func slotsFor(list []any, least int) int {
	for least < 2*len(list) {
		least *= 2
	}
	return least
}

// slot returns the slot of item's group, or the free one where it belongs.
func (ix *Index) slot(hash uint64, item any) (slot int, found bool) {
	mask := len(ix.slots) - 1
	for slot = int(hash) & mask; ix.slots[slot] != 0; slot = (slot + 1) & mask {
		if g := &ix.groups[ix.slots[slot]-1]; g.hash == hash && ix.eq.Equal(ix.list[g.first], item) {
			return slot, true
		}
	}
	return slot, false
}

// group returns the number of the group of item, or -1.
func (ix *Index) group(item any) int {
	slot, _ := ix.slot(ix.eq.Hash(ix.seed, item), item)
	return int(ix.slots[slot]) - 1
}

// find implements counter.
func (ix *Index) find(items []any, found *[block]int32) {
	for i, item := range items {
		found[i] = int32(ix.group(item))
	}
}

// take implements counter. It changes the counts.
func (ix *Index) take(number int32) (first int, left int32) {
	g := &ix.groups[number]
	if left = g.count; left > 0 {
		g.count--
	}
	return int(g.first), left
}

// rest implements counter, after the counts were changed.
func (ix *Index) rest(n int) []int {
	rest := make([]int, 0, n)
	for _, g := range ix.groups {
		if g.count == 0 {
			continue
		}
		from := len(rest)
		for i := g.first; i >= 0; i = ix.next[i] {
			rest = append(rest, int(i))
		}
		rest = slices.Delete(rest, from, len(rest)-int(g.count))
	}
	slices.Sort(rest)
	return rest
}

// First returns the first position of an item equal to item, or -1.
func (ix *Index) First(item any) int {
	if g := ix.group(item); g >= 0 {
		return int(ix.groups[g].first)
	}
	return -1
}

// Next returns the position after i of an item equal to the one at i, or -1.
func (ix *Index) Next(i int) int { return int(ix.next[i]) }

// Duplicates returns the indices of the items that occur more than once: a row for each group of equal items, in the order
// of their first indices. It returns nil if all items differ.
func (ix *Index) Duplicates() [][]int {
	var rows [][]int
	for _, g := range ix.groups {
		if g.count == 1 {
			continue
		}
		row := make([]int, 0, g.count)
		for i := g.first; i >= 0; i = ix.next[i] {
			row = append(row, int(i))
		}
		rows = append(rows, row)
	}
	return rows
}

// block is how many items are looked up at once. Their memory is then read at the same time, not one after the other: in
// long lists, waiting for it is most of the cost.
const block = 32

// Aligned reports whether a and b are lists of objects that have the same keys at the same indices, and no key twice.
// Cost: O(n), one pass over the keys, and no allocation up to 2,048 items.
func (ks Keys) Aligned(a, b []any) bool {
	if len(a) != len(b) || len(a) > 0 && !ks.Equal(a[0], b[0]) {
		return false
	}
	const few, many = 32, 2048
	switch {
	case len(a) <= few:
		var slots [2 * few]uint64
		aligned, _ := ks.aligned(a, b, slots[:])
		return aligned
	case len(a) <= many:
		var slots [2 * many]uint64
		aligned, _ := ks.aligned(a, b, slots[:slotsFor(a, 4*few)])
		return aligned
	}
	aligned, _ := ks.aligned(a, b, make([]uint64, slotsFor(a, 4*many)))
	return aligned
}

// aligned is Aligned with a table of slots, of which there is a power of two, at least two for each item. A slot has half
// of an item's hash and, in the lower half, its index + 1. Lists have fewer than 2^31 items. It also returns how many
// times an item met a slot that another one has, which says how well the hash spreads.
func (ks Keys) aligned(a, b []any, slots []uint64) (ok bool, met int) {
	seed := maphash.MakeSeed()
	mask := len(slots) - 1
	for i := range a {
		x, _ := a[i].(map[string]any)
		y, _ := b[i].(map[string]any)
		if x == nil || y == nil {
			return false, met
		}
		hash := uint64(hashTuple)
		for k := range ks {
			is, ok := ks[k].Of(x)
			was, wasOK := ks[k].Of(y)
			if ok != wasOK || ok && !jsonvalue.Equal(is, was) {
				return false, met
			}
			hash = hashField(hash, seed, is, ok)
		}
		at := int(hash) & mask
		for ; slots[at] != 0; at = (at + 1) & mask {
			met++
			if (slots[at]^hash)&^position == 0 && ks.Equal(a[slots[at]&position-1], x) {
				return false, met
			}
		}
		slots[at] = hash&^position | uint64(i+1)
	}
	return true, met
}

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
