package admission_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
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
        properties:
          spec:
            type: object
            properties:
              class: {type: string, x-kubernetes-immutable: true}
`

// A webhook with the locks of a file.
func ExampleNewHandler() {
	kinds, err := loader.New().Read("widgets.yaml", []byte(widgetCRD))
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := &admission.Registry{}
	registry.Put(kinds...)
	registry.SetComplete() // kinds that are not in have no locks
	handler, err := admission.NewHandler(registry)
	if err != nil {
		fmt.Println(err)
		return
	}

	server := httptest.NewServer(handler) // an API server wants TLS
	defer server.Close()
	response, err := http.Post(server.URL, "application/json", strings.NewReader(`{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": {
			"uid": "1", "operation": "UPDATE", "name": "main",
			"kind": {"group": "example.com", "version": "v1", "kind": "Widget"},
			"resource": {"group": "example.com", "version": "v1", "resource": "widgets"},
			"oldObject": {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"class": "gold"}},
			"object": {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"class": "silver"}}
		}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	answer := decodeAnswer(response.Body)
	fmt.Println(answer.Allowed, answer.Result.Code)
	fmt.Println(answer.Result.Message)
	// Output:
	// false 422
	// Widget.example.com "main" is invalid: spec.class: Invalid value: "silver": field is immutable
}

// What an update of an object has to be checked against.
func ExampleRegistry_Find() {
	kinds, err := loader.New().Read("widgets.yaml", []byte(widgetCRD))
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := &admission.Registry{}
	find := func() {
		gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
		_, locked, err := registry.Find(gv.WithKind("Widget"), gv.WithResource("widgets"), "")
		fmt.Println(locked, errors.Is(err, admission.ErrNotLoaded), err)
	}
	find()
	registry.Put(kinds...)
	find()
	registry.Delete(kinds[0].GroupKind)
	registry.SetComplete()
	find()
	// Output:
	// false true the locks of example.com/v1 Widget are not known yet: not all kinds are loaded
	// true false <nil>
	// false false <nil>
}
