package normalize

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Normalizer applies the marks of one schema to objects. It is immutable and safe for concurrent use. A nil Normalizer and
// the zero one have no marks.
type Normalizer struct {
	root *normalizer.Normalizer
}

// Compile reads the marks of s and of everything below it, through properties, additionalProperties, items and $ref; a
// recursive $ref compiles once. resolve returns the schema that a $ref refers to and is called only while compiling; if it
// is nil, "#/definitions/NAME" is looked up in the definitions of s. A nil s has no marks.
//
// The error has a line for each mistake of the schema, with its JSON pointer, in their order: a mark that is not on a property, a
// value that is not a mode, mode zero where the schema has no type, a $ref that cannot be resolved. Cost: one visit for each
// schema node.
func Compile(s *spec.Schema, resolve func(ref string) (*spec.Schema, error)) (*Normalizer, error) {
	root, problems := normalizer.Compile(schema.Read(s, resolve))
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = fmt.Errorf("%s: %s", cmp.Or(p.SchemaPath, "/"), p.Message)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Normalizer{root}, nil
}

// Empty reports whether the schema has no marks, so that callers can skip the work.
func (n *Normalizer) Empty() bool { return n == nil || n.root.Empty() }

// Normalize returns obj without the properties that count as absent. obj is decoded JSON, and is not changed; the result
// shares with it what does not change. If nothing changes, Normalize returns obj itself and allocates nothing. Normalizing
// the result again returns the very same map. A nil map stays nil. Cost: one visit for each value, at any depth.
func (n *Normalizer) Normalize(obj map[string]any) map[string]any {
	if n == nil {
		return obj
	}
	return n.root.Normalize(obj)
}
