package immutability

import "github.com/fieldlock/fieldlock/internal/schema"

// The extension keys that Compile reads; the package comment says what each means. The first four are locks.
const (
	KeyImmutable     = schema.KeyImmutable     // x-kubernetes-immutable: true
	KeyImmutableKeys = schema.KeyImmutableKeys // x-kubernetes-immutable-keys: true
	KeyAdditionOnly  = schema.KeyAdditionOnly  // x-kubernetes-addition-only: true
	KeyDeletionOnly  = schema.KeyDeletionOnly  // x-kubernetes-deletion-only: true
	KeyUpdate        = schema.KeyUpdate        // x-fieldlock-update: a list of NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem
	KeyNormalize     = schema.KeyNormalize     // x-kubernetes-normalize: undefined or zero
	KeyMapListOrder  = schema.KeyMapListOrder  // x-fieldlock-map-list-order: ignored

	KeyListType    = schema.KeyListType    // x-kubernetes-list-type: atomic, set or map
	KeyListMapKeys = schema.KeyListMapKeys // x-kubernetes-list-map-keys: a list of names
	KeyMapType     = schema.KeyMapType     // x-kubernetes-map-type: atomic or granular
)
