package listindex_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fieldlock/fieldlock/internal/listindex"
)

func object(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func TestKeys(t *testing.T) {
	keys := listindex.Keys{{Name: "port"}, {Name: "protocol", Default: "TCP", HasDefault: true}}
	for _, row := range []struct {
		name, reason string
		a, b         any
		want         bool
	}{
		{"same", "other members do not count", object("port", int64(80), "x", 1), object("port", int64(80), "x", 2), true},
		{"default", "a missing field has its default", object("port", int64(80)), object("port", int64(80), "protocol", "TCP"), true},
		{"type", `80 is not "80"`, object("port", int64(80)), object("port", "80"), false},
		{"number form", "80 is 80.0", object("port", int64(80)), object("port", 80.0), true},
		{"missing", "missing is not null", object(), object("port", nil), false},
		{"missing on both sides", "one key", object(), object("x", 1), true},
		{"tuple", "no string joining", object("port", "a", "protocol", "b"), object("port", "ab", "protocol", ""), false},
		{"no object", "equals only the same value", "a", "a", true},
		{"no object and an object", "no key", "a", object(), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if keys.Equal(row.a, row.b) != row.want || keys.Equal(row.b, row.a) != row.want {
				t.Errorf("want %t (%s)", row.want, row.reason)
			}
			if first := listindex.NewIndex([]any{row.a}, keys).First(row.b); (first == 0) != row.want {
				t.Errorf("the index finds %d (%s)", first, row.reason)
			}
		})
	}
	if got, want := keys.Tuple(object("port", int64(80), "x", 1)), object("port", int64(80), "protocol", "TCP"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSets(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		new, old     []any
		equal        bool
		added        []int // in new
	}{
		{"empty", "nil is an empty set", nil, []any{}, true, nil},
		{"shuffled", "order does not count", []any{"c", "a", "b"}, []any{"a", "b", "c"}, true, nil},
		{"multiplicity", "[a,a,b] differs from [a,b,b]", []any{"a", "a", "b"}, []any{"a", "b", "b"}, false, []int{1}},
		{"doubled", "the later one is added", []any{"a", "a"}, []any{"a"}, false, []int{1}},
		{"removed", "nothing is added", []any{"b"}, []any{"a", "b"}, false, nil},
		{"type", `1 is not "1"`, []any{int64(1)}, []any{"1"}, false, []int{0}},
		{"number form", "1 is 1.0", []any{1.0, int64(2)}, []any{int64(2), int64(1)}, true, nil},
		{"after a common beginning", "what is in place stays in place", []any{"a", "x", "b"}, []any{"a", "b"}, false, []int{1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if listindex.EqualSets(row.new, row.old, listindex.JSON{}) != row.equal || listindex.EqualSets(row.old, row.new, listindex.JSON{}) != row.equal {
				t.Errorf("want %t (%s)", row.equal, row.reason)
			}
			if got, _ := listindex.Changed(row.new, row.old, 0, listindex.JSON{}); !reflect.DeepEqual(got, row.added) {
				t.Errorf("added %v, want %v (%s)", got, row.added, row.reason)
			}
		})
	}
}

// TestUnique: lists of every length, also of more items than a table that is kept has room for.
func TestUnique(t *testing.T) {
	for _, n := range []int{0, 1, 2, 8, 9, 100, 2048, 2049, 40_000} {
		list := make([]any, n)
		for i := range list {
			list[i] = fmt.Sprint(i)
		}
		rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
		if !listindex.Unique(list, listindex.JSON{}) {
			t.Errorf("%d different items are told to have duplicates", n)
		}
		if n < 2 {
			continue
		}
		list[n-1] = list[0]
		if listindex.Unique(list, listindex.JSON{}) {
			t.Errorf("a duplicate among %d items is not found", n)
		}
	}
}

func TestIndex(t *testing.T) {
	ix := listindex.NewIndex([]any{"a", "b", "a", "c", "b", "a"}, listindex.JSON{})
	if got, want := ix.Duplicates(), [][]int{{0, 2, 5}, {1, 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("duplicates %v, want %v", got, want)
	}
	if ix.First("b") != 1 || ix.Next(1) != 4 || ix.Next(4) != -1 || ix.First("x") != -1 {
		t.Error("the positions of b are 1 and 4, and x has none")
	}
	if got := listindex.NewIndex(nil, listindex.JSON{}).First("a"); got != -1 {
		t.Errorf("an empty list has a at %d", got)
	}
}
