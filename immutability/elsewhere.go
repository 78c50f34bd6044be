package immutability

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// elsewhereSearch finds locks below the keywords of a schema that name no location of an object: allOf and the like,
// tuples, patterns. They would never be checked, so that a schema with one is refused.
type elsewhereSearch struct {
	r     *reader
	seen  map[string]bool // by $ref, so that recursive schemas end
	found []elsewhere
}

func (r *reader) search() *elsewhereSearch {
	return &elsewhereSearch{r: r, seen: map[string]bool{}}
}

// keywords searches the parts of s that are no locations.
func (e *elsewhereSearch) keywords(s *spec.Schema, path string) {
	e.list("allOf", s.AllOf, path)
	e.list("anyOf", s.AnyOf, path)
	e.list("oneOf", s.OneOf, path)
	if s.Not != nil {
		e.schema("not", s.Not, path+"/not")
	}
	for _, name := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		p := s.PatternProperties[name]
		e.schema("patternProperties", &p, path+"/patternProperties/"+pointer.Escape(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		if p := s.Dependencies[name].Schema; p != nil {
			e.schema("dependencies", p, path+"/dependencies/"+pointer.Escape(name))
		}
	}
	if s.AdditionalItems != nil && s.AdditionalItems.Schema != nil {
		e.schema("additionalItems", s.AdditionalItems.Schema, path+"/additionalItems")
	}
	if s.Items != nil {
		for i := range s.Items.Schemas {
			e.schema("a list of items schemas", &s.Items.Schemas[i], fmt.Sprintf("%s/items/%d", path, i))
		}
	}
}

func (e *elsewhereSearch) list(keyword string, list []spec.Schema, path string) {
	for i := range list {
		e.schema(keyword, &list[i], fmt.Sprintf("%s/%s/%d", path, keyword, i))
	}
}

// schema searches s, which stands below keyword, and everything below it.
func (e *elsewhereSearch) schema(keyword string, s *spec.Schema, path string) {
	if extension.HasLock(s.Extensions) {
		e.found = append(e.found, elsewhere{path, keyword})
		return
	}
	if ref := s.Ref.String(); ref != "" && !e.seen[ref] {
		e.seen[ref] = true
		if target, err := e.r.resolve(ref); err == nil && target != nil {
			e.schema(keyword, target, path)
		}
	}
	e.below(keyword, s, path)
}

// besideRef is how findings name what stands beside a $ref.
const besideRef = "a schema with $ref"

// beside returns the locks below what stands beside the $ref of s: its target hides them.
func (r *reader) beside(s *spec.Schema) []elsewhere {
	e := r.search()
	rest := *s
	if s.Ref.String() == "" { // the $ref stands in allOf
		ref := s.AllOf[0]
		if rest.AllOf = nil; extension.HasLock(ref.Extensions) {
			e.found = append(e.found, elsewhere{"/allOf/0", "allOf"})
		}
		e.below(besideRef, &ref, "/allOf/0")
	}
	e.below(besideRef, &rest, "")
	return e.found
}

// below searches everything below s, which stands below keyword.
func (e *elsewhereSearch) below(keyword string, s *spec.Schema, path string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		e.schema(keyword, &p, path+"/properties/"+pointer.Escape(name))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		e.schema(keyword, s.AdditionalProperties.Schema, path+"/additionalProperties")
	}
	if s.Items != nil && s.Items.Schema != nil {
		e.schema(keyword, s.Items.Schema, path+"/items")
	}
	nested := elsewhereSearch{r: e.r, seen: e.seen}
	nested.keywords(s, path)
	e.found = append(e.found, nested.found...)
}
