package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WidgetSpec defines the desired state of Widget
type WidgetSpec struct {
	// class never changes.
	// +immutable
	// +kubebuilder:validation:MaxLength=63
	Class string `json:"class"`

	// zone may be set once.
	// +k8s:immutable
	// +optional
	Zone *string `json:"zone,omitempty"`

	// +k8s:immutable
	// +required
	Engine string `json:"engine"`

	// +optional
	// +k8s:update=NoUnset
	// +kubebuilder:validation:MaxItems=8
	// +k8s:eachVal=+immutable
	Steps []string `json:"steps,omitempty"`

	// +optional
	// +immutable=keys
	// +listType=map
	// +listMapKey=name
	Ports []Port `json:"ports,omitempty"`

	Replicas int32 `json:"replicas,omitempty"`
}

// Port is an item of a keyed list.
type Port struct {
	// +immutable
	Name string `json:"name"`
	Port int32  `json:"port"`
}

// +kubebuilder:object:root=true

// Widget is the Schema for the widgets API
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec WidgetSpec `json:"spec"`
}
