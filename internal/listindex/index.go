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
