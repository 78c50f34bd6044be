package listtype

// EqualSets reports whether a and b hold the same items the same number of times, in any order. Nil is an empty set.
// Cost: one comparison for each item and no allocation while the order agrees; from the first item that does not, O(n)
// hashes and comparisons.
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

// Added returns the indices in newList of the items that oldList lacks, counted with multiplicity: of equal items the
// later ones are the added ones. It returns nil if nothing was added, and allocates nothing while the order agrees.
func Added(newList, oldList []any, eq Equality) []int {
	i := 0
	for i < len(newList) && i < len(oldList) && eq.Equal(newList[i], oldList[i]) {
		i++
	}
	if i == len(newList) {
		return nil
	}
	left := NewIndex(oldList[i:], eq)
	var added []int
	for j := i; j < len(newList); j++ {
		g := left.group(newList[j])
		if g < 0 || left.groups[g].count == 0 {
			added = append(added, j)
			continue
		}
		left.groups[g].count--
	}
	return added
}
