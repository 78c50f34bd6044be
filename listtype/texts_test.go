package listtype

import (
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// plain hides an equality from what looks for strings.
type plain struct{ eq Equality }

func (p plain) Equal(a, b any) bool                     { return p.eq.Equal(a, b) }
func (p plain) Hash(seed maphash.Seed, item any) uint64 { return p.eq.Hash(seed, item) }

// TestTextsAgreeWithIndex: lists of strings, and of objects with a string for a key, are compared in a way of their own. It finds
// what the index finds, also among items without a string.
func TestTextsAgreeWithIndex(t *testing.T) {
	texts := []any{"a", "b", "c", "d", "é", "", "a longer text than the others"}
	others := []any{nil, int64(1), "\xff", []any{}, map[string]any{}, map[string]any{"k": int64(1)}, map[string]any{"k": nil}}
	withKey := Keys{{Name: "k"}}
	withDefault := Keys{{Name: "k", Default: "a", HasDefault: true}}
	r := rand.New(rand.NewPCG(5, 6))
	for range 5_000 {
		pick := func() []any {
			list := make([]any, r.IntN(12))
			for i := range list {
				list[i] = texts[r.IntN(len(texts))]
				if r.IntN(2) == 0 {
					list[i] = map[string]any{"k": list[i]}
				}
			}
			if r.IntN(2) == 0 && len(list) > 0 {
				list[r.IntN(len(list))] = others[r.IntN(len(others))]
			}
			return list
		}
		a, b := pick(), pick()
		if r.IntN(2) == 0 {
			b = slices.Clone(a)
			r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		}
		if r.IntN(3) > 0 { // strings only
			isObject := func(v any) bool { _, ok := v.(string); return !ok }
			a, b = slices.DeleteFunc(a, isObject), slices.DeleteFunc(b, isObject)
		}
		for _, eq := range []Equality{JSON{}, &withKey, &withDefault} {
			index := plain{eq}
			if got, want := EqualSets(a, b, eq), EqualSets(a, b, index); got != want {
				t.Fatalf("%v and %v: equal sets %v, want %v", a, b, got, want)
			}
			if got, want := Added(a, b, eq), Added(a, b, index); !slices.Equal(got, want) {
				t.Fatalf("%v and %v: added %v, want %v", a, b, got, want)
			}
			got, gotOK := Match(a, b, eq)
			want, wantOK := Match(a, b, index)
			if gotOK != wantOK || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v and %v: matched %v, %v, want %v, %v", a, b, got, gotOK, want, wantOK)
			}
		}
	}
}
