// Package schema reads OpenAPI schemas for everything in fieldlock that asks what a schema locks.
//
// [Read] turns a schema into a [Tree] of locations: the root, its properties, the values of maps and the items of
// lists. It follows $refs by one rule ([RefOf]), reads the marks of each location ([ReadMarks]), and finds locks in
// parts of the schema that no update is compared along. A location that is reached through several $refs appears once
// for each, and what is below the definition once for all of them, so that recursive schemas end.
//
// One table ([Locks]) says for each lock which key sets it, which changes it refuses and where it is allowed.
//
// Paths come in two forms: [Path.String] is for people, "spec.nodes[*].zone", and [Path.Pointer] is the JSON pointer of
// the schema node, "/properties/spec/properties/nodes/items/properties/zone".
package schema

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// SaysLocked finds the words that authors of descriptions and of messages use for a field that may not change.
var SaysLocked = regexp.MustCompile(`(?i)\b(immutable|not mutable)\b|\b(can ?not|can't|may not|must not) be (changed|updated|modified)\b|` +
	`\bcan only be set (at|on|during|upon) creation\b`)

// Below returns the schema of the value one step below a value of s: step is the name of a member (string) or the index
// of an item (int). It returns nil where s is nil or says nothing about that value.
func Below(s *spec.Schema, step any) *spec.Schema {
	name, isName := step.(string)
	switch {
	case s == nil:
		return nil
	case !isName && s.Items != nil:
		return s.Items.Schema
	case !isName:
		return nil
	}
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// Nodes yields s and the schemas below it, each with its schema path: those of properties, additionalProperties, items
// and allOf. Parents come before children, properties in the order of their names. $refs are not followed. Nil s yields
// nothing.
func Nodes(s *spec.Schema) iter.Seq2[string, *spec.Schema] {
	return func(yield func(string, *spec.Schema) bool) {
		if s != nil {
			nodes(s, "", yield)
		}
	}
}

func nodes(s *spec.Schema, path string, yield func(string, *spec.Schema) bool) bool {
	if !yield(path, s) {
		return false
	}
	for p := range parts(s) {
		if p.isNode() && !nodes(p.schema, p.pointer(path), yield) {
			return false
		}
	}
	return true
}

// part is a schema directly below another one.
type part struct {
	role    Role
	keyword string
	single  bool   // the keyword has one schema
	name    string // of a property or dependency, or the index in a list
	schema  *spec.Schema
	replace func(by *spec.Schema) // in a copy made by copyOf
}

// isNode reports whether p is one of those that Nodes yields.
func (p *part) isNode() bool { return p.role != keyword || p.keyword == "allOf" }

// pointer returns the schema path of p below a schema at path.
func (p *part) pointer(path string) string {
	if p.single {
		return path + "/" + p.keyword
	}
	return path + "/" + p.keyword + "/" + pointer.Escape(p.name)
}

// parts yields the schemas directly below s: first those that describe values, then those in keywords that only
// validate, and definitions. Properties are in the order of their names. $refs are not followed.
func parts(s *spec.Schema) iter.Seq[part] {
	return func(yield func(part) bool) {
		named := func(role Role, keyword string, schemas map[string]spec.Schema) bool {
			for _, name := range slices.Sorted(maps.Keys(schemas)) {
				p := schemas[name]
				if !yield(part{role, keyword, false, name, &p, func(by *spec.Schema) { schemas[name] = *by }}) {
					return false
				}
			}
			return true
		}
		list := func(in string, schemas []spec.Schema) bool {
			for i := range schemas {
				if !yield(part{keyword, in, false, strconv.Itoa(i), &schemas[i],
					func(by *spec.Schema) { schemas[i] = *by }}) {
					return false
				}
			}
			return true
		}
		one := func(role Role, keyword string, s **spec.Schema) bool {
			return *s == nil || yield(part{role, keyword, true, "", *s, func(by *spec.Schema) { *s = by }})
		}
		orBool := func(role Role, keyword string, s *spec.SchemaOrBool) bool {
			return s == nil || one(role, keyword, &s.Schema)
		}
		items := s.Items
		if items == nil {
			items = &spec.SchemaOrArray{}
		}
		dependencies := func() bool {
			for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
				replace := func(by *spec.Schema) { s.Dependencies[name] = spec.SchemaOrStringArray{Schema: by} }
				if d := s.Dependencies[name].Schema; d != nil &&
					!yield(part{keyword, "dependencies", false, name, d, replace}) {
					return false
				}
			}
			return true
		}
		_ = named(Property, "properties", s.Properties) &&
			orBool(Values, "additionalProperties", s.AdditionalProperties) &&
			one(Items, "items", &items.Schema) && list("allOf", s.AllOf) && list("anyOf", s.AnyOf) &&
			list("oneOf", s.OneOf) &&
			one(keyword, "not", &s.Not) && named(keyword, "patternProperties", s.PatternProperties) && dependencies() &&
			orBool(keyword, "additionalItems", s.AdditionalItems) && list("items", items.Schemas) &&
			named(keyword, "definitions", s.Definitions)
	}
}

