package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/markers/testdata/api/shared"
)

// Widget has every marker.
// +kubebuilder:object:root=true
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WidgetSpec `json:"spec"`
	// +optional
	Status WidgetStatus `json:"status,omitempty"`
}

// ClassName is an alias of a type in another package.
type ClassName = shared.Zone

// WidgetSpec is what the user wants.
type WidgetSpec struct {
	shared.Inline `json:",inline"`

	Shadowed string `json:"shadowed,omitempty"`

	// Class is locked by its type, through an alias.
	Class ClassName `json:"class"`

	// Region is locked by the type that its type is declared as.
	Region shared.Region `json:"region,omitempty"`

	// +immutable

	// Size has its marker in the group above its doc comment, as controller-gen reads it.
	// # Not a comment in YAML.
	Size *int32 `json:"size,omitempty"`

	// +immutable=keys
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// +listType=map
	// +listMapKey=name
	// +listMapKey=port
	// +immutable=keys
	Nodes []Node `json:"nodes,omitempty"`

	// +listType=set
	// +k8s:update=NoRemoveItem
	Tags []string `json:"tags,omitempty"`

	// +k8s:alpha(since: "1.35")=+k8s:update=NoModify
	// +k8s:update=NoUnset
	Once string `json:"once,omitempty"` // want `Go does not tell an absent once`

	// +k8s:immutable
	Native string `json:"native"`

	// +k8s:eachVal=+k8s:update=NoModify
	Values map[string]string `json:"values,omitempty"`

	// +k8s:eachVal=+k8s:eachVal=+immutable
	Matrix [][]string `json:"matrix,omitempty"`

	// +kubebuilder:immutable
	// +normalize=undefined
	// +listType=atomic
	Finalizers []string `json:"finalizers,omitempty"`

	// +normalize=zero
	// +immutable
	Mode string `json:"mode"`

	Box shared.Box[string] `json:"box,omitempty"`

	Placement *shared.Placement `json:"placement,omitempty"`

	// +mapType=atomic
	// +immutable
	Selector map[string]string `json:"selector,omitempty"` // want `Go does not tell an absent selector from an empty one`
}

// Node is an item of a keyed list.
type Node struct {
	// +immutable
	Name string `json:"name"`
	// +immutable
	Port int32 `json:"port"`
	// +immutable
	Zone string `json:"zone,omitempty"` // want `Go does not tell an absent zone`
	Load int64  `json:"load,omitempty"`
}

// WidgetStatus is what is.
type WidgetStatus struct {
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Tree *Tree `json:"tree,omitempty"`
}

// Tree is recursive.
type Tree struct {
	Children []Tree          `json:"children,omitempty"`
	ByName   map[string]Tree `json:"byName,omitempty"`
}
