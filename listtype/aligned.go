package listtype

import (
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Aligned reports whether a and b are lists of objects that have the same keys at the same places, and no key twice.
// Cost: O(n), one pass over the keys, and no allocation up to 2,048 items.
func (ks Keys) Aligned(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	const few, many = 32, 2048
	switch {
	case len(a) <= few:
		var slots [2 * few]uint64
		return ks.aligned(a, b, slots[:])
	case len(a) <= many:
		var slots [2 * many]uint64
		size := 4 * few
		for size < 2*len(a) {
			size *= 2
		}
		return ks.aligned(a, b, slots[:size])
	}
	size := 4 * many
	for size < 2*len(a) {
		size *= 2
	}
	return ks.aligned(a, b, make([]uint64, size))
}

// aligned fills slots, of which there is a power of two, with half of an item's hash and, in the lower half, its
// position + 1. Lists have fewer than 2^31 items.
func (ks Keys) aligned(a, b []any, slots []uint64) bool {
	const position = 1<<32 - 1
	seed := maphash.MakeSeed()
	mask := len(slots) - 1
	for i := range a {
		x, _ := a[i].(map[string]any)
		y, _ := b[i].(map[string]any)
		if x == nil || y == nil {
			return false
		}
		hash := uint64(hashTuple)
		for k := range ks {
			is, ok := ks[k].Of(x)
			was, wasOK := ks[k].Of(y)
			if ok != wasOK || ok && !jsonvalue.Equal(is, was) {
				return false
			}
			hash = hashField(hash, seed, is, ok)
		}
		at := int(hash) & mask
		for ; slots[at] != 0; at = (at + 1) & mask {
			if (slots[at]^hash)&^position == 0 && ks.Equal(a[slots[at]&position-1], x) {
				return false
			}
		}
		slots[at] = hash&^position | uint64(i+1)
	}
	return true
}
