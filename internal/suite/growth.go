package suite

import (
	"fmt"
	"slices"
)

// Growth is a class of schemas and updates in which a check that looks at a subtree once for each level above it needs
// the square of the depth, or more.
type Growth struct {
	Name, Reason string
	Schema       string
	Build        func(depth int, isNew bool) map[string]any
	Refused      bool
}

// Growths lists the classes. It is one table, and long because each row has a schema.
func Growths() []Growth {
	return []Growth{
		{
			"NoModify and normalize at each level", "absence and equality are asked at each level, for everything below",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},
		 "x-fieldlock-update":["NoModify"],"x-kubernetes-normalize":"undefined"}}}`,
			nestedObject(bottom), true,
		},
		{
			"NoModify at each level", "equality is asked at each level, for everything below",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-fieldlock-update":["NoModify"]}}}`,
			nestedObject(bottom), true,
		},
		{
			"NoModify at each level, differences at each level", "each difference is below all the locks above it",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-fieldlock-update":["NoModify"]}}}`,
			nestedObject(each), true,
		},
		{
			"NoModify in lists at each level", "items are compared in order, so the first difference is always at the bottom",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"items":{"$ref":"#/definitions/A"},"x-fieldlock-update":["NoModify"]}}}`,
			nestedList(false), true,
		},
		{
			"immutable over normalize", "absence is asked at each level",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"properties":{"a":{"$ref":"#/definitions/A"}}}},
		 "definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-kubernetes-normalize":"undefined"}}}`,
			nestedObject(bottom), true,
		},
		{
			"sets of sets in another order", "each item is hashed with everything in it",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"set","items":{"$ref":"#/definitions/A"}}}}`,
			nestedList(true), false,
		},
		{
			"sets of sets that differ at the bottom", "a comparison that fails may be tried again at each level",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"set","items":{"$ref":"#/definitions/A"}}}}`,
			nestedList(false), true,
		},
		{
			"NoModify over sets in another order at each level", "what is equal without order is unequal as JSON, so the locks below compare too",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},
		 "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}},"x-fieldlock-update":["NoModify"]}}}`,
			nestedSets, false,
		},
		{
			"keyed lists without order that differ", "differences are looked for at each level",
			`{"x-fieldlock-map-list-order":"ignored","properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{},"a":{"$ref":"#/definitions/A"}}}}}}`,
			keyedLists(false), true,
		},
		{
			"keyed lists in keyed lists, with a lock in the items", "as text, each list is read again at each level",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{"x-kubernetes-immutable":true},"a":{"$ref":"#/definitions/A"}}}}}}`,
			keyedLists(false), true,
		},
		{
			"keyed lists without order and with repeated keys that differ", "lists with repeated keys are compared twice",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{},"a":{"$ref":"#/definitions/A"}}}}}}`,
			keyedLists(true), true,
		},
		{
			"keyed lists with repeated keys in the same order that differ", "what a comparison of a level finds out is asked again at the next one",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{},"a":{"$ref":"#/definitions/A"}}}}}}`,
			repeatedInOrder, true,
		},
	}
}

type where int // the levels at which two objects differ

const (
	bottom where = iota
	each
)

func leaf(isNew bool) any {
	if isNew {
		return "new"
	}
	return "old"
}

func nestedObject(differ where) func(int, bool) map[string]any {
	return func(depth int, isNew bool) map[string]any {
		v := map[string]any{"l": leaf(isNew)}
		for range depth {
			v = map[string]any{"a": v, "l": leaf(isNew && differ == each)}
		}
		return map[string]any{"a": v}
	}
}

func nestedList(equal bool) func(int, bool) map[string]any {
	return func(depth int, isNew bool) map[string]any {
		v := []any{leaf(isNew && !equal)}
		for i := range depth {
			v = []any{v, fmt.Sprint(i), []any{fmt.Sprint(i)}}
			if isNew && equal {
				slices.Reverse(v)
			}
		}
		return map[string]any{"a": v}
	}
}

func nestedSets(depth int, isNew bool) map[string]any {
	v := map[string]any{}
	for range depth {
		set := []any{"a", "b", "c"}
		if isNew {
			slices.Reverse(set)
		}
		v = map[string]any{"a": v, "s": set}
	}
	return map[string]any{"a": v}
}

func repeatedInOrder(depth int, isNew bool) map[string]any {
	v := []any{map[string]any{"k": "x", "l": leaf(isNew)}}
	for range depth {
		v = []any{map[string]any{"k": "x", "a": v}, map[string]any{"k": "y"}, map[string]any{"k": "y"}}
	}
	return map[string]any{"a": v}
}

func keyedLists(repeated bool) func(int, bool) map[string]any {
	return func(depth int, isNew bool) map[string]any {
		v := []any{map[string]any{"k": "x", "l": leaf(isNew)}}
		for range depth {
			v = []any{map[string]any{"k": "x", "a": v}, map[string]any{"k": "y"}, map[string]any{"k": "z"}}
			if repeated {
				v[2] = map[string]any{"k": "y"}
			}
			if isNew {
				slices.Reverse(v)
			}
		}
		return map[string]any{"a": v}
	}
}
