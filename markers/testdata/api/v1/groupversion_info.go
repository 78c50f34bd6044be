// Package v1 has a type with every marker.
// +groupName=test.fieldlock.dev
package v1
