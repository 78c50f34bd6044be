package schema

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/rule"
)

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
