// Package storage has types that several APIs use. Their markers take effect wherever a CRD uses them.
package storage

// Class is the name of a storage class. It is locked in every field of this type.
// +immutable
type Class string

// Volume is where data lives.
type Volume struct {
	Class Class `json:"class"`

	// Size may grow; that it may not shrink is for a CEL rule to say.
	Size string `json:"size"`
}
