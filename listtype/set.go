package listtype

// EqualSets reports whether a and b hold the same items the same number of times, in whatever order. Nil is an empty
// set. Cost: one comparison per item and no allocation while the order agrees; from the first item that is not at its
// place on, O(n) hashes and comparisons.
func EqualSets(a, b []any, eq Equality) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && eq.Equal(a[i], b[i]) {
		i++
	}
	a, b = a[i:], b[i:]
	if len(a) == 0 {
		return true
	}
	left := NewIndex(a, eq)
	for _, item := range b {
		g := left.group(item)
		if g < 0 || left.groups[g].count == 0 {
			return false
		}
		left.groups[g].count--
	}
	return true
}

// Added returns the positions in new of the items that old does not have, counted with multiplicity: of equal items the
// later ones are the added ones. Nil when there are none, and no allocation while the order agrees.
func Added(new, old []any, eq Equality) []int {
	i := 0
	for i < len(new) && i < len(old) && eq.Equal(new[i], old[i]) {
		i++
	}
	if i == len(new) {
		return nil
	}
	left := NewIndex(old[i:], eq)
	var added []int
	for j := i; j < len(new); j++ {
		g := left.group(new[j])
		if g < 0 || left.groups[g].count == 0 {
			added = append(added, j)
			continue
		}
		left.groups[g].count--
	}
	return added
}
