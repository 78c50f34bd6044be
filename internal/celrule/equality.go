package celrule

import (
	"maps"
	"slices"

	"k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// exactInteger bounds the integers that all have a float64 of their own.
const exactInteger = 1 << 53

// unequal returns why CEL's == on values of s can differ from the equality of a lock that ignores the order of keyed
// lists, or "" when the two agree on all valid values. Cost: O(size of s).
func unequal(s *spec.Schema) string {
	switch {
	case s.Ref.String() != "":
		return "the schema is a $ref"
	case s.Extensions[schema.KeyEmbedded] == true:
		return "in an embedded resource CEL compares unknown keys only where both sides have them"
	case isIntOrString(s):
		return ""
	case preservesUnknown(s):
		return "under x-kubernetes-preserve-unknown-fields CEL compares unknown keys only where both sides have them"
	case len(s.Type) != 1:
		return "the schema has no single type"
	}
	switch s.Type[0] {
	case "object":
		return unequalObject(s)
	case "array":
		return unequalArray(s)
	case "string":
		switch s.Format { // a date has one spelling
		case "date-time", "duration", "byte":
			return "CEL compares format " + s.Format + " by value, a lock as written"
		}
		return ""
	case "integer", "boolean":
		return ""
	case "number":
		if s.Minimum != nil && s.Maximum != nil && *s.Minimum >= -exactInteger && *s.Maximum <= exactInteger {
			return ""
		}
		return "CEL rounds whole numbers beyond 2^53 in a field of type number; give it minimum and maximum"
	}
	return "the type " + s.Type[0] + " is not one that CEL compares"
}

func unequalObject(s *spec.Schema) string {
	ap := s.AdditionalProperties
	if ap != nil && ap.Schema == nil && ap.Allows {
		return "with additionalProperties: true CEL compares keys only where both sides have them"
	}
	if ap != nil && ap.Schema != nil {
		if len(s.Properties) > 0 {
			return "the schema has properties and additionalProperties"
		}
		if reason := unequal(ap.Schema); reason != "" {
			return reason
		}
		return nullInside(ap.Schema)
	}
	optional, optionalNull := 0, ""
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if plain, ok := cel.Unescape(name); !ok || plain != name {
			return "CEL skips the property " + name + ", whose name reads as an escape, when it compares"
		}
		if !slices.Contains(s.Required, name) && (property.Default == nil || property.Nullable) {
			optional++
			if property.Nullable {
				optionalNull = name
			}
		}
		if reason := unequal(&property); reason != "" {
			return reason
		}
	}
	if optionalNull != "" && optional > 1 {
		return "with the optional nullable property " + optionalNull + " CEL takes null for absent, but counts it"
	}
	return ""
}

func unequalArray(s *spec.Schema) string {
	if s.Items == nil || s.Items.Schema == nil {
		return "the list has no single schema for its items"
	}
	items := s.Items.Schema
	if reason := unequal(items); reason != "" {
		return reason
	}
	switch s.Extensions[schema.KeyListType] {
	case schema.ListSet:
		if items.Nullable || !isIntOrString(items) && !items.Type.Contains("string") &&
			!items.Type.Contains("integer") && !items.Type.Contains("boolean") {
			return "CEL compares sets of strings, integers and booleans only"
		}
		if items.Format == "date" {
			return "CEL does not compare sets of dates" // it looks for a time in a table of texts
		}
		return ""
	case schema.ListMap:
		return unequalKeys(s)
	}
	return nullInside(items)
}

// unequalKeys returns why CEL cannot compare the keyed list s, whose items it compares.
func unequalKeys(s *spec.Schema) string {
	if reason := keysUnseen(s); reason != "" {
		return reason
	}
	return nullInside(s.Items.Schema)
}

// keysUnseen returns why CEL does not find the items of the keyed list s by their keys.
func keysUnseen(s *spec.Schema) string {
	if reason := keysApart(s); reason != "" {
		return reason
	}
	keys := mapKeysOf(s)
	if len(keys) > 3 {
		return "CEL joins the values of more than three list-map keys to one string"
	}
	for _, key := range keys {
		if escaped, ok := cel.Escape(key); ok && escaped != key {
			return "CEL does not see the list-map key " + key + " when it compares, because it escapes the name"
		}
	}
	return ""
}

