package check

import "testing"

// TestWhatCompilesToNothing: a part of the schema without locks has no node, and values that compare as JSON have no
// equality, so that comparing them asks nothing of the schema.
func TestWhatCompilesToNothing(t *testing.T) {
	if c := compileText(t, `{"properties":{"a":{"properties":{"b":{"type":"string"}}},"s":{"type":"array","x-kubernetes-list-type":"set","items":{}}}}`); c.Root() != nil {
		t.Errorf("a schema without locks compiles to %+v", c.Root())
	}
	c := compileText(t, `{"properties":{
		"free":{"properties":{"b":{}}},
		"plain":{"x-kubernetes-immutable":true,"properties":{"b":{"items":{}}},"additionalProperties":{}},
		"keyed":{"x-kubernetes-immutable":true,"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"properties":{"k":{"type":"string"}}}},
		"set":{"x-kubernetes-immutable":true,"type":"array","x-kubernetes-list-type":"set","items":{"properties":{"b":{}}}},
		"normal":{"x-kubernetes-immutable":true,"properties":{"b":{"x-kubernetes-normalize":"undefined"},"c":{}}}}}`)
	properties := c.Root().(*ContainerNode).Object.Properties
	equalities := map[string]*Equality{}
	for _, p := range properties {
		equalities[p.Name] = p.Node.(*Frozen).Equality
	}
	if len(properties) != 4 || equalities["plain"] != nil || equalities["keyed"] != nil {
		t.Errorf("%d properties, equality of plain %v, of keyed %v", len(properties), equalities["plain"], equalities["keyed"])
	}
	if set := equalities["set"]; set == nil || set.Object != nil || set.List.Kind != AsSet || set.List.Items != nil || !set.unordered {
		t.Errorf("the equality of set is %+v", set)
	}
	normal := equalities["normal"]
	if normal == nil || normal.unordered || normal.List != nil || len(normal.Object.Properties) != 1 || !normal.Object.Normalized {
		t.Errorf("the equality of normal is %+v", normal)
	}
	if (&Checker{}).Root() != nil || (*Checker)(nil).Root() != nil {
		t.Error("no checker has a root")
	}
}
