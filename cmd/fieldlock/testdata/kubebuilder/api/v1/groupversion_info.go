// Package v1 contains API Schema definitions for the shop v1 API group.
// +kubebuilder:object:generate=true
// +groupName=shop.example.com
package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

var GroupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}
