package normalize

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Problem is a mark that cannot be applied: a user's mistake in a schema.
type Problem struct {
	SchemaPath string // JSON pointer in the schema
	Rule       string // kebab-case identifier
	Message    string // what was found and what would be right
}

// SchemaError holds every problem that Compile found, sorted by schema path.
type SchemaError struct {
	Problems []Problem
}

// Error implements error with one line per problem.
func (e *SchemaError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s: %s", shownPath(p.SchemaPath), p.Message)
	}
	return strings.Join(lines, "\n")
}

func shownPath(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// Resolver returns the schema that a $ref stands for.
type Resolver func(ref string) (*spec.Schema, error)

// Compile reads the marks of s and of everything below it, through properties, additionalProperties, items and, with
// resolve, $ref; a recursive $ref compiles once. It returns nil, which is Empty and normalizes to the input, where
// nothing is marked or s is nil. The error is a *SchemaError: a mark that is not on a property, a value that is not a
// mode, mode zero where the schema has no type, a $ref that cannot be resolved. A nil resolve resolves nothing.
// Cost: one visit per schema node.
func Compile(s *spec.Schema, resolve Resolver) (*Normalizer, error) {
	c := compiler{resolve: resolve, refs: map[string]*Normalizer{}}
	root := c.target(s, "", onRoot).below
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.SchemaPath, b.SchemaPath) })
		return nil, &SchemaError{slices.Compact(c.problems)}
	}
	c.prune()
	if !c.live[root] {
		return nil, nil
	}
	return root, nil
}

// position is where a schema stands in its parent.
type position string

const (
	onProperty position = "a property"
	onRoot     position = "the root"
	onItems    position = "the items of a list"
	onValues   position = "the values of a map"
	onPattern  position = "the values of patternProperties"
	onBranch   position = "a branch of allOf, anyOf, oneOf or not"
)

// target is what a schema says of the place where it stands, and the normalizer for what is below it.
type target struct {
	mode    string
	zero    blank // the zero value of the schema's type
	hasZero bool
	below   *Normalizer
}

type compiler struct {
	resolve  Resolver
	refs     map[string]*Normalizer
	nodes    []*Normalizer
	live     map[*Normalizer]bool
	problems []Problem
}

func (c *compiler) problem(path, rule, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, rule, fmt.Sprintf(format, args...)})
}

// target compiles the schema s at path, following $ref. What stands beside a $ref goes before what it refers to.
func (c *compiler) target(s *spec.Schema, path string, at position) target {
	var t target
	chain, ref := c.follow(s, path)
	for _, s := range chain {
		if mode := c.mode(s, path); t.mode == "" {
			t.mode = mode
		}
		if !t.hasZero {
			t.zero, t.hasZero = zeroOf(s)
		}
	}
	if t.mode != "" && at != onProperty {
		c.problem(path, rule.NormalizePosition, "%s stands on %s, which cannot be absent: it stands on properties", extension.Normalize, at)
	}
	if ref != "" && c.refs[ref] != nil {
		t.below = c.refs[ref]
		return t
	}
	t.below = &Normalizer{}
	c.nodes = append(c.nodes, t.below)
	if ref != "" {
		c.refs[ref] = t.below
	}
	if len(chain) > 0 {
		c.children(t.below, chain[len(chain)-1], path)
	}
	return t
}

// follow returns s and the schemas that its $ref leads to, and the last $ref, "" where there is none.
func (c *compiler) follow(s *spec.Schema, path string) (chain []*spec.Schema, ref string) {
	seen := map[string]bool{}
	for s != nil {
		chain = append(chain, s)
		if wraps(s) {
			s = &s.AllOf[0]
			chain = append(chain, s)
		}
		if s.Ref.String() == "" {
			return chain, ref
		}
		ref = s.Ref.String()
		if seen[ref] {
			c.problem(path, rule.UnresolvableRef, "$ref %q leads back to itself: it has to end at a schema", ref)
			return chain, ref
		}
		seen[ref] = true
		if s = c.lookUp(ref, path); s == nil {
			return chain, ref
		}
	}
	return chain, ref
}

// wraps reports whether s is the form in which OpenAPI v3 puts something beside a $ref: an allOf of that $ref alone.
func wraps(s *spec.Schema) bool {
	return len(s.AllOf) == 1 && s.AllOf[0].Ref.String() != "" && len(s.Properties) == 0
}

