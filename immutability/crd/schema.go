package crd

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// schemaError is a mistake in a schema, at the end of steps from the value that was read.
type schemaError struct {
	steps   []any // innermost first while it unwinds
	message string
}

func (e *schemaError) Error() string { return e.message }

// schemaOf makes a schema of a decoded openAPIV3Schema. It keeps every key: keywords go to their fields, x- keys to
// Extensions in the letter case that they have, others to ExtraProps. The values of default, enum, example and of x-
// keys stay as decoded, shared with value, so that integers stay exact; spec.Schema's own JSON decoding makes
// them float64. The error names a keyword whose value has the wrong form.
func schemaOf(value any) (*spec.Schema, *schemaError) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &schemaError{message: fmt.Sprintf("it is %s; a schema is an object", yamldoc.Describe(value))}
	}
	s := new(spec.Schema)
	// Sorted, so that of two mistakes the same one is reported every time.
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := setKeyword(s, key, object[key]); err != nil {
			err.steps = append(err.steps, key)
			return nil, err
		}
	}
	return s, nil
}

// setKeyword sets one keyword of s.
func setKeyword(s *spec.Schema, key string, value any) *schemaError {
	switch key {
	case "default":
		s.Default = value
		return nil
	case "example":
		s.Example = value
		return nil
	}
	if value == nil && !isExtension(key) {
		// The API server's decoder takes null for a keyword that is not there.
		return nil
	}
	switch key {
	case "id":
		return set(&s.ID, value, toString)
	case "$schema":
		return set((*string)(&s.Schema), value, toString)
	case "$ref":
		return setRef(s, value)
	case "description":
		return set(&s.Description, value, toString)
	case "type":
		return set(&s.Type, value, toType)
	case "nullable":
		return set(&s.Nullable, value, toBool)
	case "format":
		return set(&s.Format, value, toString)
	case "title":
		return set(&s.Title, value, toString)
	case "maximum":
		return set(&s.Maximum, value, toFloat)
	case "exclusiveMaximum":
		return set(&s.ExclusiveMaximum, value, toBool)
	case "minimum":
		return set(&s.Minimum, value, toFloat)
	case "exclusiveMinimum":
		return set(&s.ExclusiveMinimum, value, toBool)
	case "maxLength":
		return set(&s.MaxLength, value, toInt)
	case "minLength":
		return set(&s.MinLength, value, toInt)
	case "pattern":
		return set(&s.Pattern, value, toString)
	case "maxItems":
		return set(&s.MaxItems, value, toInt)
	case "minItems":
		return set(&s.MinItems, value, toInt)
	case "uniqueItems":
		return set(&s.UniqueItems, value, toBool)
	case "multipleOf":
		return set(&s.MultipleOf, value, toFloat)
	case "enum":
		return set(&s.Enum, value, toList)
	case "maxProperties":
		return set(&s.MaxProperties, value, toInt)
	case "minProperties":
		return set(&s.MinProperties, value, toInt)
	case "required":
		return set(&s.Required, value, toStrings)
	case "items":
		return set(&s.Items, value, toItems)
	case "allOf":
		return set(&s.AllOf, value, toSchemas)
	case "oneOf":
		return set(&s.OneOf, value, toSchemas)
	case "anyOf":
		return set(&s.AnyOf, value, toSchemas)
	case "not":
		return set(&s.Not, value, schemaOf)
	case "properties":
		return set(&s.Properties, value, toSchemaMap)
	case "additionalProperties":
		return set(&s.AdditionalProperties, value, toSchemaOrBool)
	case "patternProperties":
		return set(&s.PatternProperties, value, toSchemaMap)
	case "dependencies":
		return set(&s.Dependencies, value, toDependencies)
	case "additionalItems":
		return set(&s.AdditionalItems, value, toSchemaOrBool)
	case "definitions":
		return set((*map[string]spec.Schema)(&s.Definitions), value, toSchemaMap)
	case "externalDocs":
		return set(&s.ExternalDocs, value, toExternalDocs)
	}
	if isExtension(key) {
		if s.Extensions == nil {
			s.Extensions = make(spec.Extensions)
		}
		s.Extensions[key] = value
		return nil
	}
	if s.ExtraProps == nil {
		s.ExtraProps = make(map[string]any)
	}
	s.ExtraProps[key] = value
	return nil
}

