package parameter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Type is the type of a KUDO parameter. Values are text whatever the type: it says which texts are taken.
type Type string

// The types of KUDO parameters.
const (
	TypeString  Type = "string"
	TypeBoolean Type = "boolean" // what strconv.ParseBool takes
	TypeInteger Type = "integer" // what strconv.ParseInt takes
	TypeNumber  Type = "number"  // what strconv.ParseFloat takes
	TypeArray   Type = "array"   // a list in YAML or JSON
	TypeMap     Type = "map"     // a mapping in YAML or JSON
)

var types = []Type{TypeString, TypeBoolean, TypeInteger, TypeNumber, TypeArray, TypeMap}

// check reports why value is not of type t, "" when it is.
func (t Type) check(value Value) string {
	switch {
	case value.Kind == List && t != TypeArray, value.Kind == Map && t != TypeMap:
		return fmt.Sprintf("its type is %s and the value is a %s", t, value.Kind)
	case value.structured():
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

// holds reports whether text is one YAML document of the given kind.
func holds(text string, kind yaml.Kind) bool {
	root, err := load([]byte(text))
	return err == nil && root != nil && root.Kind == kind
}

// checkEnum reports why text is not one of enum, "" when it is or when there is no enum, which is nil.
func checkEnum(enum []string, text string) string {
	if enum == nil || slices.Contains(enum, text) {
		return ""
	}
	if len(enum) == 0 {
		return "its enum is empty, so that no value is allowed"
	}
	return "its enum allows " + strings.Join(quoted(enum), ", ")
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strconv.Quote(text)
	}
	return out
}
