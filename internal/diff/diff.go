// Package diff finds what two lists have in common, such as the lines of two texts or the items of two lists.
package diff

import "slices"

// Common returns the indices of the items of a longest common subsequence of two lists, in order. For example, of
//
//	a: image, port, name
//	b: image, tag, name
//
// these are [0 0] and [2 2]: the port was removed, and the tag added. The cost is the product of the lengths, without
// the equal items at both ends; if it exceeds limit, only these are common.
func Common[T any](a, b []T, equal func(a, b T) bool, limit int) [][2]int {
	var head, tail [][2]int
	n, m := len(a), len(b)
	start := 0
	for start < n && start < m && equal(a[start], b[start]) {
		head = append(head, [2]int{start, start})
		start++
	}
	for n > start && m > start && equal(a[n-1], b[m-1]) {
		n, m = n-1, m-1
		tail = append(tail, [2]int{n, m})
	}
	slices.Reverse(tail)
	if (n-start)*(m-start) > limit {
		return append(head, tail...)
	}
	longest := make([][]int32, n-start+1) // of what follows two items
	for i := range longest {
		longest[i] = make([]int32, m-start+1)
	}
	same := func(i, j int) bool { return equal(a[start+i], b[start+j]) }
	for i := n - start - 1; i >= 0; i-- {
		for j := m - start - 1; j >= 0; j-- {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); same(i, j) {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < n-start && j < m-start; {
		switch {
		case same(i, j):
			head = append(head, [2]int{start + i, start + j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return append(head, tail...)
}
