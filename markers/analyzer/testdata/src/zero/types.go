// Package zero has locks on fields whose Go types do not tell absent from zero.
package zero

// Spec is what the user wants.
type Spec struct {
	// An update from "" is refused.
	//
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	Class string `json:"class"` // want `^Go does not tell an absent class from its zero value, but the JSON does, and \+k8s:update=NoUnset counts its zero value as set: add \+normalize=zero, or make the field a pointer$`

	// +k8s:update=NoSet
	// +optional
	Tags []string `json:"tags,omitempty"` // want `Go does not tell an absent tags from an empty one`

	// +immutable
	// +optional
	Zone string `json:"zone,omitempty"` // want `Go does not tell an absent zone`

	// It is always there, and locked as a whole.
	//
	// +immutable
	Engine string `json:"engine"`

	// A pointer tells them apart.
	//
	// +immutable
	// +optional
	Pointer *string `json:"pointer,omitempty"`

	// It is normalized.
	//
	// +k8s:update=NoModify
	// +k8s:update=NoUnset
	// +normalize=zero
	Normal string `json:"normal"`

	// It cannot be empty.
	//
	// +k8s:update=NoModify
	// +k8s:update=NoUnset
	// +kubebuilder:validation:MinLength=1
	Long string `json:"long,omitempty"`

	// Its items come and go; the map itself may, too.
	//
	// +immutable=keys
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Kubernetes' own validation reads it.
	//
	// +k8s:immutable
	// +optional
	Native string `json:"native,omitempty" protobuf:"bytes,1,opt,name=native"`
}
