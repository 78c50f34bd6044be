package listtype

import (
	"hash/maphash"
	"slices"
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

// Count returns how many items are equal to item.
func (ix *Index) Count(item any) int {
	if g := ix.group(item); g >= 0 {
		return int(ix.groups[g].count)
	}
	return 0
}

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
