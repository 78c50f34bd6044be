// Package bad has markers that cannot do what they say. Their problems are in problems.golden.
package bad

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Values have values that no marker has.
type Values struct {
	// +immutable=true
	Immutable string `json:"immutable"`
	// +Immutable
	Case string `json:"case"`
	// +imutable
	Misspelled string `json:"misspelled"`
	// +listMapKeys=name
	Keys []string `json:"keys"`
	// +immutable fields are the best
	Prose string `json:"prose"`
	// +kubebuilder:validation:Immutable
	Kubebuilder string `json:"kubebuilder"`
	// +k8s:immutable=true
	K8s string `json:"k8s"`
	// +k8s:update=Nothing
	Word string `json:"word"`
	// +k8s:update=NoSet,NoUnset
	Words string `json:"words"`
	// +normalize=empty
	Normalize []string `json:"normalize"`
	// +listType=bag
	List []string `json:"list"`
	// +listMapKey=
	Key []string `json:"key"`
	// +k8s:ifEnabled(Gate)=+k8s:immutable
	Conditional string `json:"conditional"`
	// +k8s:subfield(name)=+k8s:update=NoSet
	Subfield string `json:"subfield"`
	// +k8s:eachVal=+k8s:update=Nothing
	Each []string `json:"each"`
}

// Bearers cannot bear what they are marked with.
type Bearers struct {
	// +immutable=keys
	Scalar string `json:"scalar"`
	// +immutable=keys
	Struct Values `json:"struct"`
	// +immutable=keys
	Untyped []string `json:"untyped"`
	// +immutable=keys
	// +listType=set
	Set []string `json:"set"`
	// +immutable=keys
	// +mapType=atomic
	Atomic map[string]string `json:"atomic"`
	// +k8s:update=NoAddItem
	Words []string `json:"words"`
	// +listType=set
	NoList map[string]string `json:"noList"`
	// +mapType=atomic
	NoMap []string `json:"noMap"`
	// +listMapKey=name
	KeyAlone []Item `json:"keyAlone"`
	// +listType=map
	NoKey []Item `json:"noKey"`
	// +listType=map
	// +listMapKey=none
	WrongKey []Item `json:"wrongKey"`
	// +listType=map
	// +listMapKey=name
	// +immutable=keys
	FreeKey []Item `json:"freeKey"`
	// +k8s:eachVal=+immutable
	NoValues string `json:"noValues"`
	// +k8s:eachVal=+normalize=undefined
	Items [][]string `json:"items"`
	// +listType=set
	LockedItems []Locked `json:"lockedItems"`
	// +immutable
	// +k8s:update=NoSet
	Two string `json:"two"`
	// +immutable
	// +immutable=keys
	TwoMore map[string]string `json:"twoMore"`
	// +normalize=zero
	// +normalize=undefined
	TwoModes []string `json:"twoModes,omitempty"`

	// +immutable
	Item `json:",inline"`
	// +immutable
	unexported string
	// +immutable
	Skipped string `json:"-"`
	// A lock behind a field is not read by the tools.
	Behind string `json:"behind"` // +immutable
	Gone   Missing
}

// +immutable

// A comment in between.

// Item is free.
type Item struct {
	Name string `json:"name"`
	// +immutable
}

// Locked has a locked field.
type Locked struct {
	// +immutable
	Name string `json:"name"`
}

// Normalized do not match what Go does.
type Normalized struct {
	// +normalize=undefined
	Text string `json:"text,omitempty"`
	// +normalize=undefined
	Pointer *Item `json:"pointer,omitempty"`
	// +normalize=zero
	Flag *bool `json:"flag,omitempty"`
	// +normalize=zero
	Quantity resource.Quantity `json:"quantity"`
	// +normalize=undefined
	Port intstr.IntOrString `json:"port"`
	// +normalize=undefined
	Struct Item `json:"struct,omitempty"`
	// +normalize=undefined
	Amount HasQuantity `json:"amount,omitempty"`
	// +normalize=undefined
	When HasTime `json:"when,omitempty"`
	// +normalize=undefined
	Target HasPort `json:"target,omitempty"`
	// +normalize=undefined
	Pair HasArray `json:"pair,omitempty"`
	// +normalize=zero
	Any any `json:"any"`
	// +immutable
	Stored []string `json:"stored,omitempty" protobuf:"bytes,1,rep,name=stored"`
	// +k8s:update=NoUnset
	StoredMap map[string]string `json:"storedMap,omitempty" protobuf:"bytes,2,rep,name=storedMap"`
}

// HasQuantity is written with "0".
type HasQuantity struct {
	Amount resource.Quantity `json:"amount,omitempty"`
}

// HasTime is written with null.
type HasTime struct {
	When metav1.Time `json:"when,omitempty"`
}

// HasPort is written with 0.
type HasPort struct {
	Port intstr.IntOrString `json:"port,omitempty"`
}

// HasArray is written with two empty strings.
type HasArray struct {
	Pair [2]string `json:"pair,omitempty"`
}

// Matching match it.
type Matching struct {
	// +normalize=undefined
	// +immutable
	List []string `json:"list,omitempty" protobuf:"bytes,1,rep,name=list"`
	// +normalize=zero
	Text string `json:"text"`
	// +normalize=zero
	Port intstr.IntOrString `json:"port"`
	// +normalize=undefined
	Time metav1.Time `json:"time,omitempty"`
	// +normalize=undefined
	Struct Empty `json:"struct,omitempty"`
	// +normalize=undefined
	Zero Item `json:"zero,omitzero"`
	// +normalize=zero
	Bytes []byte `json:"bytes,omitempty"`
	// +immutable
	Pointer *Item `json:"pointer,omitempty" protobuf:"bytes,2,opt,name=pointer"`
	// +k8s:update=NoModify
	Changeless []string `json:"changeless,omitempty" protobuf:"bytes,3,rep,name=changeless"`
}

// Empty is written as {} when it is zero.
type Empty struct {
	Amount resource.Quantity `json:"amount,omitzero"`
	// +normalize=undefined
	When metav1.Time `json:"when,omitempty"`
	// +normalize=zero
	Port intstr.IntOrString `json:"port,omitempty"`
	// +normalize=zero
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
	// +normalize=zero
	Inner Inner `json:"inner"`
}

// Inner is written as {} when it is zero.
type Inner struct {
	Count int `json:"count,omitempty"`
}
