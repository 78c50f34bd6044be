package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const crdText = `
kind: CustomResourceDefinition
spec:
  group: a.example
  names: {kind: K}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              color: {type: string, enum: [red, blue]}
              size: {type: integer}
              parts: {type: array, items: {type: string}}
              more: {type: object, required: [name], properties: {name: {type: string}}}
`

// Each field is changed, removed or added, one at a time, and the object that the changes begin with stays as it is.
func TestChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(crdText), 0o600); err != nil {
		t.Fatal(err)
	}
	schemas, err := schemasOf([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{"spec": map[string]any{"color": "red", "parts": []any{"a", "b"}}}
	var got []string
	for _, q := range changesOf("spec", object, []any{"spec"}, object["spec"], propertyOf(schemas["a.example/v1 K"], "spec")) {
		got = append(got, q.Name)
		if q.Name == "spec.more added" && q.New["spec"].(map[string]any)["more"].(map[string]any)["name"] != "sample" {
			t.Errorf("what is added lacks its name: %v", q.New)
		}
	}
	want := []string{
		"spec.color removed", "spec.color changed 0", "spec.parts removed", "spec.parts reversed", "spec.parts doubled", "spec.parts shortened", "spec.parts emptied",
		"spec.parts without the first", "spec.parts extended", "spec.parts[0] changed 0", "spec.parts[0] changed 1", "spec.parts[1] changed 0", "spec.parts[1] changed 1",
		"spec.more added", "spec.more added as zero", "spec.size added", "spec.size added as zero",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(object["spec"].(map[string]any)) != 2 {
		t.Errorf("the object was changed: %v", object)
	}
}
