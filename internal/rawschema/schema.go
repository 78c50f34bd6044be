// Package rawschema finds the nodes of OpenAPI schemas as they are decoded from a document, before any type drops the
// keys that it does not know, and reads and writes the annotation that carries fieldlock's keys through an API server.
package rawschema

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Schema makes a schema of a decoded one. It keeps every key: keywords go to their fields, x- keys to Extensions in the
// letter case that they have, others to ExtraProps. The values of default, enum, example and of x- keys stay as
// decoded, shared with value, so that integers stay exact; the JSON decoding of spec.Schema makes them float64. The
// error names a keyword whose value has the wrong form.
func Schema(value any) (*spec.Schema, *Error) { return (&Shared{}).Schema(value) }

// Shared makes schemas of decoded ones, as Schema does. Properties that several schemas have in common, as one value,
// are one in these too. Nobody may change the schemas or the values. The zero value is ready to use; it is not safe for
// concurrent use.
type Shared struct {
	properties map[uintptr]properties // by the address of the value
}

// properties are schemas by name, with the value that they were made of, which keeps its address.
type properties struct {
	value   map[string]any
	schemas map[string]spec.Schema
}

// Schema makes a schema of a decoded one.
func (c *Shared) Schema(value any) (*spec.Schema, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &Error{Message: fmt.Sprintf("it is %s; a schema is an object", yamldoc.Describe(value))}
	}
	s := new(spec.Schema)
	// Sorted, so that of two mistakes the same one is reported every time.
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := c.setKeyword(s, key, object[key]); err != nil {
			err.Steps = append(err.Steps, key)
			return nil, err
		}
	}
	return s, nil
}

// setKeyword sets one keyword of s.
func (c *Shared) setKeyword(s *spec.Schema, key string, value any) *Error {
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
		return set(field, value, c.Schema)
	case *[]spec.Schema:
		return set(field, value, c.toSchemas)
	case *map[string]spec.Schema:
		return set(field, value, c.toSchemaMap)
	case *spec.Definitions:
		return set((*map[string]spec.Schema)(field), value, c.toSchemaMap)
	case **spec.SchemaOrArray:
		return set(field, value, c.toItems)
	case **spec.SchemaOrBool:
		return set(field, value, c.toSchemaOrBool)
	case *spec.Dependencies:
		return set(field, value, c.toDependencies)
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

func (c *Shared) toSchemas(value any) ([]spec.Schema, *Error) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(value, "a list of schemas")
	}
	schemas := make([]spec.Schema, len(list))
	for i, item := range list {
		s, err := c.Schema(item)
		if err != nil {
			err.Steps = append(err.Steps, i)
			return nil, err
		}
		schemas[i] = *s
	}
	return schemas, nil
}

func (c *Shared) toSchemaMap(value any) (map[string]spec.Schema, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object of schemas by name")
	}
	at := reflect.ValueOf(object).Pointer()
	if known, ok := c.properties[at]; ok {
		return known.schemas, nil
	}
	schemas := make(map[string]spec.Schema, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s, err := c.Schema(object[name])
		if err != nil {
			err.Steps = append(err.Steps, name)
			return nil, err
		}
		schemas[name] = *s
	}
	if c.properties == nil {
		c.properties = map[uintptr]properties{}
	}
	c.properties[at] = properties{object, schemas}
	return schemas, nil
}

func (c *Shared) toItems(value any) (*spec.SchemaOrArray, *Error) {
	if _, ok := value.([]any); ok {
		schemas, err := c.toSchemas(value)
		return &spec.SchemaOrArray{Schemas: schemas}, err
	}
	s, err := c.Schema(value)
	return &spec.SchemaOrArray{Schema: s}, err
}

func (c *Shared) toSchemaOrBool(value any) (*spec.SchemaOrBool, *Error) {
	if allows, ok := value.(bool); ok {
		return &spec.SchemaOrBool{Allows: allows}, nil
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, wrong(value, "a schema, true or false")
	}
	s, err := c.Schema(value)
	return &spec.SchemaOrBool{Allows: true, Schema: s}, err
}

