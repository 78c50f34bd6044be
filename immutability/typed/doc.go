// Package typed checks Go objects of an API against the locks of its schema, without converting them. It replaces calls
// of ValidateImmutableField that were written by hand.
//
// [Compile] decides once, from a Go type and a Validator, which field holds which property, as encoding/json would write
// it: json tags, embedded structs, omitempty, omitzero. A check then reads only what the locks cover, in place. The
// verdict and the paths are exactly those of ValidateUpdateJSON on the objects that encoding/json writes.
//
// # How it works
//
// Most updates break no lock, so the plan of a type only proves that: values that are equal in Go are written as equal
// JSON, and equal JSON breaks no lock. Where the proof fails, both objects are written as JSON and compared by the
// Validator, which gives the exact answer. So a mistake in the plan can cost time but cannot let a change through, as long
// as two things hold: equal Go values are written alike (the methods MarshalJSON and MarshalText depend on nothing else),
// and the plan reads every field that a locked property is written from.
//
// # Absent, null and empty
//
// What a json tag leaves out is absent on both sides: nil, empty and absent are the same where the field has omitempty. A
// slice or map without omitempty is null or [], and these differ. Use x-kubernetes-normalize (in Go: +normalize=zero) for
// the meaning of Semantic.DeepEqual.
//
// # Package unsafe
//
// Fields are read in place by package unsafe, at the offsets that package reflect gives. What the package takes for granted
// beyond that, about slices, maps and stacks, is listed in memory.go with the tests that check it on a new version of Go.
// Nothing is written through an unsafe pointer.
package typed
