// Package immutability compiles the immutability annotations of an OpenAPI schema into a tree of small checks, and
// checks updates against it.
//
//	v, err := immutability.Compile(schema)
//	...
//	errs := v.ValidateUpdate(newObj, oldObj)
//
// The annotations are x-kubernetes-immutable, -immutable-keys, -addition-only and -deletion-only of the Kubernetes
// proposal for immutable fields, and x-fieldlock-update with the words of declarative validation: NoSet, NoUnset,
// NoModify, NoAddItem, NoRemoveItem. x-kubernetes-list-type and -list-map-keys say how lists are compared, and
// x-kubernetes-normalize which spellings of "nothing" are one.
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
