package openapi_test

import (
	"fmt"

	"github.com/fieldlock/fieldlock/immutability/openapi"
)

// The values of a Helm chart, locked by the chart's own values.schema.json.
func Example() {
	document, err := openapi.Read("values.schema.json", []byte(`{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"properties": {"storage": {"$ref": "#/definitions/Storage"}},
		"definitions": {"Storage": {
			"type": "object",
			"properties": {"class": {"type": "string", "x-kubernetes-immutable": true}, "size": {"type": "string"}}
		}}
	}`))
	if err != nil {
		panic(err)
	}
	validator, err := document.Compile(document.Root)
	if err != nil {
		panic(err)
	}
	oldValues := map[string]any{"storage": map[string]any{"class": "standard", "size": "1Gi"}}
	newValues := map[string]any{"storage": map[string]any{"class": "fast", "size": "1Gi"}}
	fmt.Println(validator.ValidateUpdate(newValues, oldValues).ToAggregate())
	// Output:
	// storage.class: Invalid value: "fast": field is immutable
}
