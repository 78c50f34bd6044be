package normalize_test

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/normalize"
)

// A Go client writes an empty list with omitempty as absent: the mark makes the two one.
func ExampleCompile() {
	finalizers := spec.ArrayProperty(spec.StringProperty())
	finalizers.AddExtension("x-kubernetes-normalize", "undefined")
	schema := spec.Schema{SchemaProps: spec.SchemaProps{
		Type:       spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{"finalizers": *finalizers},
	}}

	normalizer, err := normalize.Compile(&schema, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(normalizer.Normalize(map[string]any{"name": "a", "finalizers": []any{}}))
	// Output: map[name:a]
}
