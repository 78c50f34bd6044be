package listindex

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"
)

// kinds are items that a weak hash or a bad index would send to one slot.
var kinds = map[string]struct {
	item   func(i int) any
	unique bool
}{
	"strings":           {func(i int) any { return fmt.Sprint(i) }, true},
	"integers":          {func(i int) any { return int64(i) << 32 }, true},
	"fractions":         {func(i int) any { return float64(i) + 0.5 }, true},
	"objects":           {func(i int) any { return map[string]any{"a": int64(i), "b": int64(-i)} }, true},
	"swapped members":   {func(i int) any { return map[string]any{"a": int64(i / 50), "b": int64(i % 50)} }, true},
	"permuted lists":    {func(i int) any { return []any{int64(i % 50), int64(i / 50)} }, true},
	"lists of booleans": {func(i int) any { return bits(i) }, true},
	"nested":            {func(i int) any { return nested(i) }, true},
	"all equal":         {func(int) any { return "a" }, false},
	"few values":        {func(i int) any { return int64(i % 3) }, false},
}

func bits(i int) any {
	list := []any{}
	for ; i > 0; i /= 2 {
		list = append(list, i%2 == 1)
	}
	return list
}

// nested returns i in base 4 as objects inside each other, so that the values differ in their shape only.
func nested(i int) any {
	var v any = map[string]any{}
	for ; i > 0; i /= 4 {
		v = map[string]any{"abcd"[i%4:][:1]: v}
	}
	return v
}

func list(n int, item func(int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = item(i)
	}
	return out
}

// counting counts the comparisons that an algorithm asks for.
type counting struct{ equal *int }

func (c counting) Equal(a, b any) bool { *c.equal++; return JSON{}.Equal(a, b) }

func (c counting) Hash(seed maphash.Seed, v any) uint64 { return JSON{}.Hash(seed, v) }

// TestComparisons: the number of comparisons grows with the number of items, however alike they are.
func TestComparisons(t *testing.T) {
	const n = 2_000
	for name, kind := range kinds {
		items := list(n, kind.item)
		shuffled := append([]any(nil), items...)
		rand.New(rand.NewPCG(3, 4)).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for what, run := range map[string]func(Equality){
			"index":            func(eq Equality) { NewIndex(items, eq) },
			"equal sets":       func(eq Equality) { EqualSets(items, shuffled, eq) },
			"changed":          func(eq Equality) { Changed(shuffled, items, 0, eq) },
			"match":            func(eq Equality) { Match(shuffled, items, eq) },
			"unique":           func(eq Equality) { Unique(items, eq) },
			"unique, repeated": func(eq Equality) { Unique(append(shuffled[:n-1:n-1], shuffled[0]), eq) },
		} {
			count := 0
			if run(counting{&count}); count > 4*n {
				t.Errorf("%s of %s: %d comparisons for %d items", what, name, count, n)
			}
		}
	}
}

// TestAlignedComparisons: aligned lists of up to 2,000 items, every kind of key, and how well their hashes spread.
func TestAlignedComparisons(t *testing.T) {
	for name, kind := range kinds {
		if !kind.unique {
			continue
		}
		for _, n := range []int{32, 500, 2_000} {
			items := list(n, func(i int) any { return map[string]any{"k": kind.item(i), "l": "x"} })
			keys := Keys{{Name: "k"}, {Name: "l"}, {Name: "missing"}}
			if !keys.Aligned(items, items) {
				t.Errorf("%s: %d different keys are not aligned", name, n)
			}
			table := NewTable(n)
			defer table.Free()
			met := 0
			for i, item := range items {
				hash := keys.Hash(table.Seed, item)
				free, _ := table.slot(hash, func(int) bool { return false })
				met += (free - int(hash)) & (len(table.slots) - 1)
				table.Put(hash, i, func(j int) bool { return keys.Equal(items[j], item) })
			}
			// A table that is half full is met about n/2 times, by chance a few times that; a constant hash meets it
			// n*(n-1)/2 times.
			if met > 4*n+100 {
				t.Errorf("%s: %d items met %d taken slots", name, n, met)
			}
		}
	}
}

// TestTableIsUsedAgain: a table from the pool has room for its items, whatever it held before.
func TestTableIsUsedAgain(t *testing.T) {
	all := func(int) bool { return true }
	for range 10 {
		for _, n := range []int{100, 10, 50} {
			table := NewTable(n)
			for i := range n {
				if at := table.Put(uint64(i), i, all); at >= 0 {
					t.Fatalf("%d of %d: it is there already, at %d", i, n, at)
				}
			}
			for i := range n {
				if at, once := table.Take(uint64(i), all); at != i || !once {
					t.Fatalf("%d of %d: %d is taken, once %t", i, n, at, once)
				}
				if at, once := table.Take(uint64(i), all); at >= 0 || once {
					t.Fatalf("%d of %d: %d is taken again, once %t", i, n, at, once)
				}
			}
			table.Free()
		}
	}
}
