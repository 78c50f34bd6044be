package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Unchecked is a lock or normalization in a part of the schema that validates but leads to no location of an object. It
// would never be applied, so a schema with one is refused.
type Unchecked struct {
	Path *Path
	// Keyword is what it is below: "allOf", "anyOf", "oneOf", "not", or another one that no update is compared along.
	Keyword string
	// Lock reports whether it is a lock, and not a normalization.
	Lock bool
}

// Combines reports whether the mark is in allOf, anyOf, oneOf or not.
func (u *Unchecked) Combines() bool {
	switch u.Keyword {
	case "allOf", "anyOf", "oneOf", "not":
		return true
	}
	return false
}

// nextToRef is the Keyword of a mark that the target of a $ref hides.
const nextToRef = "a schema with $ref"

// resolver resolves the $refs of one schema.
type resolver struct {
	resolve  Resolver
	searched map[string]bool // $refs that a search has followed
}

// search finds unchecked marks. It follows each $ref once in the whole schema: a definition that is used in many places
// is reported for the first one.
type search struct {
	*resolver
	found    []Unchecked
	problems []Problem
	inLock   bool // below a lock that was found, and stands for those below it
}

// hidden returns the marks below what is next to the $ref of s: its target hides them.
func (r *resolver) hidden(at *Path, s, wrapped *spec.Schema, problems []Problem) ([]Unchecked, []Problem) {
	e := search{resolver: r, problems: problems}
	rest := *s
	if wrapped != nil {
		rest.AllOf = nil
		inside := at.keyword("allOf/0")
		if HasLock(wrapped.Extensions) {
			e.found = append(e.found, Unchecked{inside, "allOf", true})
		}
		e.below(nextToRef, wrapped, inside)
	}
	e.below(nextToRef, &rest, at)
	return e.found, e.problems
}

// keywords searches the keywords of s that lead to no location.
func (e *search) keywords(s *spec.Schema, at *Path) {
	e.list("allOf", s.AllOf, at)
	e.list("anyOf", s.AnyOf, at)
	e.list("oneOf", s.OneOf, at)
	if s.Not != nil {
		e.schema("not", s.Not, at.keyword("not"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		p := s.PatternProperties[name]
		e.schema("patternProperties", &p, at.keyword("patternProperties/"+pointer.Escape(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		if p := s.Dependencies[name].Schema; p != nil {
			e.schema("dependencies", p, at.keyword("dependencies/"+pointer.Escape(name)))
		}
	}
	if s.AdditionalItems != nil && s.AdditionalItems.Schema != nil {
		e.schema("additionalItems", s.AdditionalItems.Schema, at.keyword("additionalItems"))
	}
	if s.Items != nil {
		for i := range s.Items.Schemas {
			e.schema("a list of items schemas", &s.Items.Schemas[i], at.keyword(fmt.Sprintf("items/%d", i)))
		}
	}
}

func (e *search) list(keyword string, list []spec.Schema, at *Path) {
	for i := range list {
		e.schema(keyword, &list[i], at.keyword(fmt.Sprintf("%s/%d", keyword, i)))
	}
}

// schema searches s, which is below keyword, and everything below it.
func (e *search) schema(keyword string, s *spec.Schema, at *Path) {
	if HasLock(s.Extensions) && !e.inLock {
		e.found = append(e.found, Unchecked{at, keyword, true})
		e.inLock = true
		defer func() { e.inLock = false }()
	}
	marks, problems := ReadMarks(s.Extensions)
	if marks.Normalize != "" {
		e.found = append(e.found, Unchecked{at, keyword, false})
	}
	for _, p := range problems {
		if strings.EqualFold(p.Key, KeyNormalize) {
			e.problems = append(e.problems, p)
		}
	}
	if ref := s.Ref.String(); ref != "" && !e.searched[ref] {
		e.searched[ref] = true
		target, err := e.resolve(ref)
		switch {
		case err != nil:
			e.problems = append(e.problems, unresolvable(ref, err))
		case target == nil:
			e.problems = append(e.problems, unresolvable(ref, fmt.Errorf("there is no such schema")))
		default:
			e.schema(keyword, target, at)
		}
	}
	e.below(keyword, s, at)
}

// below searches everything below s, which is below keyword.
func (e *search) below(keyword string, s *spec.Schema, at *Path) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		e.schema(keyword, &p, at.Property(name))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		e.schema(keyword, s.AdditionalProperties.Schema, at.Values())
	}
	if s.Items != nil && s.Items.Schema != nil {
		e.schema(keyword, s.Items.Schema, at.Items())
	}
	e.keywords(s, at)
}
