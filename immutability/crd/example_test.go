package crd_test

import (
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
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

// From a CRD document to a verdict: both sides are pruned and defaulted as on the API server, and compared.
func Example() {
	crds, err := crd.Read("widgets.yaml", []byte(widgets))
	if err != nil {
		log.Fatal(err)
	}
	version, ok := crds[0].Version("v1")
	if !ok {
		log.Fatal("the CRD has no version v1")
	}
	validator, err := version.Compile()
	if err != nil {
		log.Fatal(err)
	}
	preparer := prepare.New(version)
	oldObj, err := preparer.Prepare(map[string]any{"spec": map[string]any{}})
	if err != nil {
		log.Fatal(err)
	}
	newObj, err := preparer.Prepare(map[string]any{"spec": map[string]any{"class": "fast", "pruned": true}})
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
	for _, f := range crd.Lint(crds[0], nil) {
		fmt.Printf("%s: %s: %s\n", f.Position, f.Severity, f.Message)
	}
	// Output: widgets.yaml:32:15: warning: version v2 leaves free what is locked in v1, so an update through v2 gets around the locks: spec.class; put the same locks in every served version
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

// An object of a client has its locks in the annotation.
func ExampleFromObject() {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(widgets), &object.Object); err != nil {
		log.Fatal(err)
	}
	object.SetAnnotations(map[string]string{crd.AnnotationKey: `{"v2": {"/properties/spec/properties/class": {"x-fieldlock-update": ["NoUnset"]}}}`})
	c, err := crd.FromObject(object)
	if err != nil {
		log.Fatal(err)
	}
	for _, version := range c.Versions {
		validator, err := version.Compile()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(version.Name, validator.Locks()[0].Locks)
	}
	// Output:
	// v1 [immutable]
	// v2 [NoUnset]
}
