package diff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/diff"
)

func TestCommon(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  string
		why   string
	}{
		{"", "", 9, "[]", "empty lists have nothing in common"},
		{"abc", "abc", 0, "[[0 0] [1 1] [2 2]]", "equal items at the ends cost nothing"},
		{"abc", "axc", 9, "[[0 0] [2 2]]", "an item is replaced"},
		{"bcd", "abcde", 15, "[[0 1] [1 2] [2 3]]", "items are added at both ends"},
		{"abcbdab", "bdcaba", 99, "[[1 0] [4 1] [5 3] [6 4]]", "of two items that can go, the one of a goes"},
		{"xaby", "zabw", 15, "[]", "16 comparisons are more than the limit"},
		{"xaby", "zabw", 16, "[[1 1] [2 2]]", "16 comparisons are not"},
		{"aab", "ab", 9, "[[0 0] [2 1]]", "an item at an end counts once"},
	} {
		got := diff.Common(strings.Split(c.a, ""), strings.Split(c.b, ""), func(a, b string) bool { return a == b }, c.limit)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q, %q: %v, want %s: %s", c.a, c.b, got, c.want, c.why)
		}
	}
}

// TestCommonIsLongest: the pairs are equal items in order, as many as the shortest definition of a longest common
// subsequence finds.
func TestCommonIsLongest(t *testing.T) {
	var longest func(a, b string) int
	longest = func(a, b string) int {
		switch {
		case a == "" || b == "":
			return 0
		case a[0] == b[0]:
			return 1 + longest(a[1:], b[1:])
		}
		return max(longest(a[1:], b), longest(a, b[1:]))
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (text string) {
		for range random.IntN(9) {
			text += string("abc"[random.IntN(3)])
		}
		return text
	}
	for range 2000 {
		a, b := text(), text()
		pairs := diff.Common([]byte(a), []byte(b), func(a, b byte) bool { return a == b }, 100)
		if len(pairs) != longest(a, b) {
			t.Fatalf("%q, %q: %v, want %d pairs", a, b, pairs, longest(a, b))
		}
		for i, p := range pairs {
			if a[p[0]] != b[p[1]] || i > 0 && (p[0] <= pairs[i-1][0] || p[1] <= pairs[i-1][1]) {
				t.Fatalf("%q, %q: %v", a, b, pairs)
			}
		}
	}
}
