package celrule

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// keyKind is what the keys of a value are.
type keyKind int

const (
	noKeys   keyKind = iota
	mapKeys          // the keys of additionalProperties
	setItems         // the items of a set
	listKeys         // the keys of a keyed list
)

// keysOf returns the kind of keys at l for which CEL and a lock agree.
func keysOf(l *schema.Location) keyKind {
	s := l.Schema
	switch {
	case s.Type.Contains("object") && l.Values != nil && len(l.Properties) == 0 && !preservesUnknown(s):
		return mapKeys
	case s.Type.Contains("array") && l.Items != nil && l.Marks.ListType == schema.ListSet && unequal(s) == "":
		return setItems
	case s.Type.Contains("array") && l.Items != nil && l.Marks.ListType == schema.ListMap && keysApart(s) == "" && plainKeys(l):
		return listKeys
	}
	return noKeys
}

// plainKeys reports whether CEL's == on the list-map keys of l means what a lock's equality means.
func plainKeys(l *schema.Location) bool {
	return !slices.ContainsFunc(l.Marks.ListMapKeys, func(key string) bool { return unequal(l.Items.Property(key).Schema) != "" })
}

// hasSize reports whether values of s have a size in CEL.
func hasSize(s *spec.Schema) bool {
	return s.Type.Contains("array") || s.Type.Contains("string") || s.Type.Contains("object") && len(s.Properties) == 0
}

// emptyAllowed reports whether a valid value of s can have the size 0.
func emptyAllowed(s *spec.Schema) bool {
	switch {
	case s.Type.Contains("array"):
		return s.MinItems == nil || *s.MinItems == 0
	case s.Type.Contains("string"):
		return admits(s, "")
	}
	return s.MinProperties == nil || *s.MinProperties == 0
}
