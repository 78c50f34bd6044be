// Package v1 is version v1 of the API group example.fieldlock.dev.
//
// +groupName=example.fieldlock.dev
package v1
