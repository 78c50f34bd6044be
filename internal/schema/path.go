package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Role says what a location is to the one above it.
type Role uint8

// The roles.
const (
	Root     Role = iota
	Property      // a named property of an object
	Values        // the values under the other keys of an object
	Items         // the items of a list

	// Steps of paths that lead to no location.
	keyword   // a schema in a keyword that only validates
	reference // the $ref that the rest of the path starts from
)

// Path leads from the root of a schema to one of its nodes, or from the target of a $ref. The nil Path is the root. Paths
// share their beginnings and become text only when they are printed, so that a deep schema costs its depth and not the
// square of it.
type Path struct {
	up   *Path
	role Role
	name string // of a property; the text of a keyword or $ref
}

// Property returns the path of a property of the object at p.
func (p *Path) Property(name string) *Path { return &Path{p, Property, name} }

// Values returns the path of the map values at p.
func (p *Path) Values() *Path { return &Path{p, Values, ""} }

// Items returns the path of the list items at p.
func (p *Path) Items() *Path { return &Path{p, Items, ""} }

// keyword returns the path of a schema in a keyword such as "anyOf/0".
func (p *Path) keyword(text string) *Path { return &Path{p, keyword, text} }

func (p *Path) steps() []*Path {
	var steps []*Path
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	slices.Reverse(steps)
	return steps
}

// Depth returns the number of steps of p. Cost: O(depth).
func (p *Path) Depth() int {
	n := 0
	for ; p != nil; p = p.up {
		n++
	}
	return n
}

// String returns the path for people, such as "spec.nodes[*].zone"; "" is the root.
func (p *Path) String() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch s.role {
		case Property:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		case Values, Items:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// Pointer returns the path as a JSON pointer in the schema, such as "/properties/spec/properties/class". A path that
// starts from the target of a $ref begins with the text of the $ref.
func (p *Path) Pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch s.role {
		case Property:
			b.WriteString("/properties/")
			b.WriteString(pointer.Escape(s.name))
		case Values:
			b.WriteString("/additionalProperties")
		case Items:
			b.WriteString("/items")
		case keyword:
			b.WriteString("/")
			b.WriteString(s.name)
		case reference:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// Readable turns a schema path, a JSON pointer, into the path for people: "spec.nodes[*].zone".
func Readable(schemaPath string) string { return PathOf(schemaPath).String() }

// PathOf returns the path of the location that a schema path, a JSON pointer, leads to. Keywords such as allOf are left out.
func PathOf(schemaPath string) *Path {
	var p *Path
	names := pointer.Names(schemaPath)
	for i := 0; i < len(names); i++ {
		switch {
		case names[i] == "properties" && i+1 < len(names):
			i++
			p = p.Property(names[i])
		case names[i] == "additionalProperties":
			p = p.Values()
		case names[i] == "items":
			p = p.Items()
		}
	}
	return p
}

// Resolver returns the schema that a $ref refers to.
type Resolver func(ref string) (*spec.Schema, error)

// Definitions returns the resolver of "#/definitions/NAME" among the definitions of s.
func Definitions(s *spec.Schema) Resolver {
	return func(ref string) (*spec.Schema, error) {
		if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
			if definition, ok := s.Definitions[name]; ok {
				return &definition, nil
			}
		}
		return nil, errors.New("the schema has no such definition; give a resolver that knows it")
	}
}

// RefOf returns the $ref of s, or "". A $ref may be wrapped as the only element of allOf, which is how OpenAPI v3 writes
// a $ref with a description or default next to it; then RefOf returns that element too.
//
// An allOf next to properties, items or additionalProperties, or whose element has some of its own, is not a wrapper but
// a combination of two schemas: s is read as it is, and what is in its allOf only validates.
func RefOf(s *spec.Schema) (ref string, wrapped *spec.Schema) {
	if ref := s.Ref.String(); ref != "" {
		return ref, nil
	}
	if len(s.AllOf) != 1 || s.AllOf[0].Ref.String() == "" || hasChildren(s) || hasChildren(&s.AllOf[0]) {
		return "", nil
	}
	return s.AllOf[0].Ref.String(), &s.AllOf[0]
}

func hasChildren(s *spec.Schema) bool {
	return len(s.Properties) > 0 || s.Items != nil || s.AdditionalProperties != nil
}

// unresolvable is the problem of a node whose $ref cannot be followed.
func unresolvable(ref string, err error) Problem {
	return Problem{Key: "$ref", Rule: rule.UnresolvableRef, Message: fmt.Sprintf("$ref %q cannot be resolved: %v", ref, err)}
}

// readWrapped reads the marks next to a wrapped $ref. A lock there is an error that the search for unchecked marks finds.
func readWrapped(s *spec.Schema) (Marks, []Problem) {
	marks, problems := ReadMarks(s.Extensions)
	marks.Locks = nil
	return marks, problems
}

// follow returns the schemas that ref leads to, one after the other. The last one has no $ref.
func follow(ref string, resolve Resolver) ([]*spec.Schema, error) {
	var chain []*spec.Schema
	for seen := map[string]bool{}; !seen[ref]; {
		seen[ref] = true
		s, err := resolve(ref)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, errors.New("there is no such schema")
		}
		chain = append(chain, s)
		next, _ := RefOf(s)
		if next == "" {
			return chain, nil
		}
		if HasLock(s.Extensions) {
			return nil, fmt.Errorf("%q is itself a $ref with a lock next to it; put the lock where it is used", ref)
		}
		ref = next
	}
	return nil, fmt.Errorf("%q leads back to itself", ref)
}
