// Package normalize takes away the differences between absent, null and empty that storage does not keep.
//
// The mark x-kubernetes-normalize is allowed on properties (Go: +normalize) and has two modes:
//
//	undefined  null, {} and [] count as absent
//	zero       null and the zero value of the schema's type ("", 0, false, {}, []) count as absent
//
// Marks are applied from the inside out: an object that is left empty by the marks below it is empty when its own
// mark is applied, and can become absent too. Items of lists and values of maps cannot be absent, so a mark on one of
// them is an error.
//
// # Which Go field needs which mode
//
// A client that decodes an object into a Go type and encodes it again turns some of the spellings into others. The
// mode to choose is the one that makes exactly these spellings one:
//
//	Go field                                 written back as                    mode
//	*T with omitempty                        null and absent: absent;           none: the pointer keeps the empty value,
//	                                         {} stays {}                        and a null is pruned by the API server
//	[]T, map[K]V with omitempty              null, [], {} and absent: absent    undefined
//	[]T, map[K]V without omitempty           absent and null: null              zero (undefined says the same of them)
//	string, bool, number with omitempty      "", false, 0 and null: absent      zero
//	string, bool, number without omitempty   absent and null: "", false, 0      zero
//	[]byte with omitempty                    null, "" and absent: absent        zero (its schema is a string)
//	struct, with or without omitempty        absent and null: {} and what its   zero, on it and on each field of it that
//	                                         fields without omitempty write     is written when zero; undefined where all have omitempty
//	struct with omitzero                     the zero struct: absent            as above
//	intstr.IntOrString                       absent and null: 0                 zero ("" and "0" stay what they are)
//	metav1.Time                              absent: null                       undefined or zero
//	resource.Quantity                        absent and null: "0"               none: "0" is no zero value of its schema
//
// Protobuf has one more reason. On the wire a slice or map that is unset, empty or null is the same: no bytes. Any
// field with a protobuf tag that holds a slice or a map therefore needs undefined (or zero) as soon as it is locked,
// whatever its json tag says. A scalar with a protobuf tag and the option "opt" without a pointer is always written,
// and read back as its zero value: zero. A pointer to a scalar keeps unset and zero apart in protobuf too and needs no
// mode.
//
// This is the section "Future outline: protobuf" of the Kubernetes proposal for immutable fields; zero is its more
// advanced mode for fields that carry no omitempty.
package normalize

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Normalizer applies the marks of one schema to objects. It is immutable and safe for concurrent use. A nil Normalizer
// and the zero one have no marks.
type Normalizer struct {
	root *normalizer.Normalizer
}

// Compile reads the marks of s and of everything below it, through properties, additionalProperties, items and $ref; a
// recursive $ref compiles once. resolve returns the schema that a $ref refers to and is called only while compiling; if
// it is nil, "#/definitions/NAME" is looked up in the definitions of s. A nil s has no marks.
//
// The error has a line for each mistake of the schema, with its JSON pointer, in their order: a mark that is not on a
// property, a value that is not a mode, mode zero where the schema has no type, a $ref that cannot be resolved. Cost:
// one visit for each schema node.
func Compile(s *spec.Schema, resolve func(ref string) (*spec.Schema, error)) (*Normalizer, error) {
	root, _, problems := normalizer.Compile(schema.Read(s, resolve))
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
func (n *Normalizer) Empty() bool { return n == nil || n.root == nil }

// Normalize returns obj without the properties that count as absent. obj is decoded JSON, and is not changed; the
// result shares with it what does not change. If nothing changes, Normalize returns obj itself and allocates nothing.
// Normalizing the result again returns the very same map. A nil map stays nil. Cost: one visit for each value, at any
// depth.
func (n *Normalizer) Normalize(obj map[string]any) map[string]any {
	if n == nil {
		return obj
	}
	return n.root.Normalize(obj)
}
