package listtype

import (
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

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
