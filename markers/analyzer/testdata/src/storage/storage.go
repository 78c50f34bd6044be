// Package storage has one type, for the fields of other packages.
package storage

// Class is locked wherever it is used.
//
// +immutable
type Class string
