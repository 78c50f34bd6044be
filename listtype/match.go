package listtype

// Match finds for each item of new the position of the item of old that is equal to it, -1 where there is none. It
// reports false where an item stands in both lists and in one of them more than once: then there is no one match.
// Cost: O(n) hashes and comparisons.
func Match(new, old []any, eq Equality) (at []int32, ok bool) {
	olds := NewIndex(old, eq)
	at = make([]int32, len(new))
	for i, item := range new {
		g := olds.group(item)
		if g < 0 {
			at[i] = -1
			continue
		}
		if olds.groups[g].count != 1 {
			return nil, false
		}
		olds.groups[g].count = 0
		at[i] = olds.groups[g].first
	}
	return at, true
}