// isExtension reports whether key is an x- key, in either letter case, as kube-openapi has it.
func isExtension(key string) bool {
	return len(key) > 1 && (key[0] == 'x' || key[0] == 'X') && key[1] == '-'
}

// set stores what read makes of value.
func set[T any](field *T, value any, read func(any) (T, *schemaError)) *schemaError {
	v, err := read(value)
	if err != nil {
		return err
	}
	*field = v
	return nil
}

// wrong is the error for a value that is not what a keyword takes.
func wrong(value any, right string) *schemaError {
	return &schemaError{message: fmt.Sprintf("it is %s; it has to be %s", yamldoc.Describe(value), right)}
}

func setRef(s *spec.Schema, value any) *schemaError {
	text, err := toString(value)
	if err != nil {
		return err
	}
	ref, badRef := spec.NewRef(text)
	if badRef != nil {
		return wrong(value, "a URI reference")
	}
	s.Ref = ref
	return nil
}

func toString(value any) (string, *schemaError) {
	text, ok := value.(string)
	if !ok {
		return "", wrong(value, "a string")
	}
	return text, nil
}

func toBool(value any) (bool, *schemaError) {
	b, ok := value.(bool)
	if !ok {
		return false, wrong(value, "true or false, unquoted")
	}
	return b, nil
}

func toInt(value any) (*int64, *schemaError) {
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

func toFloat(value any) (*float64, *schemaError) {
	switch value := value.(type) {
	case int64:
		f := float64(value) // the keyword is a float64 in every API type
		return &f, nil
	case float64:
		return &value, nil
	}
	return nil, wrong(value, "a number")
}

func toList(value any) ([]any, *schemaError) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(value, "a list")
	}
	return list, nil
}

func toStrings(value any) ([]string, *schemaError) {
	list, err := toList(value)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], err = toString(item); err != nil {
			err.steps = append(err.steps, i)
			return nil, err
		}
	}
	return texts, nil
}

func toType(value any) (spec.StringOrArray, *schemaError) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong(value, "one of object, array, string, integer, number, boolean")
	}
	if text == "" {
		return nil, nil
	}
	return spec.StringOrArray{text}, nil
}

func toSchemas(value any) ([]spec.Schema, *schemaError) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(value, "a list of schemas")
	}
	schemas := make([]spec.Schema, len(list))
	for i, item := range list {
		s, err := schemaOf(item)
		if err != nil {
			err.steps = append(err.steps, i)
			return nil, err
		}
		schemas[i] = *s
	}
	return schemas, nil
}

func toSchemaMap(value any) (map[string]spec.Schema, *schemaError) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object of schemas by name")
	}
	schemas := make(map[string]spec.Schema, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s, err := schemaOf(object[name])
		if err != nil {
			err.steps = append(err.steps, name)
			return nil, err
		}
		schemas[name] = *s
	}
	return schemas, nil
}

func toItems(value any) (*spec.SchemaOrArray, *schemaError) {
	if _, ok := value.([]any); ok {
		schemas, err := toSchemas(value)
		return &spec.SchemaOrArray{Schemas: schemas}, err
	}
	s, err := schemaOf(value)
	return &spec.SchemaOrArray{Schema: s}, err
}

func toSchemaOrBool(value any) (*spec.SchemaOrBool, *schemaError) {
	if allows, ok := value.(bool); ok {
		return &spec.SchemaOrBool{Allows: allows}, nil
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, wrong(value, "a schema, true or false")
	}
	s, err := schemaOf(value)
	return &spec.SchemaOrBool{Allows: true, Schema: s}, err
}

func toDependencies(value any) (spec.Dependencies, *schemaError) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object of schemas or lists of property names")
	}
	dependencies := make(spec.Dependencies, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var dependency spec.SchemaOrStringArray
		var err *schemaError
		if _, ok := object[name].([]any); ok {
			dependency.Property, err = toStrings(object[name])
		} else {
			dependency.Schema, err = schemaOf(object[name])
		}
		if err != nil {
			err.steps = append(err.steps, name)
			return nil, err
		}
		dependencies[name] = dependency
	}
	return dependencies, nil
}

func toExternalDocs(value any) (*spec.ExternalDocumentation, *schemaError) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object with description and url")
	}
	description, _ := object["description"].(string)
	url, _ := object["url"].(string)
	return &spec.ExternalDocumentation{Description: description, URL: url}, nil
}
