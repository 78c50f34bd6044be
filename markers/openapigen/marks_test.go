package openapigen_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/markers/openapigen"
)

func defs() map[string]common.OpenAPIDefinition {
	class := spec.StringProperty()
	class.AddExtension("x-kubernetes-immutable", "true")
	return map[string]common.OpenAPIDefinition{
		"com.example.api.v1.Widget": {Schema: spec.Schema{SchemaProps: spec.SchemaProps{
			Properties: map[string]spec.Schema{
				"class":  *class,
				"a/b":    *spec.StringProperty(),
				"labels": *spec.MapProperty(spec.StringProperty()),
				"list":   *spec.ArrayProperty(spec.StringProperty()),
			},
		}}},
	}
}

func TestApplyRefuses(t *testing.T) {
	for name, c := range map[string]struct{ marks, want string }{
		"no such definition":     {`{"example.com/api/v1.Gadget": {"": {"x": true}}}`, "no definition example.com/api/v1.Gadget"},
		"no such property":       {`{"com.example.api.v1.Widget": {"/properties/color": {"x": true}}}`, `"/properties/color": the schema has no such node`},
		"a property without one": {`{"com.example.api.v1.Widget": {"/properties": {"x": true}}}`, `"/properties": the schema has no such node`},
		"no items":               {`{"com.example.api.v1.Widget": {"/properties/labels/items": {"x": true}}}`, `"/properties/labels/items": the schema has no such node`},
		"no values":              {`{"com.example.api.v1.Widget": {"/properties/list/additionalProperties": {"x": true}}}`, `"/properties/list/additionalProperties": the schema has no such node`},
		"another value there":    {`{"com.example.api.v1.Widget": {"/properties/class": {"x-kubernetes-immutable": false}}}`, "make the two agree"},
		"no pointer":             {`{"com.example.api.v1.Widget": {"properties": {"x": true}}}`, `"properties": the schema has no such node`},
	} {
		t.Run(name, func(t *testing.T) {
			marks, err := openapigen.Parse([]byte(c.marks))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := marks.Apply(defs()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON":        `marks`,
		"a list":         `[]`,
		"keys in a list": `{"a": {"/properties/b": ["x-kubernetes-immutable"]}}`,
		"two documents":  `{} {}`,
	} {
		if _, err := openapigen.Parse([]byte(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A server embeds the file that `fieldlock markers --definitions` wrote, and wraps its generated definitions.
func ExampleMarks_Apply() {
	marks, err := openapigen.Parse([]byte(`{"example.com/api/v1.Widget": {
		"/properties/class": {"x-kubernetes-immutable": true},
		"/properties/a~1b": {"x-kubernetes-immutable": true},
		"/properties/labels/additionalProperties": {"x-fieldlock-update": ["NoModify"]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := marks.Apply(defs())
	if err != nil {
		fmt.Println(err)
		return
	}
	widget := out["com.example.api.v1.Widget"].Schema
	fmt.Println(widget.Properties["class"].Extensions)
	fmt.Println(widget.Properties["a/b"].Extensions)
	fmt.Println(widget.Properties["labels"].AdditionalProperties.Schema.Extensions)
	// Output:
	// map[x-kubernetes-immutable:true]
	// map[x-kubernetes-immutable:true]
	// map[x-fieldlock-update:[NoModify]]
}
