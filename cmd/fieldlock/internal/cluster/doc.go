// Package cluster reads objects from a Kubernetes cluster. It only reads: its one kind of write is a dry run, which the
// API server does not store.
package cluster
