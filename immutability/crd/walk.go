package crd

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// walk calls visit for s and every schema below it, parents first and in a fixed order, each with its schema path: a
// JSON pointer from s, that path stands for the pointer of s itself. visit may change the node and reports whether it did.
func walk(s *spec.Schema, path string, visit func(path string, s *spec.Schema) (changed bool)) (changed bool) {
	changed = visit(path, s)
	in := func(s *spec.Schema, tokens ...string) bool {
		if s == nil {
			return false
		}
		path := path
		for _, token := range tokens {
			path += "/" + pointer.Escape(token)
		}
		below := walk(s, path, visit)
		changed = changed || below
		return below
	}
	inMap := func(keyword string, schemas map[string]spec.Schema) {
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			child := schemas[name]
			if in(&child, keyword, name) {
				schemas[name] = child
			}
		}
	}
	inList := func(keyword string, schemas []spec.Schema) {
		for i := range schemas {
			in(&schemas[i], keyword, strconv.Itoa(i))
		}
	}
	inMap("properties", s.Properties)
	if s.AdditionalProperties != nil {
		in(s.AdditionalProperties.Schema, "additionalProperties")
	}
	if s.Items != nil {
		in(s.Items.Schema, "items")
		inList("items", s.Items.Schemas)
	}
	inList("allOf", s.AllOf)
	inList("anyOf", s.AnyOf)
	inList("oneOf", s.OneOf)
	in(s.Not, "not")
	inMap("patternProperties", s.PatternProperties)
	if s.AdditionalItems != nil {
		in(s.AdditionalItems.Schema, "additionalItems")
	}
	inMap("definitions", s.Definitions)
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		in(s.Dependencies[name].Schema, "dependencies", name)
	}
	return changed
}
