// Package shared has types that other packages use. It is never asked for itself.
package shared

// Zone is locked wherever it is used.
// +immutable
type Zone string

// Region is declared as Zone and locked like it.
type Region Zone

// Placement has a lock in a package of its own.
type Placement struct {
	// +immutable
	Rack string `json:"rack,omitempty"` // want `Go does not tell an absent rack`
	Zone Zone   `json:"zone,omitempty"` // want `Go does not tell an absent zone`
}

// Box is generic.
type Box[T any] struct {
	// +k8s:update=NoUnset
	// +optional
	Value T `json:"value,omitempty"`
}

// Inline is inlined into others.
type Inline struct {
	// +immutable
	Serial string `json:"serial"`
	// Shadowed is hidden by a field of the outer struct.
	// +immutable
	Shadowed string `json:"shadowed,omitempty"` // want `Go does not tell an absent shadowed`
}