func (c *Shared) toDependencies(value any) (spec.Dependencies, *Error) {
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
			dependency.Schema, err = c.Schema(object[name])
		}
		if err != nil {
			err.Steps = append(err.Steps, name)
			return nil, err
		}
		dependencies[name] = dependency
	}
	return dependencies, nil
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

func toExternalDocs(value any) (*spec.ExternalDocumentation, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object with description and url")
	}
	description, _ := object["description"].(string)
	url, _ := object["url"].(string)
	return &spec.ExternalDocumentation{Description: description, URL: url}, nil
}

// Error is a mistake in a schema.
type Error struct {
	Steps   []any // from the mistake out to the schema that was read
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// wrong is the error for a value that is not what a keyword takes.
func wrong(value any, right string) *Error {
	return &Error{Message: fmt.Sprintf("it is %s; it must be %s", yamldoc.Describe(value), right)}
}

// The keywords of a schema that hold other schemas.
var (
	holdsSchema  = [...]string{"additionalProperties", "items", "not", "additionalItems"}
	holdsSchemas = [...]string{"properties", "patternProperties", "definitions", "dependencies"} // by name
	holdsList    = [...]string{"allOf", "anyOf", "oneOf", "items"}
)

// Walk calls visit for schema and every schema below it, parents first and in a fixed order, each with its schema path:
// a JSON pointer such as "/properties/spec/properties/class", "" for schema itself. What is not a schema is skipped.
func Walk(schema map[string]any, visit func(path string, node map[string]any)) {
	walk(schema, "", visit)
}

func walk(value any, path string, visit func(path string, node map[string]any)) {
	node, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(path, node)
	for _, keyword := range slices.Sorted(maps.Keys(node)) {
		below := path + "/" + pointer.Escape(keyword)
		switch held := node[keyword].(type) {
		case map[string]any:
			if slices.Contains(holdsSchema[:], keyword) {
				walk(held, below, visit)
			} else if slices.Contains(holdsSchemas[:], keyword) {
				for _, name := range slices.Sorted(maps.Keys(held)) {
					walk(held[name], below+"/"+pointer.Escape(name), visit)
				}
			}
		case []any:
			for i, item := range held {
				if slices.Contains(holdsList[:], keyword) {
					walk(item, below+"/"+strconv.Itoa(i), visit)
				}
			}
		}
	}
}

// Node returns the schema at a schema path. If there is none it returns nil, and the longest part of the path that
// leads to a schema.
func Node(schema map[string]any, path string) (node map[string]any, nearest string) {
	node = schema
	for names := pointer.Names(path); len(names) > 0; {
		next, n := child(node, names)
		if next == nil {
			return nil, nearest
		}
		for _, name := range names[:n] {
			nearest += "/" + pointer.Escape(name)
		}
		node, names = next, names[n:]
	}
	return node, path
}

// child returns the schema one step below node, and how many names of a schema path lead to it.
func child(node map[string]any, names []string) (map[string]any, int) {
	keyword := names[0]
	held := node[keyword]
	if below, ok := held.(map[string]any); ok && slices.Contains(holdsSchema[:], keyword) {
		return below, 1
	}
	if len(names) < 2 {
		return nil, 0
	}
	switch held := held.(type) {
	case map[string]any:
		if below, ok := held[names[1]].(map[string]any); ok && slices.Contains(holdsSchemas[:], keyword) {
			return below, 2
		}
	case []any:
		if i, err := strconv.Atoi(names[1]); err == nil && i >= 0 && i < len(held) &&
			slices.Contains(holdsList[:], keyword) {
			below, _ := held[i].(map[string]any)
			return below, 2
		}
	}
	return nil, 0
}

// NotStructural returns the schema path of the first node that a structural schema cannot have, and why; "" when
// there is none.
func NotStructural(raw map[string]any) (at, why string) {
	Walk(raw, func(path string, node map[string]any) {
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
