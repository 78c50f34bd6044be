package schema

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/finding"
)

// A $ref stands for a schema elsewhere. Definitions may refer to themselves, so that a tree ends at a second visit, and
// an inlined schema is bounded.

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

// RefOf returns the $ref of s, or "". A $ref may be wrapped as the only element of allOf, which is how OpenAPI v3
// writes a $ref with a description or default next to it; then RefOf returns that element too.
//
// An allOf next to properties, items or additionalProperties, or whose element has some of its own, is not a wrapper
// but a combination of two schemas: s is read as it is, and what is in its allOf only validates.
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
	return Problem{Key: "$ref", Rule: finding.UnresolvableRef,
		Message: fmt.Sprintf("$ref %q cannot be resolved: %v", ref, err)}
}

// readWrapped reads the marks next to a wrapped $ref. A lock there is an error that the search for unchecked marks
// finds.
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

// maxInlined is how many locations Inline writes: $refs can be written in which their number doubles at each level.
const maxInlined = 100_000

// Inline returns the schema with every $ref replaced by what it refers to, the marks of both together. A $ref back to a
// schema that it is in ends there; if a lock is in that schema, or the result would have more than 100,000 locations,
// Inline returns an error. Schemas in allOf, anyOf and the like, which lead to no location, are left out.
func (t *Tree) Inline() (*spec.Schema, error) {
	in := &inliner{inside: map[*Body]bool{}, locked: t.Holding(func(l *Location) bool { return l.Marks.Locked() })}
	s := in.schema(t.Root)
	return s, in.err
}

type inliner struct {
	inside  map[*Body]bool
	locked  map[*Location]bool
	written int
	err     error
}

func (in *inliner) schema(l *Location) *spec.Schema {
	if in.written++; in.written > maxInlined && in.err == nil {
		in.err = fmt.Errorf("with every $ref written out, the schema has more than %d fields", maxInlined)
	}
	if in.err != nil {
		return &spec.Schema{}
	}
	if in.inside[l.Body] {
		if in.locked[l] {
			in.err = fmt.Errorf("%s (%s) contains itself and has locks, which cannot be written out at every depth",
				l.Ref, l.Path)
		}
		return &spec.Schema{}
	}
	in.inside[l.Body] = true
	defer delete(in.inside, l.Body)
	out := *l.Body.Schema
	out.Extensions, out.Default, out.Nullable = extensions(l), l.Default(), l.Nullable()
	out.Ref, out.AllOf, out.AnyOf, out.OneOf, out.Not, out.Definitions = spec.Ref{}, nil, nil, nil, nil, nil
	out.Properties = nil
	if l.Properties != nil {
		out.Properties = make(map[string]spec.Schema, len(l.Properties))
	}
	for _, p := range l.Properties {
		out.Properties[p.Name] = *in.schema(p)
	}
	if l.Values != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: in.schema(l.Values)}
	}
	if l.Items != nil {
		out.Items = &spec.SchemaOrArray{Schema: in.schema(l.Items)}
	}
	return &out
}

// extensions returns the keys of l and of what its $ref leads to, the nearest one first, and the words of all.
func extensions(l *Location) spec.Extensions {
	var out spec.Extensions
	for s := range l.Schemas() {
		for key, value := range s.Extensions {
			if _, nearer := out[key]; nearer {
				continue
			}
			if out == nil {
				out = maps.Clone(s.Extensions)
			} else {
				out[key] = value
			}
		}
	}
	var words []any
	for _, lock := range l.Marks.Locks {
		if lock.Key() == KeyUpdate {
			words = append(words, string(lock))
		}
	}
	if words != nil {
		out[KeyUpdate] = words
	}
	return out
}
