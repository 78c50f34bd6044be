package listtype

// Match finds for each item of newList the index of the item of oldList that is equal to it, or -1. It returns false if
// an item occurs in both lists, and in one of them more than once: then items cannot be matched one to one.
// Cost: O(n) hashes and comparisons.
func Match(newList, oldList []any, eq Equality) (at []int32, ok bool) {
	olds := NewIndex(oldList, eq)
	at = make([]int32, len(newList))
	for i, item := range newList {
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
