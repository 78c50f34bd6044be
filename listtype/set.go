package listtype

import "iter"

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
	for range lacking(b, newCounter(a, eq)) {
		return false
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
	var added []int
	for j := range lacking(newList[i:], newCounter(oldList[i:], eq)) {
		added = append(added, i+j)
	}
	return added
}

// Changed returns what Added returns for both directions: the indices in newList of the items that oldList lacks, and those
// in oldList of the items that newList lacks. It hashes each list once.
func Changed(newList, oldList []any, eq Equality) (added, removed []int) {
	i := 0
	for i < len(newList) && i < len(oldList) && eq.Equal(newList[i], oldList[i]) {
		i++
	}
	newList, oldList = newList[i:], oldList[i:]
	if len(newList)+len(oldList) == 0 {
		return nil, nil
	}
	olds := newCounter(oldList, eq)
	for j := range lacking(newList, olds) {
		added = append(added, i+j)
	}
	if left := len(oldList) - (len(newList) - len(added)); left > 0 {
		removed = olds.rest(left)
		for j := range removed {
			removed[j] += i
		}
	}
	return added, removed
}

// lacking takes the items of newList from the old ones. It yields the indices of those that are not there, counted with
// multiplicity.
func lacking(newList []any, olds counter) iter.Seq[int] {
	return func(yield func(int) bool) {
		var found [block]int32
		for from := 0; from < len(newList); from += block {
			items := newList[from:min(from+block, len(newList))]
			olds.find(items, &found)
			for i := range items {
				if found[i] >= 0 {
					if _, left := olds.take(found[i]); left > 0 {
						continue
					}
				}
				if !yield(from + i) {
					return
				}
			}
		}
	}
}
