package rawschema

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// wrong is the error for a value that is not what a keyword takes.
func wrong(value any, right string) *Error {
	return &Error{Message: fmt.Sprintf("it is %s; it must be %s", yamldoc.Describe(value), right)}
}

func toString(value any) (string, *Error) {
	text, ok := value.(string)
	if !ok {
		return "", wrong(value, "a string")
	}
	return text, nil
}

func toBool(value any) (bool, *Error) {
	b, ok := value.(bool)
	if !ok {
		return false, wrong(value, "true or false, unquoted")
	}
	return b, nil
}

func toInt(value any) (*int64, *Error) {
	switch value := value.(type) {
	case int64:
		return &value, nil
	case float64:
		if i := int64(value); float64(i) == value && math.Abs(value) < 1<<53 {
			return &i, nil
		}
	}
	return nil, wrong(value, "an integer")
}

func toFloat(value any) (*float64, *Error) {
	switch value := value.(type) {
	case int64:
		f := float64(value) // the keyword is a float64 in every API type
		return &f, nil
	case float64:
		return &value, nil
	}
	return nil, wrong(value, "a number")
}

func toList(value any) ([]any, *Error) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(value, "a list")
	}
	return list, nil
}

func toStrings(value any) ([]string, *Error) {
	list, err := toList(value)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], err = toString(item); err != nil {
			err.Steps = append(err.Steps, i)
			return nil, err
		}
	}
	return texts, nil
}

func toType(value any) (spec.StringOrArray, *Error) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong(value, "one of object, array, string, integer, number, boolean")
	}
	if text == "" {
		return nil, nil
	}
	return spec.StringOrArray{text}, nil
}

func toSchemas(value any) ([]spec.Schema, *Error) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(value, "a list of schemas")
	}
	schemas := make([]spec.Schema, len(list))
	for i, item := range list {
		s, err := Schema(item)
		if err != nil {
			err.Steps = append(err.Steps, i)
			return nil, err
		}
		schemas[i] = *s
	}
	return schemas, nil
}

func toSchemaMap(value any) (map[string]spec.Schema, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object of schemas by name")
	}
	schemas := make(map[string]spec.Schema, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s, err := Schema(object[name])
		if err != nil {
			err.Steps = append(err.Steps, name)
			return nil, err
		}
		schemas[name] = *s
	}
	return schemas, nil
}

func toItems(value any) (*spec.SchemaOrArray, *Error) {
	if _, ok := value.([]any); ok {
		schemas, err := toSchemas(value)
		return &spec.SchemaOrArray{Schemas: schemas}, err
	}
	s, err := Schema(value)
	return &spec.SchemaOrArray{Schema: s}, err
}

func toSchemaOrBool(value any) (*spec.SchemaOrBool, *Error) {
	if allows, ok := value.(bool); ok {
		return &spec.SchemaOrBool{Allows: allows}, nil
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, wrong(value, "a schema, true or false")
	}
	s, err := Schema(value)
	return &spec.SchemaOrBool{Allows: true, Schema: s}, err
}

func toRef(value any) (spec.Ref, *Error) {
	text, err := toString(value)
	if err != nil {
		return spec.Ref{}, err
	}
	ref, badRef := spec.NewRef(text)
	if badRef != nil {
		return ref, wrong(value, "a URI reference")
	}
	return ref, nil
}

func toDependencies(value any) (spec.Dependencies, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object of schemas or lists of property names")
	}
	dependencies := make(spec.Dependencies, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var dependency spec.SchemaOrStringArray
		var err *Error
		if _, ok := object[name].([]any); ok {
			dependency.Property, err = toStrings(object[name])
		} else {
			dependency.Schema, err = Schema(object[name])
		}
		if err != nil {
			err.Steps = append(err.Steps, name)
			return nil, err
		}
		dependencies[name] = dependency
	}
	return dependencies, nil
}

func toExternalDocs(value any) (*spec.ExternalDocumentation, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object with description and url")
	}
	description, _ := object["description"].(string)
	url, _ := object["url"].(string)
	return &spec.ExternalDocumentation{Description: description, URL: url}, nil
}