// copyOf copies s and all that holds its parts, so that they can be replaced.
func copyOf(s *spec.Schema) *spec.Schema {
	out := *s
	out.Properties, out.PatternProperties = maps.Clone(s.Properties), maps.Clone(s.PatternProperties)
	out.Dependencies, out.Definitions = maps.Clone(s.Dependencies), maps.Clone(s.Definitions)
	out.AllOf, out.AnyOf, out.OneOf = slices.Clone(s.AllOf), slices.Clone(s.AnyOf), slices.Clone(s.OneOf)
	out.AdditionalProperties, out.AdditionalItems = cloned(s.AdditionalProperties), cloned(s.AdditionalItems)
	if out.Items = cloned(s.Items); out.Items != nil {
		out.Items.Schemas = slices.Clone(s.Items.Schemas)
	}
	return &out
}

func cloned[T any](v *T) *T {
	if v == nil {
		return nil
	}
	out := *v
	return &out
}

// HasMapList reports whether s is or contains a list of list-type map.
func HasMapList(s *spec.Schema) bool {
	for _, node := range Nodes(s) {
		if node.Extensions[KeyListType] == ListMap {
			return true
		}
	}
	return false
}

// Edit returns s with changes made: by schema path, what changes the extensions of the node there. It copies only the
// nodes on the way to a change, and leaves s as it is. It returns the error of the first change that fails, in the
// order of Nodes, and an error for a path at which s has no node.
func Edit(s *spec.Schema, changes map[string]func(spec.Extensions) error) (*spec.Schema, error) {
	e := &editor{changes: changes, touched: map[string]bool{}, made: map[string]bool{}}
	for path := range changes {
		for ; !e.touched[path]; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
			e.touched[path] = true
		}
	}
	out := e.edited(s, "")
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if !e.made[path] && e.err == nil {
			e.err = fmt.Errorf("schema path %q: the schema has no such node", path)
		}
	}
	return out, e.err
}

type editor struct {
	changes map[string]func(spec.Extensions) error
	touched map[string]bool // schema paths with a change at or below them
	made    map[string]bool
	err     error
}

func (e *editor) edited(s *spec.Schema, path string) *spec.Schema {
	if !e.touched[path] {
		return s
	}
	out := copyOf(s)
	if change, ok := e.changes[path]; ok && e.err == nil {
		e.made[path] = true
		if out.Extensions = maps.Clone(s.Extensions); out.Extensions == nil {
			out.Extensions = spec.Extensions{}
		}
		if err := change(out.Extensions); err != nil {
			e.err = fmt.Errorf("schema path %q: %w", path, err)
		}
	}
	for p := range parts(out) {
		if p.isNode() {
			p.replace(e.edited(p.schema, p.pointer(path)))
		}
	}
	return out
}
