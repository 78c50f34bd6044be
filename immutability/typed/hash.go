package typed

import (
	"hash/maphash"
	"sync"
)

// index finds items of a list by hash. Whether two items are the same one is up to the caller. An index is taken from a
// pool, so that using one allocates nothing in the long run.
type index struct {
	seed   maphash.Seed
	slots  []int32  // by hash: position + 1, 0 for none
	hashes []uint64 // by position
	counts []int32  // by position, for the caller
}

var indexes = sync.Pool{New: func() any { return &index{seed: maphash.MakeSeed()} }}

// keptSlots is the largest index that goes back to the pool.
const keptSlots = 1 << 16

// newIndex returns an index for n items.
func newIndex(n int) *index {
	ix := indexes.Get().(*index)
	size := 8
	for size < 2*n {
		size *= 2
	}
	if cap(ix.slots) < size {
		ix.slots = make([]int32, size)
	} else {
		ix.slots = ix.slots[:size]
		clear(ix.slots)
	}
	if cap(ix.hashes) < n {
		ix.hashes, ix.counts = make([]uint64, n), make([]int32, n)
	} else {
		ix.hashes, ix.counts = ix.hashes[:n], ix.counts[:n]
		clear(ix.counts)
	}
	return ix
}

func (ix *index) free() {
	if len(ix.slots) <= keptSlots {
		indexes.Put(ix)
	}
}

// add looks for an item with the hash, and adds position i if there is none. It returns the position that was found, or
// -1 after adding. same reports whether the item is the one at a position.
func (ix *index) add(hash uint64, i int, same func(position int) bool) int {
	mask := len(ix.slots) - 1
	slot := int(hash) & mask
	for ; ix.slots[slot] != 0; slot = (slot + 1) & mask {
		if at := int(ix.slots[slot]) - 1; ix.hashes[at] == hash && same(at) {
			return at
		}
	}
	ix.slots[slot], ix.hashes[i] = int32(i+1), hash
	return -1
}

// find is add without adding.
func (ix *index) find(hash uint64, same func(position int) bool) int {
	mask := len(ix.slots) - 1
	for slot := int(hash) & mask; ix.slots[slot] != 0; slot = (slot + 1) & mask {
		if at := int(ix.slots[slot]) - 1; ix.hashes[at] == hash && same(at) {
			return at
		}
	}
	return -1
}
