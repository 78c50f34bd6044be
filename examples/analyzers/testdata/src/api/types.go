// Package api has a hole and a misspelled marker.
package api

// CacheSpec is what the user wants.
type CacheSpec struct {
	// backup says where backups go.
	// +optional
	Backup *Backup `json:"backup,omitempty"` // want `an update can remove backup and the next one can bring it back with other values of backup.bucket`
}

// Backup is a place for backups.
type Backup struct {
	// bucket cannot change.
	// +k8s:immutable
	// +required
	Bucket string `json:"bucket"`

	// region is meant to be locked.
	// want +1 `unknown marker: write \+k8s:immutable`
	// +k8s:inmutable
	// +required
	Region string `json:"region"`
}
