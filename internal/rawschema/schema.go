package rawschema

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Error is a mistake in a schema.
type Error struct {
	Steps   []any // from the mistake out to the schema that was read
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Schema makes a schema of a decoded one. It keeps every key: keywords go to their fields, x- keys to Extensions in the
// letter case that they have, others to ExtraProps. The values of default, enum, example and of x- keys stay as decoded,
// shared with value, so that integers stay exact; the JSON decoding of spec.Schema makes them float64. The error names a
// keyword whose value has the wrong form.
func Schema(value any) (*spec.Schema, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &Error{Message: fmt.Sprintf("it is %s; a schema is an object", yamldoc.Describe(value))}
	}
	s := new(spec.Schema)
	// Sorted, so that of two mistakes the same one is reported every time.
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := setKeyword(s, key, object[key]); err != nil {
			err.Steps = append(err.Steps, key)
			return nil, err
		}
	}
	return s, nil
}

// setKeyword sets one keyword of s.
func setKeyword(s *spec.Schema, key string, value any) *Error {
	switch {
	case isExtension(key):
		if s.Extensions == nil {
			s.Extensions = make(spec.Extensions)
		}
		s.Extensions[key] = value
		return nil
	case key == "default":
		s.Default = value
		return nil
	case key == "example":
		s.Example = value
		return nil
	case value == nil:
		// The API server's decoder takes null for a keyword that is not there.
		return nil
	}
	switch field := fieldOf(s, key).(type) {
	case *string:
		return set(field, value, toString)
	case *bool:
		return set(field, value, toBool)
	case **int64:
		return set(field, value, toInt)
	case **float64:
		return set(field, value, toFloat)
	case *spec.StringOrArray:
		return set(field, value, toType)
	case *[]any:
		return set(field, value, toList)
	case *[]string:
		return set(field, value, toStrings)
	case *spec.Ref:
		return set(field, value, toRef)
	case **spec.Schema:
		return set(field, value, Schema)
	case *[]spec.Schema:
		return set(field, value, toSchemas)
	case *map[string]spec.Schema:
		return set(field, value, toSchemaMap)
	case **spec.SchemaOrArray:
		return set(field, value, toItems)
	case **spec.SchemaOrBool:
		return set(field, value, toSchemaOrBool)
	case *spec.Dependencies:
		return set(field, value, toDependencies)
	case **spec.ExternalDocumentation:
		return set(field, value, toExternalDocs)
	}
	if s.ExtraProps == nil {
		s.ExtraProps = make(map[string]any)
	}
	s.ExtraProps[key] = value
	return nil
}

// set stores what read makes of value.
func set[T any](field *T, value any, read func(any) (T, *Error)) *Error {
	v, err := read(value)
	if err == nil {
		*field = v
	}
	return err
}

// isExtension reports whether key is an x- key, in either letter case, as kube-openapi has it.
func isExtension(key string) bool {
	return len(key) > 1 && (key[0] == 'x' || key[0] == 'X') && key[1] == '-'
}

// fieldOf returns the field of s for a keyword, nil for a key that has none. One case for each keyword makes it long.
func fieldOf(s *spec.Schema, key string) any {
	switch key {
	case "id":
		return &s.ID
	case "$schema":
		return (*string)(&s.Schema)
	case "$ref":
		return &s.Ref
	case "description":
		return &s.Description
	case "type":
		return &s.Type
	case "nullable":
		return &s.Nullable
	case "format":
		return &s.Format
	case "title":
		return &s.Title
	case "maximum":
		return &s.Maximum
	case "exclusiveMaximum":
		return &s.ExclusiveMaximum
	case "minimum":
		return &s.Minimum
	case "exclusiveMinimum":
		return &s.ExclusiveMinimum
	case "maxLength":
		return &s.MaxLength
	case "minLength":
		return &s.MinLength
	case "pattern":
		return &s.Pattern
	case "maxItems":
		return &s.MaxItems
	case "minItems":
		return &s.MinItems
	case "uniqueItems":
		return &s.UniqueItems
	case "multipleOf":
		return &s.MultipleOf
	case "enum":
		return &s.Enum
	case "maxProperties":
		return &s.MaxProperties
	case "minProperties":
		return &s.MinProperties
	case "required":
		return &s.Required
	case "items":
		return &s.Items
	case "allOf":
		return &s.AllOf
	case "oneOf":
		return &s.OneOf
	case "anyOf":
		return &s.AnyOf
	case "not":
		return &s.Not
	case "properties":
		return &s.Properties
	case "additionalProperties":
		return &s.AdditionalProperties
	case "patternProperties":
		return &s.PatternProperties
	case "dependencies":
		return &s.Dependencies
	case "additionalItems":
		return &s.AdditionalItems
	case "definitions":
		return (*map[string]spec.Schema)(&s.Definitions)
	case "externalDocs":
		return &s.ExternalDocs
	}
	return nil
}
