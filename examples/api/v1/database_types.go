package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/examples/api/storage"
)

// Database is a database server with its replicas.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec DatabaseSpec `json:"spec"`
	// +optional
	Status DatabaseStatus `json:"status,omitempty"`
}

// DatabaseSpec is what the user wants.
type DatabaseSpec struct {
	Placement `json:",inline"`

	// Engine is locked from creation.
	//
	// +immutable
	// +required
	Engine string `json:"engine"`

	// Version may change.
	//
	// +required
	Version string `json:"version"`

	// Volume has its lock on a type of another package.
	//
	// +required
	Volume storage.Volume `json:"volume"`

	// BackupBucket is unset at first and locked once it is set.
	//
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	// +optional
	BackupBucket *string `json:"backupBucket,omitempty"`

	// Charset has the marker of declarative validation. Here it is locked from creation too.
	//
	// +k8s:immutable
	// +required
	Charset string `json:"charset"`

	// Extensions are loaded when the server is made. A client that writes no extensions may leave the list out, or
	// write [] or null.
	//
	// +kubebuilder:immutable
	// +normalize=undefined
	// +listType=set
	// +optional
	Extensions []string `json:"extensions,omitempty"`

	// Collation has no omitempty: a client that does not know it writes "", where another one leaves it out.
	//
	// +immutable
	// +normalize=zero
	// +optional
	Collation string `json:"collation"`

	// Replicas may change, but none may come or go.
	//
	// +immutable=keys
	// +listType=map
	// +listMapKey=name
	// +required
	Replicas []Replica `json:"replicas"`

	// Users may be added, and not removed.
	//
	// +listType=set
	// +k8s:update=NoRemoveItem
	// +k8s:update=NoUnset
	// +optional
	Users []string `json:"users,omitempty"`

	// Parameters come and go; the value of one that stays is locked.
	//
	// +k8s:eachVal=+k8s:update=NoModify
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`

	// NodeSelector is replaced as a whole, so that its keys cannot be locked apart from it.
	//
	// +mapType=atomic
	// +immutable
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Topology is a type that is locked wherever it is used.
	//
	// +required
	Topology Topology `json:"topology"`
}

// Placement is inlined: its fields are the spec's.
type Placement struct {
	// +immutable
	// +required
	Region string `json:"region"`
}

// Topology is how replicas relate.
//
// +immutable
type Topology struct {
	Primary string `json:"primary"`
	Async   bool   `json:"async,omitempty"`
}

// Replica is one server.
type Replica struct {
	// The key of a list with locked keys is locked itself.
	//
	// +immutable
	// +required
	Name string `json:"name"`

	// +immutable
	// +required
	Zone string `json:"zone"`

	// +optional
	Weight int32 `json:"weight,omitempty"`
}

// DatabaseStatus is what is.
type DatabaseStatus struct {
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ID is given once.
	//
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	// +optional
	ID string `json:"id,omitempty"`
}
