package listindex_test

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/fieldlock/fieldlock/internal/listindex"
)

// randomItems returns objects with few keys, one of which may be missing; now and then an item is none.
func randomItems(r *rand.Rand, n, keys int) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = object("port", int64(r.IntN(keys)), "name", "x")
		switch r.IntN(40) {
		case 0:
			items[i] = object("name", "y")
		case 1:
			items[i] = object("port", float64(r.IntN(keys)))
		case 2:
			items[i] = int64(r.IntN(keys))
		}
	}
	return items
}

func TestAlignedAndMatchAgreeWithComparingAll(t *testing.T) {
	keys := listindex.Keys{{Name: "port", Default: int64(3), HasDefault: true}, {Name: "name"}}
	r := rand.New(rand.NewPCG(3, 4))
	aligned, matched := 0, 0
	for range 3_000 {
		n := r.IntN(50)
		a := randomItems(r, n, 1+r.IntN(2_000))
		b := append([]any{}, a...)
		if r.IntN(2) == 0 {
			r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		}
		if r.IntN(2) == 0 && n > 0 {
			b = b[:n-1]
		}
		if want := alignedByAll(keys, a, b); keys.Aligned(a, b) != want {
			t.Fatalf("%v and %v: want aligned %v", a, b, want)
		} else if want {
			aligned++
		}
		at, ok := listindex.Match(a, b, keys)
		want := true
		for i, item := range a {
			here, there := count(keys, a, item), count(keys, b, item)
			want = want && (there == 0 || here == 1 && there == 1)
			if ok && (there == 0) != (at[i] < 0) || ok && at[i] >= 0 && !keys.Equal(b[at[i]], item) {
				t.Fatalf("%v and %v: %v", a, b, at)
			}
		}
		if ok != want {
			t.Fatalf("%v and %v: one match each is %v, want %v", a, b, ok, want)
		} else if ok {
			matched++
		}
	}
	if aligned < 100 || matched < 100 {
		t.Errorf("only %d lists are aligned and %d matched", aligned, matched)
	}
}

func TestAlignedAtEverySize(t *testing.T) {
	keys := listindex.Keys{{Name: "port"}}
	for _, n := range []int{0, 1, 2, 31, 32, 33, 63, 64, 65, 128, 2047, 2048, 2049, 10_000} {
		a := make([]any, n)
		for i := range a {
			a[i] = object("port", int64(i))
		}
		if !keys.Aligned(a, a) {
			t.Errorf("%d different keys are not aligned with themselves", n)
		}
		if n < 2 {
			continue
		}
		a[n-1] = object("port", 0.0)
		if keys.Aligned(a, a) {
			t.Errorf("the repeated key of %d items is not seen", n)
		}
	}
}

func TestAligned(t *testing.T) {
	keys := listindex.Keys{{Name: "port"}, {Name: "protocol"}}
	first := object("port", int64(80))
	for _, row := range []struct {
		name, reason string
		a, b         []any
		want         bool
	}{
		{"other members", "only keys count", []any{first, object("port", int64(1), "x", "y")}, []any{first, object("port", int64(1))}, true},
		{"a key in one only", "missing is a key of its own", []any{first, object("port", int64(1))}, []any{first, object("port", int64(1), "protocol", nil)}, false},
		{"no object in one list", "it has no key, not even a missing one", []any{first, "x"}, []any{first, object()}, false},
		{"no object in both lists", "there is nothing to correlate", []any{first, "x"}, []any{first, "x"}, false},
		{"null for an object without keys", "null is no object", []any{first, nil}, []any{first, object("x", "y")}, false},
		{"no key at all", "a missing key is one key", []any{first, object()}, []any{first, object()}, true},
		{"a repeated missing key", "missing twice is repeated", []any{object(), object("x", 1)}, []any{object(), object()}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if keys.Aligned(row.a, row.b) != row.want || keys.Aligned(row.b, row.a) != row.want {
				t.Errorf("want %t (%s)", row.want, row.reason)
			}
		})
	}
}

func alignedByAll(keys listindex.Keys, a, b []any) bool {
	for i, item := range a {
		if _, ok := item.(map[string]any); !ok || i >= len(b) || !keys.Equal(item, b[i]) || count(keys, a, item) != 1 {
			return false
		}
	}
	return len(a) == len(b)
}

func count(eq listindex.Equality, list []any, item any) int {
	n := 0
	for _, other := range list {
		if eq.Equal(other, item) {
			n++
		}
	}
	return n
}

// counted counts what an equality is asked.
type counted struct {
	listindex.Equality
	asked *int
}

func (c counted) Equal(a, b any) bool { *c.asked++; return c.Equality.Equal(a, b) }

func (c counted) Hash(seed maphash.Seed, v any) uint64 {
	*c.asked++
	return c.Equality.Hash(seed, v)
}

func TestShuffledListsCostLinearly(t *testing.T) {
	const n = 100_000
	a := make([]any, n)
	for i := range a {
		a[i] = object("port", int64(i))
	}
	b := append([]any{}, a...)
	rand.New(rand.NewPCG(5, 6)).Shuffle(n, func(i, j int) { b[i], b[j] = b[j], b[i] })
	for name, do := range map[string]func(eq listindex.Equality) bool{
		"Match":     func(eq listindex.Equality) bool { _, ok := listindex.Match(a, b, eq); return ok },
		"EqualSets": func(eq listindex.Equality) bool { return listindex.EqualSets(a, b, eq) },
		"Changed": func(eq listindex.Equality) bool {
			added, removed := listindex.Changed(a, b, 0, eq)
			return added == nil && removed == nil
		},
	} {
		asked := 0
		if !do(counted{listindex.Keys{{Name: "port"}}, &asked}) {
			t.Errorf("%s does not match a shuffled list", name)
		}
		if asked > 4*n {
			t.Errorf("%s asks %d times for %d items", name, asked, n)
		}
	}
}
