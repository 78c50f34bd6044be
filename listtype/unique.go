package listtype

import "hash/maphash"

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
