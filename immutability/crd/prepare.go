package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// Prepare returns obj as the API server sees it before it validates: unknown fields pruned, null dropped where the
// schema is not nullable, the metadata of embedded resources reduced to what object metadata has, defaults applied; by
// apiextensions-apiserver's own code and in its order. obj is a decoded object of this version and stays unchanged.
// The object's own metadata stays as it is: nothing in it can be locked.
//
// Under preserveUnknownFields, as on the API server, nothing is pruned and no null dropped, and with a schema that is
// not structural there are no defaults either. Without preserveUnknownFields such a schema is an error: no API server
// would serve it. It is an error too when the metadata of an embedded resource is malformed.
//
// Cost: O(object); the first call converts the schema, the time of a few decodings of it. Safe for concurrent use.
func (v *Version) Prepare(obj map[string]any) (map[string]any, error) {
	v.once.Do(func() { v.structural, v.err = v.toStructural() })
	if v.err != nil {
		return nil, v.err
	}
	prepared, ok := jsonvalue.Clone(obj).(map[string]any)
	if !ok {
		return nil, nil
	}
	if !v.crd.PreserveUnknownFields {
		pruning.Prune(prepared, v.structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(prepared, v.structural)
	}
	if err := coerce(prepared, v.structural); err != nil {
		return nil, fmt.Errorf("%s: an embedded resource cannot be read: %w", yamldoc.NameOf(obj), err)
	}
	defaulting.Default(prepared, v.structural)
	return prepared, nil
}

// coerce reduces the metadata of embedded resources in object to what object metadata has. Of several that are malformed
// objectmeta.Coerce reports any one; coerce takes each out and goes on, and returns the first by path.
func coerce(object map[string]any, s *structuralschema.Structural) error {
	var first *field.Error
	for {
		err := objectmeta.Coerce(nil, object, s, false, false)
		switch {
		case err == nil && first == nil:
			return nil
		case err == nil:
			return first
		case first == nil || err.Field < first.Field:
			first = err
		}
		if !remove(object, yamldoc.Steps(object, err.Field)) {
			return first
		}
	}
}

// remove takes the member that steps lead to out of value, and reports whether it was there.
func remove(value any, steps []any) bool {
	if len(steps) == 0 {
		return false
	}
	last := len(steps) - 1
	object, _ := yamldoc.At(value, steps[:last]...).(map[string]any)
	name, _ := steps[last].(string)
	_, ok := object[name]
	delete(object, name)
	return ok
}

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
