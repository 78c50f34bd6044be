// Package immutability compiles the immutability annotations of an OpenAPI schema into a tree of small checks, and
// checks updates against it.
//
//	v, err := immutability.Compile(schema)
//	...
//	errs := v.ValidateUpdate(newObj, oldObj)
//
// # The annotations
//
// Four are those of the Kubernetes proposal for immutable fields. Their value is true, and one node has at most one:
//
//   - x-kubernetes-immutable: value and presence may not change, nor anything below. On any node but the root and
//     metadata.
//   - x-kubernetes-immutable-keys: no key is added and none removed; the values may change. On an object with
//     additionalProperties, and on a list of list-type map.
//   - x-kubernetes-addition-only: no key is removed. There, and on a list of list-type set, for its items.
//   - x-kubernetes-deletion-only: no key is added. On the same.
//
// x-fieldlock-update is a list of the words of declarative validation's +k8s:update, which a node may have beside a lock
// of keys: NoSet, NoUnset and NoModify on any node but the root and metadata, NoAddItem and NoRemoveItem where
// x-kubernetes-addition-only may stand. [NoUnset, NoModify] is "set once". To these words null is absent, and empty is
// not.
//
// x-kubernetes-list-type and -list-map-keys say how lists are compared, and x-kubernetes-normalize which spellings of
// "nothing" are one (package normalize).
//
// # What is compared
//
// A lock is evaluated for every pair of old and new whose container exists on both sides:
//
//   - A property of an object, its absence included: a locked property can be neither set nor removed.
//   - A value under a key of additionalProperties, and an item of a list-type map by its key tuple, when both sides have
//     the key: adding and removing keys is free unless the container is locked.
//   - An item of any other list, by index. Items of a set are never a pair.
//   - What is below a container that comes or goes as a whole is free. Lint warns of such holes.
//
// Where two sides cannot be compared the update is refused: an object that becomes a list, an item without a key, two
// items with one key that are not the same on both sides.
//
// # What is equal
//
// Two values are equal when storage would return equal objects, but for the order in sets: 1, 1.0 and 1e0 are one
// number, 2^53 and 2^53+1 are two; null, absent, {} and [] differ unless normalized; lists of list-type map are ordered
// unless WithMapListOrder(Ignored) says otherwise.
//
// # What it is not
//
// It does not validate, prune or default: give it objects as storage would hold them (package crd prepares objects of
// custom resources so). It does not know who changed a field (package ownership does), and nothing of metadata.
package immutability
