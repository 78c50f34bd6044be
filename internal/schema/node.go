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

// IsPassword reports whether the values of s, and all that is in them, are not shown. Nil s has none.
func IsPassword(s *spec.Schema) bool { return s != nil && s.Format == "password" }

// SaysLocked finds the words that authors of descriptions and of messages use for a field that may not change.
var SaysLocked = regexp.MustCompile(`(?i)\b(immutable|not mutable)\b|\b(can ?not|can't|may not|must not) be (changed|updated|modified)\b|` +
	`\bcan only be set (at|on|during|upon) creation\b`)

// Below returns the schema of the value one step below a value of s: step is the name of a member (string) or the index of
// an item (int). It returns nil where s is nil or says nothing about that value.
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

// Nodes yields s and the schemas below it, each with its schema path: those of properties, additionalProperties, items and
// allOf. Parents come before children, properties in the order of their names. $refs are not followed. Nil s yields nothing.
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
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if !nodes(&property, path+"/properties/"+pointer.Escape(name), yield) {
			return false
		}
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil && !nodes(ap.Schema, path+"/additionalProperties", yield) {
		return false
	}
	if s.Items != nil && s.Items.Schema != nil && !nodes(s.Items.Schema, path+"/items", yield) {
		return false
	}
	for i := range s.AllOf {
		if !nodes(&s.AllOf[i], path+"/allOf/"+strconv.Itoa(i), yield) {
			return false
		}
	}
	return true
}

// Edit returns s with changes made: by schema path, what changes the extensions of the node there. It copies only the nodes
// on the way to a change, and leaves s as it is. It returns the error of the first change that fails, in the order of
// Nodes, and an error for a path at which s has no node.
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
	out := *s
	if change, ok := e.changes[path]; ok && e.err == nil {
		e.made[path] = true
		if out.Extensions = maps.Clone(s.Extensions); out.Extensions == nil {
			out.Extensions = spec.Extensions{}
		}
		if err := change(out.Extensions); err != nil {
			e.err = fmt.Errorf("schema path %q: %w", path, err)
		}
	}
	if e.touched[path+"/properties"] {
		out.Properties = maps.Clone(s.Properties)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name]
			out.Properties[name] = *e.edited(&property, path+"/properties/"+pointer.Escape(name))
		}
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: ap.Allows, Schema: e.edited(ap.Schema, path+"/additionalProperties")}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &spec.SchemaOrArray{Schema: e.edited(s.Items.Schema, path+"/items")}
	}
	out.AllOf = slices.Clone(s.AllOf)
	for i := range out.AllOf {
		out.AllOf[i] = *e.edited(&s.AllOf[i], path+"/allOf/"+strconv.Itoa(i))
	}
	return &out
}
