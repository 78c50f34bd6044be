package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	kjson "sigs.k8s.io/json"

	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// toStructural converts the schema as the API server does when it starts to serve a CRD. It returns nil for a schema that
// is not structural if preserveUnknownFields allows that.
func (v *Version) toStructural() (*structuralschema.Structural, error) {
	if path, why := notStructural(v.raw); why != "" {
		if v.crd.PreserveUnknownFields {
			return nil, nil
		}
		return nil, fmt.Errorf("%s, version %s: %s: the schema is not structural, so the API server could not prune and default by it: %s",
			v.crd.subject(), v.Name, path, why)
	}
	structural, err := v.convert()
	if err != nil {
		return nil, fmt.Errorf("%s, version %s: the schema is not structural, so the API server could not prune and default by it: %w",
			v.crd.subject(), v.Name, err)
	}
	return structural, nil
}

// convert takes the schema through the API server: decoded as JSONSchemaProps, which drops the keys that it does
// not know, converted, made structural, its defaults pruned.
func (v *Version) convert() (*structuralschema.Structural, error) {
	data, err := json.Marshal(v.raw)
	if err != nil {
		return nil, err
	}
	var external apiextensionsv1.JSONSchemaProps
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &external); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil || v.crd.PreserveUnknownFields {
		return structural, err
	}
	return structural, defaulting.PruneDefaults(structural)
}

// notStructural returns the schema path of the first node that a structural schema cannot have, and why; "" when
// there is none.
func notStructural(raw map[string]any) (at, why string) {
	rawschema.Walk(raw, func(path string, node map[string]any) {
		if why != "" {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(unstructured)) {
			if value := node[key]; value != nil && !isEmpty(value) {
				at, why = path, unstructured[key]
				return
			}
		}
		if _, isList := node["items"].([]any); isList {
			at, why = path, "its items are a list of schemas; all items of a list have one schema"
		} else if node[schema.KeyPreserveUnknown] == false {
			at, why = path, "x-kubernetes-preserve-unknown-fields is false; it is true or left out"
		}
	})
	return at, why
}

// unstructured are the keywords that a structural schema cannot have, with why and what to do.
var unstructured = map[string]string{
	"$ref":              "it has $ref; write the schema out",
	"patternProperties": "it has patternProperties; use additionalProperties",
	"definitions":       "it has definitions; write the schemas out where they are used",
	"dependencies":      "it has dependencies; use required, or a rule of x-kubernetes-validations",
	"additionalItems":   "it has additionalItems; all items of a list have one schema",
	"id":                "it has id; remove it",
	"$schema":           "it has $schema; remove it",
}

// isEmpty reports whether a keyword has a value that the API types take for absent.
func isEmpty(value any) bool {
	object, isObject := value.(map[string]any)
	return value == "" || isObject && len(object) == 0
}