// keysApart returns why CEL and a lock compare the keys of the keyed list s differently, "" if they do not.
func keysApart(s *spec.Schema) string {
	keys := mapKeysOf(s)
	if len(keys) == 0 || s.Items == nil || s.Items.Schema == nil {
		return "the list has no keys"
	}
	items := s.Items.Schema
	for _, key := range keys {
		field, ok := items.Properties[key]
		if !ok {
			return "the list's key " + key + " is missing from its items"
		}
		if !slices.Contains(items.Required, key) && field.Default == nil {
			return "the list's key " + key + " is neither required nor defaulted"
		}
		switch {
		case field.Nullable:
			return "the list's key " + key + " is nullable"
		case isIntOrString(&field), field.Type.Contains("string"), field.Type.Contains("integer"),
			field.Type.Contains("boolean"):
		default:
			return "the list's key " + key + " has a type whose values CEL tells apart by their spelling"
		}
	}
	return ""
}

func mapKeysOf(s *spec.Schema) []string {
	marks, _ := schema.ReadMarks(s.Extensions)
	return marks.ListMapKeys
}

// nullInside returns why CEL's == can be an error on a list or map with values of s, because one of them is null; "" if
// it cannot.
func nullInside(s *spec.Schema) string {
	if s.Nullable && (s.Type.Contains("object") || s.Type.Contains("array")) {
		return "CEL cannot compare null with an object or list inside a list or map"
	}
	return ""
}

// normalized reports whether s or a schema below it has x-kubernetes-normalize, which changes what a lock takes for
// equal.
func normalized(s *spec.Schema) bool {
	return anywhere(s, func(s *spec.Schema) bool { return s.Extensions[schema.KeyNormalize] != nil })
}

// normalizedBelow reports whether a schema below s has x-kubernetes-normalize.
func normalizedBelow(s *spec.Schema) bool {
	for path, node := range schema.Nodes(s) {
		if path != "" && node.Extensions[schema.KeyNormalize] != nil {
			return true
		}
	}
	return false
}

// normalizedAround reports whether a lock at l compares in another way than CEL because of x-kubernetes-normalize at l,
// below it, or above it, where a container counts as absent and the locks in it do not apply.
func normalizedAround(l *schema.Location) bool {
	for up := l.Parent(); up != nil; up = up.Parent() {
		if up.Marks.Normalize != "" {
			return true
		}
	}
	return normalized(l.Schema)
}

// anywhere reports whether s or a schema below it satisfies is.
func anywhere(s *spec.Schema, is func(*spec.Schema) bool) bool {
	for _, node := range schema.Nodes(s) {
		if is(node) {
			return true
		}
	}
	return false
}

func isIntOrString(s *spec.Schema) bool { return s.Extensions[schema.KeyIntOrString] == true }

func preservesUnknown(s *spec.Schema) bool { return s.Extensions[schema.KeyPreserveUnknown] == true }

// keyKind tells what counts as the keys of a value.
type keyKind int

const (
	noKeys   keyKind = iota
	mapKeys          // the keys of additionalProperties
	setItems         // the items of a set
	listKeys         // the keys of a keyed list
)

// keysOf returns the kind of keys that values at l have, noKeys if CEL and a lock do not compare them alike.
func keysOf(l *schema.Location) keyKind {
	s := l.Schema
	switch {
	case s.Type.Contains("object") && l.Values != nil && len(l.Properties) == 0 && !preservesUnknown(s):
		return mapKeys
	case s.Type.Contains("array") && l.Items != nil && l.Marks.ListType == schema.ListSet && unequal(s) == "":
		return setItems
	case s.Type.Contains("array") && l.Items != nil && l.Marks.ListType == schema.ListMap &&
		keysApart(s) == "" && plainKeys(l):
		return listKeys
	}
	return noKeys
}

// plainKeys reports whether CEL's == on the list-map keys of l means what a lock's equality means.
func plainKeys(l *schema.Location) bool {
	return !slices.ContainsFunc(l.Marks.ListMapKeys, func(key string) bool {
		return unequal(l.Items.Property(key).Schema) != ""
	})
}
