package immutability_test

import (
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

// clusterSchema is the schema of the examples.
func clusterSchema() *spec.Schema {
	var s spec.Schema
	err := json.Unmarshal([]byte(`{
		"type": "object", "required": ["spec"],
		"properties": {"spec": {
			"type": "object",
			"properties": {
				"class":  {"type": "string", "x-kubernetes-immutable": true},
				"labels": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-addition-only": true},
				"nodes":  {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
					"items": {"type": "object", "required": ["name"], "properties": {
						"name": {"type": "string"},
						"zone": {"type": "string", "x-fieldlock-update": ["NoUnset", "NoModify"]}
					}}}
			}
		}}
	}`), &s)
	if err != nil {
		panic(err)
	}
	return &s
}

func Example() {
	v, err := immutability.Compile(clusterSchema())
	if err != nil {
		fmt.Println(err)
		return
	}
	errs, err := v.ValidateUpdateJSON(
		[]byte(`{"spec": {"class": "large", "labels": {"app": "x"}, "nodes": [{"name": "b"}, {"name": "a", "zone": "2"}]}}`),
		[]byte(`{"spec": {"class": "small", "labels": {"tier": "db"}, "nodes": [{"name": "a", "zone": "1"}]}}`),
	)
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range errs {
		fmt.Println(e)
	}
	// Output:
	// spec.class: Invalid value: "large": field is immutable
	// spec.labels: Invalid value: {"app":"x"}: field is immutable: "tier" may not be removed
	// spec.nodes[1].zone: Invalid value: "2": field cannot be modified once set
}

func ExampleValidator_Check() {
	v := immutability.MustCompile(clusterSchema())
	oldObj := map[string]any{"spec": map[string]any{"class": "small"}}
	newObj := map[string]any{"spec": map[string]any{}}
	for _, violation := range v.Check(newObj, oldObj).Violations {
		fmt.Println(violation.Path, violation.Lock, violation.SchemaPath, violation.Old, violation.HasNew)
	}
	// Output: spec.class immutable /properties/spec/properties/class small false
}

func ExampleReport_Status() {
	v := immutability.MustCompile(clusterSchema())
	report := v.Check(map[string]any{"spec": map[string]any{"class": "b"}}, map[string]any{"spec": map[string]any{"class": "a"}})
	status := report.Status(schema.GroupKind{Group: "example.com", Kind: "Cluster"}, "main", http.StatusUnprocessableEntity)
	fmt.Println(status.Code, status.Reason)
	fmt.Println(status.Message)
	// Output:
	// 422 Invalid
	// Cluster.example.com "main" is invalid: spec.class: Invalid value: "b": field is immutable
}

func ExampleValidator_Locks() {
	for _, l := range immutability.MustCompile(clusterSchema()).Locks() {
		fmt.Println(l.Path, l.Locks)
	}
	// Output:
	// spec.class [immutable]
	// spec.labels [addition-only]
	// spec.nodes[*].zone [NoUnset NoModify]
}

func ExampleLint() {
	for _, f := range immutability.Lint(clusterSchema()) {
		fmt.Println(f.Severity, f.Path, f.Rule, f.Fields)
	}
	// Output:
	// warning spec.nodes optional-parent [spec.nodes[*].zone]
	// warning spec.nodes renamable-key [spec.nodes[*].zone]
}

func ExampleCompile() {
	_, err := immutability.Compile(&spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{
		"spec": {VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-immutable": false}}},
	}}})
	fmt.Println(err)
	// Output: spec: x-kubernetes-immutable is false: the only value is true, and a child cannot lift the lock of its parent; remove the key
}

func ExampleValidator_ValidateUpdateAt() {
	spec := &spec.Schema{}
	if err := spec.UnmarshalJSON([]byte(`{"type": "object", "properties": {"class": {"type": "string", "x-kubernetes-immutable": true}}}`)); err != nil {
		panic(err)
	}
	v := immutability.MustCompile(spec)
	errs := v.ValidateUpdateAt(field.NewPath("spec"), map[string]any{"class": "large"}, map[string]any{"class": "small"})
	fmt.Println(errs.ToAggregate())
	// Output: spec.class: Invalid value: "large": field is immutable
}
