package apply

import (
	"fmt"
)

// Applier is a way to apply a manifest to an object that was made with it before.
type Applier string

// The appliers.
const (
	ServerSide Applier = "server-side"
	// ClientSide is kubectl's: a patch of what differs from the stored object, and of what the manifest has lost since
	// the last one.
	ClientSide Applier = "client-side"
	// ThreeWay is the merge of Helm 3, and of Helm 4 for releases of Helm 3. It treats built-in kinds as kubectl does;
	// of custom resources, it does not look at the stored object.
	ThreeWay Applier = "three-way"
	// Replace is a PUT of the manifest.
	Replace Applier = "replace"
)

// What package builtin tells apart beside them. A Request has one of those above.
const (
	// Flux is a server-side apply of normalized manifests: without null and empty values, and with stringData as data.
	Flux Applier = "flux"
	// Live is an apply of any kind over the object that a cluster has: its status counts.
	Live Applier = "live"
)

// Request is a manifest that is applied over an object.
type Request struct {
	By Applier
	// Manager makes a server-side apply. "" is the one who applied Last.
	Manager string
	// Stored is the object as the server has it. For a server-side apply with a Manager, its managedFields say who owns
	// what.
	Stored map[string]any
	// Last is the manifest that was applied last; nil if there was none.
	Last map[string]any
	// LastKind is the kind as it was when Last was applied; nil if it is the same.
	LastKind *Kind
	// Manifest is what is applied.
	Manifest map[string]any
}

// recovered makes an error of a panic in the code of others.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the objects cannot be merged: %v", r)
	}
}
