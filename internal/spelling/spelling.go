// Package spelling compares words that may be misspelled.
package spelling

// Distance returns how many bytes have to be inserted, removed or replaced to turn a into b.
func Distance(a, b string) int { return distance(a, b, false) }

// Typos is Distance where two neighbours that are swapped count as one mistake.
func Typos(a, b string) int { return distance(a, b, true) }

func distance(a, b string, swaps bool) int {
	var before, last []int // the rows of the two letters of a before
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, row[j-1]+1, last[j]+1)
			if swaps && i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