func (c *compiler) lookUp(ref, path string) *spec.Schema {
	if c.resolve == nil {
		c.problem(path, rule.UnresolvableRef, "$ref %q cannot be resolved: there is no resolver", ref)
		return nil
	}
	s, err := c.resolve(ref)
	switch {
	case err != nil:
		c.problem(path, rule.UnresolvableRef, "$ref %q cannot be resolved: %v", ref, err)
		return nil
	case s == nil:
		c.problem(path, rule.UnresolvableRef, "$ref %q cannot be resolved: there is no such schema", ref)
	}
	return s
}

// mode reads the mark of one schema.
func (c *compiler) mode(s *spec.Schema, path string) string {
	marks, problems := extension.Read(s.Extensions)
	for _, p := range problems {
		if strings.EqualFold(p.Key, extension.Normalize) {
			c.problem(path, p.Rule, "%s", p.Message)
		}
	}
	return marks.Normalize
}

// children compiles what is below s into n.
func (c *compiler) children(n *Normalizer, s *spec.Schema, path string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		at := path + "/properties/" + pointer.Escape(name)
		t := c.target(&property, at, onProperty)
		p := Property{below: t.below}
		switch t.mode {
		case extension.NormalizeUndefined:
			p.marked, p.blank = true, undefined
		case extension.NormalizeZero:
			if !t.hasZero {
				c.problem(at, rule.NormalizeType, "%s is %q, but the schema has no single type that has a zero value: give it one, or use %q",
					extension.Normalize, extension.NormalizeZero, extension.NormalizeUndefined)
			}
			p.marked, p.blank = true, t.zero
		}
		if n.properties == nil {
			n.properties = make(map[string]Property, len(s.Properties))
		}
		n.properties[name] = p
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		n.values = c.target(s.AdditionalProperties.Schema, path+"/additionalProperties", onValues).below
	}
	if s.Items != nil {
		if s.Items.Schema != nil {
			n.items = c.target(s.Items.Schema, path+"/items", onItems).below
		}
		for i := range s.Items.Schemas {
			c.refuse(&s.Items.Schemas[i], fmt.Sprintf("%s/items/%d", path, i), onItems)
		}
	}
	c.branches(s, path)
}

// branches reports marks in the places that select no one value.
func (c *compiler) branches(s *spec.Schema, path string) {
	for _, group := range []struct {
		name    string
		schemas []spec.Schema
	}{{"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf}} {
		for i := range group.schemas {
			c.refuse(&group.schemas[i], fmt.Sprintf("%s/%s/%d", path, group.name, i), onBranch)
		}
	}
	if s.Not != nil {
		c.refuse(s.Not, path+"/not", onBranch)
	}
	for _, name := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		pattern := s.PatternProperties[name]
		c.refuse(&pattern, path+"/patternProperties/"+pointer.Escape(name), onPattern)
	}
}

// refuse reports every mark in s and below it.
func (c *compiler) refuse(s *spec.Schema, path string, at position) {
	if c.mode(s, path) != "" {
		c.problem(path, rule.NormalizePosition, "%s stands in %s, where it has no effect: it stands on properties", extension.Normalize, at)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		c.refuse(&property, path+"/properties/"+pointer.Escape(name), at)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		c.refuse(s.AdditionalProperties.Schema, path+"/additionalProperties", at)
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.refuse(s.Items.Schema, path+"/items", at)
	}
	c.branches(s, path)
}

// prune drops every node below which nothing is marked. Nodes form a graph where refs recurse, so what is live
// spreads until it stays.
func (c *compiler) prune() {
	c.live = make(map[*Normalizer]bool, len(c.nodes))
	for spread := true; spread; {
		spread = false
		for _, n := range slices.Backward(c.nodes) {
			if !c.live[n] && c.marked(n) {
				c.live[n], spread = true, true
			}
		}
	}
	for _, n := range c.nodes {
		for name, p := range n.properties {
			if !c.live[p.below] {
				p.below = nil
			}
			// A property without marks hides additionalProperties, so it stays where these are live.
			if n.properties[name] = p; !p.marked && p.below == nil && !c.live[n.values] {
				delete(n.properties, name)
			}
		}
		if !c.live[n.values] {
			n.values = nil
		}
		if !c.live[n.items] {
			n.items = nil
		}
	}
}

// marked reports whether n or a live node right below it has a mark.
func (c *compiler) marked(n *Normalizer) bool {
	if c.live[n.values] || c.live[n.items] {
		return true
	}
	for _, p := range n.properties {
		if p.marked || c.live[p.below] {
			return true
		}
	}
	return false
}
