package witness

import (
	"encoding/json"
	"regexp"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestValues: what is made for a schema is valid, and different values are made where there are any.
func TestValues(t *testing.T) {
	for _, row := range []struct {
		name   string
		schema string
		least  int // how many different values there are at least
	}{
		{"string", `{"type": "string"}`, 3},
		{"length", `{"type": "string", "minLength": 5, "maxLength": 6}`, 2},
		{"no string but one", `{"type": "string", "maxLength": 0}`, 1},
		{"enum", `{"type": "string", "enum": ["x", "y"]}`, 2},
		{"pattern", `{"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"}`, 2},
		{"pattern and length", `{"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$", "minLength": 6}`, 2},
		{"alternatives", `{"type": "string", "pattern": "^(([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+)$|^Never$"}`, 2},
		{"date-time", `{"type": "string", "format": "date-time"}`, 2},
		{"cidr", `{"type": "string", "format": "cidr"}`, 2},
		{"byte", `{"type": "string", "format": "byte"}`, 2},
		{"uuid", `{"type": "string", "format": "uuid"}`, 2},
		{"ipv6", `{"type": "string", "format": "ipv6"}`, 2},
		{"integer", `{"type": "integer"}`, 3},
		{"bounds", `{"type": "integer", "minimum": 3, "maximum": 5}`, 3},
		{"exclusive bounds", `{"type": "integer", "minimum": 3, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": true}`, 1},
		{"multiples", `{"type": "integer", "multipleOf": 7, "minimum": 8}`, 2},
		{"number", `{"type": "number", "minimum": 0.5, "maximum": 1.5}`, 1},
		{"boolean", `{"type": "boolean"}`, 2},
		{"int-or-string", `{"x-kubernetes-int-or-string": true}`, 2},
		{"object", `{"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "enum": ["x", "z"]}, "b": {"type": "object", "required": ["c"], "properties": {"c": {"type": "integer", "minimum": 9}}}}}`, 3},
		{"map", `{"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer", "minimum": 4}}`, 2},
		{"list", `{"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "string"}}`, 2},
		{"set", `{"type": "array", "minItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string", "enum": ["a", "b", "c"]}}`, 2},
		{"keyed list", `{"type": "array", "minItems": 2, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k", "v"], "properties": {"k": {"type": "string"}, "v": {"type": "boolean"}}}}`, 2},
		{"unknown fields", `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := new(spec.Schema)
			if err := json.Unmarshal([]byte(`{"type": "object", "required": ["v"], "properties": {"v": `+row.schema+`}}`), s); err != nil {
				t.Fatal(err)
			}
			v := &Version{Schema: s}
			if err := v.compile(); err != nil {
				t.Fatal(err)
			}
			different := map[string]bool{}
			list := values((&node{Schema: s}).below("v"))
			for _, value := range append(list, smallest((&node{Schema: s}).below("v"))) {
				obj := map[string]any{"v": value}
				if errs := v.errors(obj); len(errs) > 0 {
					t.Errorf("%v is not valid: %v", value, errs)
				}
				data, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				different[string(data)] = true
			}
			if len(different) < row.least {
				t.Errorf("%d values: %v", len(different), list)
			}
		})
	}
}

func TestMatching(t *testing.T) {
	for _, pattern := range []string{
		``, `^$`, `^a$`, `a`, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, `^\d{3}-\d{4}$`, `^(foo|bar)+$`, `^.{3,}$`, `^[^/]+/[^/]+$`, `^\S+$`, `(?i)^https?://`,
		`^arn:(aws|aws-cn):iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_-]+$`, `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$`, `^[\p{L}]+$`,
	} {
		found := matching(pattern, 0, 10)
		if len(found) == 0 {
			t.Errorf("nothing matches %q", pattern)
		}
		for _, text := range found {
			if !regexp.MustCompile(pattern).MatchString(text) {
				t.Errorf("%q does not match %q", text, pattern)
			}
		}
	}
	if found := matching(`^[`, 0, 10); found != nil {
		t.Errorf("%q for a pattern that does not compile", found)
	}
	for _, text := range matching(`^[a-z]+$`, 20, 10) {
		if len(text) < 20 {
			t.Errorf("%q is too short", text)
		}
	}
}

// TestSizeOf: sizes are those of the JSON, which bounds how far a search gets.
func TestSizeOf(t *testing.T) {
	for _, v := range []any{
		nil, true, false, "", "a", `"`, `\`, "<&>", "\n\x7f", "é\u2028", int64(-12), 1.5, 1e30, []any{}, []any{int64(1)}, []any{"a", nil},
		map[string]any{}, map[string]any{"a": "b"}, map[string]any{"a<": []any{}, "b": map[string]any{"c": 0.1}},
	} {
		if got, want := sizeOf(v), len(asText(v)); got != want {
			t.Errorf("%#v has the size %d, want %d", v, got, want)
		}
	}
}
