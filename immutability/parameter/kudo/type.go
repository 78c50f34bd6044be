package kudo

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// Type is the type of a parameter. Every value is a text; the type says which texts are allowed:
//
//   - "string", and the empty type: any.
//   - "boolean", "integer" and "number": what strconv.ParseBool, ParseInt and ParseFloat accept.
//   - "array" and "map": a list or a mapping in YAML or JSON, or null.
type Type string

// The types.
const (
	TypeString  Type = "string"
	TypeBoolean Type = "boolean"
	TypeInteger Type = "integer"
	TypeNumber  Type = "number"
	TypeArray   Type = "array"
	TypeMap     Type = "map"
)

const typesAre = "the types are string, boolean, integer, number, array and map"

var types = []Type{"", TypeString, TypeBoolean, TypeInteger, TypeNumber, TypeArray, TypeMap}

func (t Type) check(value parameter.Value) string {
	_, list := value.Data.([]any)
	_, mapping := value.Data.(map[string]any)
	switch {
	case list && t != TypeArray:
		return fmt.Sprintf("its type is %s and the value is a list", t.name())
	case mapping && t != TypeMap:
		return fmt.Sprintf("its type is %s and the value is a map", t.name())
	case list || mapping:
		return ""
	}
	ok, want := true, ""
	switch t {
	case TypeBoolean:
		_, err := strconv.ParseBool(value.Text)
		ok, want = err == nil, "true or false"
	case TypeInteger:
		_, err := strconv.ParseInt(value.Text, 10, 64)
		ok, want = err == nil, "a whole number of 64 bits"
	case TypeNumber:
		_, err := strconv.ParseFloat(value.Text, 64)
		ok, want = err == nil, "a number"
	case TypeArray:
		ok, want = holds(value.Text, yaml.SequenceNode), "a list in YAML"
	case TypeMap:
		ok, want = holds(value.Text, yaml.MappingNode), "a mapping in YAML"
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("its type is %s, which is %s", t, want)
}

func (t Type) name() Type {
	if t == "" {
		return TypeString
	}
	return t
}

// holds reports whether text is one YAML document of the given kind. KUDO reads null as an empty list or map.
func holds(text string, kind yaml.Kind) bool {
	root, err := document.Load([]byte(text))
	return err == nil && (root == nil || root.Kind == kind)
}
