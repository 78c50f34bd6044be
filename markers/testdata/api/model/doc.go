// Package model has its group in a variable and another name in OpenAPI.
// +k8s:openapi-model-package=dev.fieldlock.test
package model

import "k8s.io/apimachinery/pkg/runtime/schema"

// Group is the API group.
const Group = "model.fieldlock.dev"

// GroupVersion is the API group with its version.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1"}

// Thing has a lock.
type Thing struct {
	// +immutable
	Name string `json:"name"`
}
