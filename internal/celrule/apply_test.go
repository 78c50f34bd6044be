package celrule

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestApply: a change is made where it belongs, everything else stays as it is, and so does the schema itself.
func TestApply(t *testing.T) {
	const s = `{"type": "object", "properties": {
		"a": {"type": "string", "x-kubernetes-immutable": true, "x-other": 1, "x-kubernetes-validations": [{"rule": "1"}, {"rule": "2"}, {"rule": "3"}]},
		"a/b": {"type": "object", "additionalProperties": {"type": "string"}},
		"l": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}}}}`
	for _, c := range []struct {
		name   string
		change Change
		field  string // that the change is in
		want   string
	}{
		{"drop one rule of three", Change{SchemaPath: "/properties/a", DropRules: []int{1}}, "a",
			`{"type": "string", "x-kubernetes-immutable": true, "x-other": 1, "x-kubernetes-validations": [{"rule": "1"}, {"rule": "3"}]}`},
		{"drop all rules", Change{SchemaPath: "/properties/a", DropRules: []int{0, 1, 2}}, "a",
			`{"type": "string", "x-kubernetes-immutable": true, "x-other": 1}`},
		{"drop a rule and add another", Change{SchemaPath: "/properties/a", DropRules: []int{0, 1}, AddRules: []map[string]any{{"rule": "4"}, {"rule": "5"}}}, "a",
			`{"type": "string", "x-kubernetes-immutable": true, "x-other": 1, "x-kubernetes-validations": [{"rule": "3"}, {"rule": "4"}, {"rule": "5"}]}`},
		{"drop a key and set another", Change{SchemaPath: "/properties/a", DropKeys: []string{"x-kubernetes-immutable"}, SetKeys: map[string]any{"x-new": true}}, "a",
			`{"type": "string", "x-new": true, "x-other": 1, "x-kubernetes-validations": [{"rule": "1"}, {"rule": "2"}, {"rule": "3"}]}`},
		{"an escaped name without extensions", Change{SchemaPath: "/properties/a~1b", AddRules: []map[string]any{{"rule": "4"}}}, "a/b",
			`{"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-validations": [{"rule": "4"}]}`},
		{"the values of a map", Change{SchemaPath: "/properties/a~1b/additionalProperties", SetKeys: map[string]any{"x-new": 1}}, "a/b",
			`{"type": "object", "additionalProperties": {"type": "string", "x-new": 1}}`},
		{"below the items of a list", Change{SchemaPath: "/properties/l/items/properties/c", SetKeys: map[string]any{"x-new": 1}}, "l",
			`{"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string", "x-new": 1}}}}`},
		{"what the schema does not have", Change{SchemaPath: "/properties/l/items/properties/d", SetKeys: map[string]any{"x-new": 1}}, "l",
			`{"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := decodeSchema(t, []byte(s))
			var want, got map[string]any
			if err := json.Unmarshal([]byte(s), &want); err != nil {
				t.Fatal(err)
			}
			var node any
			if err := json.Unmarshal([]byte(c.want), &node); err != nil {
				t.Fatal(err)
			}
			want["properties"].(map[string]any)[c.field] = node
			if err := json.Unmarshal([]byte(asJSON(Apply(old, []Change{c.change}))), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(asJSON(decodeSchema(t, []byte(s))), asJSON(old)); diff != "" {
				t.Errorf("the schema itself has changed (-want +got):\n%s", diff)
			}
		})
	}
}
