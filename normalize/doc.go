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
// Protobuf has one more reason. On the wire a slice or map that is unset, empty or null is the same: no bytes. Any field with
// a protobuf tag that holds a slice or a map therefore needs undefined (or zero) as soon as it is locked, whatever
// its json tag says. A scalar with a protobuf tag and the option "opt" without a pointer is always written,
// and read back as its zero value: zero.
// A pointer to a scalar keeps unset and zero apart in protobuf too and needs no mode.
//
// This is the section "Future outline: protobuf" of the Kubernetes proposal for immutable fields; zero is its more
// advanced mode for fields that carry no omitempty.
package normalize
