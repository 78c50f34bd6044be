package crd_test

import (
	"fmt"
	"log"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              class: {type: string, default: standard, x-kubernetes-immutable: true}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              class: {type: string, default: standard}
`

// From a CRD document to a verdict: the object's version is found, both sides are pruned and defaulted as on the API
// server, and compared.
func Example() {
	crds, err := crd.Read("widgets.yaml", []byte(widgets))
	if err != nil {
		log.Fatal(err)
	}
	catalog, err := crd.NewCatalog(crds...)
	if err != nil {
		log.Fatal(err)
	}
	version, err := catalog.Find("example.com/v1", "Widget")
	if err != nil {
		log.Fatal(err)
	}
	validator, err := version.Compile()
	if err != nil {
		log.Fatal(err)
	}
	oldObj, err := version.Prepare(map[string]any{"spec": map[string]any{}})
	if err != nil {
		log.Fatal(err)
	}
	newObj, err := version.Prepare(map[string]any{"spec": map[string]any{"class": "fast", "pruned": true}})
	if err != nil {
		log.Fatal(err)
	}
	for _, violation := range validator.Check(newObj, oldObj).Violations {
		fmt.Printf("%s: %v became %v\n", violation.Path, violation.Old, violation.New)
	}
	// Output: spec.class: standard became fast
}

func ExampleRead() {
	_, err := crd.Read("gadgets.yaml", []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\n"+
		"spec:\n  group: example.com\n  names: {kind: Gadget}\n  versions:\n  - name: v1\n"))
	fmt.Println(err)
	// Output: gadgets.yaml:8: document 1, CustomResourceDefinition gadgets.example.com: spec.versions[0].schema.openAPIV3Schema: version "v1" has no schema; every version of a CustomResourceDefinition has one
}

func ExampleLint() {
	crds, err := crd.Read("widgets.yaml", []byte(widgets))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range crd.Lint(crds[0]) {
		fmt.Printf("%s:%d: %s: %s\n", f.File, f.Line, f.Severity, f.Message)
	}
	// Output: widgets.yaml:32: warning: version v2 leaves free what is locked in v1, so an update through v2 gets around the locks: spec.class; put the same locks in every served version
}

func ExampleCRD_Annotation() {
	crds, err := crd.Read("widgets.yaml", []byte(widgets))
	if err != nil {
		log.Fatal(err)
	}
	annotation, err := crds[0].Annotation()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", crd.AnnotationKey, annotation)
	// Output: fieldlock.dev/locks: {"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}}}
}

func ExampleDocument_Locate() {
	documents, err := crd.ReadDocuments("widget.yaml", []byte("kind: Widget\nspec:\n  nodes:\n  - zone: a\n  - zone: b\n"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(documents[0].Locate("spec.nodes[1].zone"))
	// Output: 5:5
}
