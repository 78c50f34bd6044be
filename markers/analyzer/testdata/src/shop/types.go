// Package shop is an API.
package shop

// CacheSpec is what the user wants.
type CacheSpec struct {
	// The parent can be removed and added again.
	//
	// +optional
	Backup *Backup `json:"backup,omitempty"` // want `^an update can remove backup and the next one can bring it back with other values of backup.bucket, backup.once: add \+k8s:update=NoUnset, or make it required$`

	// It cannot be removed.
	//
	// +optional
	// +k8s:update=NoUnset
	Kept *Backup `json:"kept,omitempty"`

	// It is locked itself.
	//
	// +optional
	// +immutable
	Locked *Backup `json:"locked,omitempty"`

	// It is required, and a pointer only for Go.
	//
	// +required
	Needed *Backup `json:"needed,omitempty"`

	// It is always there.
	Main Backup `json:"main"`

	// It comes back as it was.
	//
	// +optional
	// +default={"every": "1h"}
	Defaulted Backup `json:"defaulted,omitempty"`

	// A rule on the type may close it.
	Ruled Ruled `json:"ruled"`

	// A client can write null.
	//
	// +nullable
	Null *Backup `json:"null"` // want `an update can remove null and`

	// Items come and go, and their locks with them.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Nodes []Node `json:"nodes,omitempty"`

	// The keys cannot be removed, so the list cannot either.
	//
	// +optional
	// +immutable=keys
	// +listType=map
	// +listMapKey=name
	Pools []Node `json:"pools,omitempty"`

	// +optional
	Deep *Deep `json:"deep,omitempty"` // want `an update can remove deep and the next one can bring it back with other values of deep.backup.bucket, deep.backup.once`

	// The word says that it may be unset.
	//
	// +k8s:update=NoModify
	// +optional
	Phase *string `json:"phase,omitempty"`

	Twice Deep `json:"twice"`
}

// Backup is a copy.
type Backup struct {
	// +k8s:immutable
	// +optional
	Bucket string `json:"bucket,omitempty"` // want `Go does not tell an absent bucket`

	// It may be set once.
	//
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	// +optional
	Once *string `json:"once,omitempty"`

	Every string `json:"every"`
}

// Deep has it one level below.
type Deep struct {
	Backup Backup `json:"backup"`
}

// Node is an item.
type Node struct {
	// +immutable
	Name string `json:"name"`
	// +immutable
	// +optional
	Zone string `json:"zone,omitempty"` // want `Go does not tell an absent zone`
}

// Ruled has a rule of its own.
//
// +kubebuilder:validation:XValidation:rule="has(self.backup) || !has(oldSelf.backup)"
type Ruled struct {
	// +optional
	Backup *Backup `json:"backup,omitempty"`
}

// Loop is recursive.
type Loop struct {
	// +optional
	Next *Loop `json:"next,omitempty"` // want `an update can remove next and`
	// +immutable
	Name string `json:"name"`
}

// Inlined gives its field to others.
type Inlined struct {
	// +optional
	Backup *Backup `json:"backup,omitempty"` // want `an update can remove backup and`
}

// Outer has it inlined.
type Outer struct {
	Inlined `json:",inline"`
}
