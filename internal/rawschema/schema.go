package rawschema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

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
	case *spec.Definitions:
		return set((*map[string]spec.Schema)(field), value, toSchemaMap)
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

// fieldOf returns the field of s for a keyword, nil for a key that has none.
func fieldOf(s *spec.Schema, key string) any {
	switch key {
	case "$schema":
		return (*string)(&s.Schema)
	case "$ref":
		return &s.Ref
	case "externalDocs":
		return &s.ExternalDocs
	}
	if i, ok := keywords[key]; ok {
		return reflect.ValueOf(&s.SchemaProps).Elem().Field(i).Addr().Interface()
	}
	return nil
}

// keywords are the fields of spec.SchemaProps by the names that they have in JSON.
var keywords = func() map[string]int {
	props := reflect.TypeFor[spec.SchemaProps]()
	fields := make(map[string]int, props.NumField())
	for i := range props.NumField() {
		if name, _, _ := strings.Cut(props.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = i
		}
	}
	return fields
}()

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
