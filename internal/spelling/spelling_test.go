package spelling

import "testing"

func TestDistance(t *testing.T) {
	for _, row := range []struct {
		a, b            string
		distance, typos int
	}{
		{"", "", 0, 0}, {"", "abc", 3, 3}, {"abc", "abc", 0, 0}, {"imutable", "immutable", 1, 1}, {"kitten", "sitting", 3, 3},
		{"ab", "ba", 2, 1}, {"imutabel", "immutable", 3, 2}, {"acb", "ab", 1, 1}, {"abcd", "badc", 3, 2},
	} {
		for _, pair := range [][2]string{{row.a, row.b}, {row.b, row.a}} {
			if got := Distance(pair[0], pair[1]); got != row.distance {
				t.Errorf("%q to %q: %d, want %d", pair[0], pair[1], got, row.distance)
			}
			if got := Typos(pair[0], pair[1]); got != row.typos {
				t.Errorf("%q to %q: %d typos, want %d", pair[0], pair[1], got, row.typos)
			}
		}
	}
}
