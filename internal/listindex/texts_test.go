package listindex

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// plain hides an equality from what looks for strings.
type plain struct{ eq Equality }

func (p plain) Equal(a, b any) bool                     { return p.eq.Equal(a, b) }
func (p plain) Hash(seed maphash.Seed, item any) uint64 { return p.eq.Hash(seed, item) }

// lackingByAll returns the items of newList that oldList lacks, by comparing every item with every item.
func lackingByAll(newList, oldList []any, eq Equality) []int {
	var added []int
	taken := make([]bool, len(oldList))
	for i, item := range newList {
		at := -1
		for j := range oldList {
			if !taken[j] && eq.Equal(oldList[j], item) {
				at = j
				break
			}
		}
		if at < 0 {
			added = append(added, i)
			continue
		}
		taken[at] = true
	}
	return added
}

// TestTextsAgreeWithIndex: lists of strings, and of objects with a string for a key, are compared in a way of their
// own. It finds what the index finds, and what comparing every item with every item finds, also among items without a
// string.
func TestTextsAgreeWithIndex(t *testing.T) {
	texts := []any{"a", "b", "c", "d", "é", "", "a longer text than the others"}
	others := []any{nil, int64(1), "\xff", []any{}, map[string]any{}, map[string]any{"k": int64(1)}, map[string]any{"k": nil}}
	withKey := Keys{{Name: "k"}}
	withTwo := Keys{{Name: "k"}, {Name: "l"}}
	withDefault := Keys{{Name: "k", Default: "a", HasDefault: true}}
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n, of int) any {
		if of > len(texts) { // many different ones
			return fmt.Sprint(r.IntN(n))
		}
		return texts[r.IntN(of)]
	}
	for round := range 6_000 {
		n := r.IntN(12)
		if round%10 == 0 { // more than are looked up at once
			n = r.IntN(4 * Block)
		}
		form, of := r.IntN(4), 1+r.IntN(2*len(texts)) // form: strings, objects, or both
		pick := func() []any {
			list := make([]any, n)
			for i := range list {
				list[i] = random(n, of)
				if form == 0 || form == 1 && r.IntN(2) == 0 {
					list[i] = map[string]any{"k": list[i], "l": int64(r.IntN(2))}
				}
			}
			if form < 3 && r.IntN(2) == 0 && n > 0 {
				list[r.IntN(n)] = others[r.IntN(len(others))]
			}
			return list
		}
		a, b := pick(), pick()
		if r.IntN(2) == 0 {
			b = slices.Clone(a)
			r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		}
		b = b[:len(b)-r.IntN(1+len(b))/4]
		for _, eq := range []Equality{JSON{}, &withKey, &withTwo, &withDefault} {
			index := plain{eq}
			if got, want := EqualSets(a, b, eq), len(a) == len(b) && len(lackingByAll(a, b, eq)) == 0; got != want || EqualSets(a, b, index) != want {
				t.Fatalf("%v and %v: equal sets %v, want %v", a, b, got, want)
			}
			want := lackingByAll(a, b, eq)
			for _, eq := range []Equality{eq, index} {
				added, removed := Changed(a, b, 0, eq)
				if !slices.Equal(added, want) || !slices.Equal(removed, lackingByAll(b, a, eq)) {
					t.Fatalf("%v and %v: %v are added and %v removed, want %v and %v", a, b, added, removed, want, lackingByAll(b, a, eq))
				}
			}
			got, gotOK := Match(a, b, eq)
			wantAt, wantOK := Match(a, b, index)
			if gotOK != wantOK || !reflect.DeepEqual(got, wantAt) {
				t.Fatalf("%v and %v: matched %v, %v, want %v, %v", a, b, got, gotOK, wantAt, wantOK)
			}
		}
	}
}

// folded takes strings for equal that differ in letter case, and hashes everything to the same number.
type folded struct{}

func (folded) Equal(a, b any) bool {
	x, ok := a.(string)
	y, also := b.(string)
	return ok && also && strings.EqualFold(x, y)
}

func (folded) Hash(maphash.Seed, any) uint64 { return 7 }

// TestEqualityDecides: a hit of the hash is followed by a comparison, and items are compared by the given equality
// only.
func TestEqualityDecides(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		a, b         []any
		equal        bool
		added        []int // in a
		unique       bool  // a
	}{
		{"the same hash", "different items are different, whatever they hash to", []any{"a", "b", "c"}, []any{"c", "d", "a"}, false, []int{1}, true},
		{"in another order", "all of them are found behind each other", []any{"a", "b", "c"}, []any{"c", "b", "a"}, true, nil, true},
		{"letter case", "strings are not compared by their bytes here", []any{"a", "B"}, []any{"b", "A"}, true, nil, true},
		{"a repeated item", "a and A are one item, twice", []any{"a", "x", "A"}, []any{"x", "a", "y"}, false, []int{2}, false},
		{"more than one is added", "each is named", []any{"a", "p", "b", "q"}, []any{"b", "a"}, false, []int{1, 3}, true},
		{"more than eight items", "a table instead of pairs", []any{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, []any{"i", "h", "g", "f", "e", "d", "c", "b", "a"}, true, nil, true},
		{"more than eight, one repeated", "the last is the first", []any{"a", "b", "c", "d", "e", "f", "g", "h", "A"}, nil, false, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if EqualSets(row.a, row.b, folded{}) != row.equal || EqualSets(row.b, row.a, folded{}) != row.equal {
				t.Errorf("want equal %t (%s)", row.equal, row.reason)
			}
			if got, _ := Changed(row.a, row.b, 0, folded{}); !slices.Equal(got, row.added) {
				t.Errorf("added %v, want %v (%s)", got, row.added, row.reason)
			}
			if Unique(row.a, folded{}) != row.unique || (NewIndex(row.a, folded{}).Duplicates() == nil) != row.unique {
				t.Errorf("want unique %t (%s)", row.unique, row.reason)
			}
		})
	}
}

// TestSameOrderAllocatesNothing: sets whose order agrees are compared in place.
func TestSameOrderAllocatesNothing(t *testing.T) {
	a, b := list(100, func(i int) any { return fmt.Sprint(i) }), list(100, func(i int) any { return fmt.Sprint(i) })
	if allocs := testing.AllocsPerRun(10, func() {
		if !EqualSets(a, b, JSON{}) {
			t.Fatal("equal lists differ")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
