// Package generated has the markers that controller-gen makes rules of.
//
// +groupName=generated.fieldlock.dev
// +versionName=v1
package generated

// Part has controller-gen's marker and fieldlock's.
type Part struct {
	// +k8s:immutable
	Engine string `json:"engine"`

	// +k8s:immutable
	// +optional
	Zone *string `json:"zone,omitempty"`

	// +immutable
	// +optional
	Class *string `json:"class,omitempty"`
}
