package check

import (
	"fmt"
	"testing"
)

// TestHashTellsApart: values that differ under an equality differ in their hash, so that items of a set are not
// compared with each other; equal values share it.
func TestHashTellsApart(t *testing.T) {
	const set = `"type":"array","x-kubernetes-list-type":"set","items":`
	c := compileText(t, `{"properties":{"v":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored",`+set+`{"type":"object","properties":{
		"set":{`+set+`{}},
		"keyed":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"},"inner":{`+set+`{}}}}},
		"list":{"type":"array","items":{`+set+`{}}},
		"normal":{"x-kubernetes-normalize":"undefined","type":"object"},
		"plain":{}},"additionalProperties":{`+set+`{}}}}}}`)
	e := c.Root().(*ContainerNode).Object.Properties[0].Node.(*Frozen).Equality.List.Items
	item := func(k string, inner ...any) any { return map[string]any{"k": k, "inner": inner} }
	classes := [][]any{
		{map[string]any{}, map[string]any{"normal": map[string]any{}}, map[string]any{"normal": nil}},
		{map[string]any{"normal": map[string]any{"a": nil}}},
		{map[string]any{"plain": []any{"a", "b"}}},
		{map[string]any{"plain": []any{"b", "a"}}},
		{map[string]any{"set": []any{}}},
		{map[string]any{"set": []any{"a", "b"}}, map[string]any{"set": []any{"b", "a"}}},
		{map[string]any{"set": []any{"a", "a", "b"}}, map[string]any{"set": []any{"a", "b", "a"}}},
		{map[string]any{"set": []any{"a", "b", "b"}}},
		{map[string]any{"other": []any{"a", "b"}}, map[string]any{"other": []any{"b", "a"}}},
		{map[string]any{"list": []any{[]any{"a"}, []any{"b"}}}},
		{map[string]any{"list": []any{[]any{"b"}, []any{"a"}}}},
		{map[string]any{"list": []any{[]any{"a", "b"}}}, map[string]any{"list": []any{[]any{"b", "a"}}}},
		{map[string]any{"keyed": []any{}}},
		{map[string]any{"keyed": []any{item("a", "x"), item("b", "y")}}, map[string]any{"keyed": []any{item("b", "y"), item("a", "x")}}},
		{map[string]any{"keyed": []any{item("a", "y"), item("b", "x")}}},
		{map[string]any{"keyed": []any{item("a", "x")}}},
		{map[string]any{"keyed": []any{item("a", "x", "y")}}, map[string]any{"keyed": []any{item("a", "y", "x")}}},
	}
	m := &Memo{}
	seen := map[uint64]string{}
	for i, class := range classes {
		hash := m.Hash(e, class[0])
		if other, taken := seen[hash]; taken {
			t.Errorf("%v and %s hash together", class[0], other)
		}
		seen[hash] = fmt.Sprint(class[0])
		for _, a := range class {
			if m.Hash(e, a) != hash {
				t.Errorf("%v and %v are equal and hash apart", a, class[0])
			}
			for j, other := range classes {
				for _, b := range other {
					if got := m.Same(e, a, b); got != (i == j) {
						t.Errorf("%v and %v: equal %t", a, b, got)
					}
				}
			}
		}
	}
}
