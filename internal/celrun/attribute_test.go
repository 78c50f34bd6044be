package celrun

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestFits: the paths that errors of a rule can have.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		name, schemaPath, fieldPath, path string
		withField, want                   bool
	}{
		{"a property", "/properties/a", "", "a", false, true},
		{"another property", "/properties/a", "", "b", false, false},
		{"a name that begins alike", "/properties/a", "", "ab", false, false},
		{"the whole object", "", "", "<nil>", false, true},
		{"an escaped name", "/properties/a~1b", "", "a/b", false, true},
		{"a name with a dot", "/properties/a.b", "", "axb", false, false},
		{"below a property", "/properties/a/properties/b", "", "a.b", false, true},
		{"an item", "/properties/a/items/properties/b", "", "a[3].b", false, true},
		{"a value of a map", "/properties/a/additionalProperties", "", "a[k]", false, true},
		{"a value under a key of two lines", "/properties/a/additionalProperties", "", "a[k\nl]", false, true},
		{"the map", "/properties/a/additionalProperties", "", "a", false, false},
		{"inside allOf", "/properties/a/allOf/0/properties/b", "", "a.b", false, true},
		{"inside allOf, after a property", "/allOf/1/properties/a", "", "a", false, true},
		{"its fieldPath", "/properties/a", ".b.c", "a.b.c", true, true},
		{"its field where the fieldPath is not asked for", "/properties/a", ".b", "a", false, true},
		{"its field where the fieldPath is asked for", "/properties/a", ".b", "a", true, false},
		{"a quoted name in a fieldPath", "/properties/a", "['b-c']", "a..b-c", true, true},
		{"a fieldPath of the root", "", ".b", "b", true, true},
	} {
		if got := fits(&Rule{SchemaPath: c.schemaPath, FieldPath: c.fieldPath}, c.path, c.withField); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestComparePaths: indices are numbers, everything else is text.
func TestComparePaths(t *testing.T) {
	ordered := []string{"", "a", "a[2]", "a[02]", "a[10]", "a[10].b", "a[10].b9", "a[10].b10", "a[k]", "b", "b.a", "c/9", "c:1"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := ComparePaths(a, b); got != cmp.Compare(i, j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
	got := slices.Clone(ordered)
	slices.Reverse(got)
	slices.SortFunc(got, ComparePaths)
	want := []string{"", "a", "a[2]", "a[02]", "a[10]", "a[10].b", "a[10].b9", "a[10].b10", "a[k]", "b", "b.a", "c/9", "c:1"}
	// Between numbers of one value the shorter one comes first.
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, path := range want {
		if ComparePaths(path, path) != 0 {
			t.Errorf("%s is not equal to itself", path)
		}
	}
}

func schemaOf(t *testing.T, text string) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestErrors: what the API server cannot compile is an error that names the rule.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"a rule that does not compile", `{"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}, "b": {"type": "string", "x-kubernetes-validations": [{"rule": "self > oldSelf + 1"}]}}}`,
			`a rule at "/properties/b" does not compile: `},
		{"a rule of the root that does not compile", `{"type": "object", "x-kubernetes-validations": [{"rule": "self.none == oldSelf"}]}`, `a rule at "" does not compile: `},
		{"a schema with two types", `{"type": ["object", "null"], "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}`, "json: cannot unmarshal array into Go struct field JSONSchemaProps.type"},
		{"a schema that is not structural", `{"type": "object", "allOf": [{"type": "string"}], "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}`, ""},
	} {
		v := New(schemaOf(t, c.schema), nil)
		_, err := v.ValidateUpdate(map[string]any{"a": "x", "b": "x"}, map[string]any{"a": "y", "b": "y"})
		if c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.HasSuffix(err.Error(), ": ")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Convert(schemaOf(t, `{"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-immutable": true}}}`)); err != nil {
		t.Errorf("a schema with a lock: %v", err)
	}
	if _, err := Convert(&spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-validations": "text"}}}); err == nil {
		t.Error("rules that are no list")
	}
	if _, err := Convert(&spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-function": func() {}}}}); err == nil {
		t.Error("a schema that has no JSON")
	}
}

// TestErrorElsewhere: an error that fits no rule is an error all the same.
func TestErrorElsewhere(t *testing.T) {
	v := &Validator{rules: []Rule{{SchemaPath: "/properties/a", FieldPath: ".x"}}}
	for _, message := range []string{"why", label(len(v.rules))} {
		violations, err := v.attribute(field.ErrorList{field.Invalid(field.NewPath("b"), nil, message)}, nil, nil)
		if err != nil || len(violations) != 1 || violations[0] != (RuleError{Path: "b", Message: message, Type: field.ErrorTypeInvalid}) {
			t.Errorf("%q: %+v, %v", message, violations, err)
		}
	}
	for path, want := range map[string]string{"a": `a rule at "/properties/a" does not compile: why`, "b": "a rule does not compile: why"} {
		if err := v.compileError(field.Invalid(field.NewPath(path), nil, "why")); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
