// Package immutability compiles the immutability annotations of an OpenAPI schema into a tree of small checks, and
// checks updates against it.
//
//	v, err := immutability.Compile(schema)
//	...
//	errs := v.ValidateUpdate(newObj, oldObj)
//
// # The annotations
//
// Four locks come from the Kubernetes proposal for immutable fields. Their value is true, and a schema node has at most
// one of them:
//
//   - x-kubernetes-immutable: neither the value nor its presence may change, for the whole subtree. It is allowed on
//     every node except the root and metadata.
//   - x-kubernetes-immutable-keys: keys may be neither added nor removed; their values may change. It is allowed on an
//     object with additionalProperties and on a list of list-type map.
//   - x-kubernetes-addition-only: keys may not be removed. It is allowed there too, and on a list of list-type set, where
//     it concerns the items.
//   - x-kubernetes-deletion-only: keys may not be added. It is allowed where x-kubernetes-addition-only is.
//
// x-fieldlock-update is a list of words, those of +k8s:update in Kubernetes declarative validation. NoSet, NoUnset and
// NoModify are allowed on every node except the root and metadata, NoAddItem and NoRemoveItem where
// x-kubernetes-addition-only is. A node may have it together with a lock on keys. [NoUnset, NoModify] is "set once".
// For these words null counts as absent; empty values do not, nor do Go's zero values: what is stored decides, on all
// routes alike. The errors of these words are those of +k8s:update.
//
// x-kubernetes-list-type and x-kubernetes-list-map-keys say how lists are compared. x-kubernetes-normalize says which
// values count as absent (package normalize).
//
// # What is compared
//
// A lock is evaluated for every pair of an old and a new value whose container exists in both objects:
//
//   - A property of an object, also where it is absent: a locked property can be neither set nor removed.
//   - A value under a key of additionalProperties, and an item of a list-type map under its key tuple, if both objects
//     have the key. Keys may come and go unless the container is locked.
//   - An item of any other list, by index. Items of a set are never compared with each other.
//
// What is below a container that is added or removed as a whole is free. Lint warns about such holes.
//
// An update is refused if the two values cannot be compared: an object that becomes a list, an item without a key, two
// items with one key that differ between the objects.
//
// # What is equal
//
// Two values are equal if storage would return equal objects, ignoring the order of sets. 1, 1.0 and 1e0 are equal;
// 2^53 and 2^53+1 are not. Null, absent, {} and [] differ unless normalized. Lists of list-type map are ordered unless
// WithMapListOrder(MapListOrderIgnored) is set.
//
// # What it does not do
//
// It does not validate, prune or set defaults: give it objects as storage would hold them. Package crd/prepare prunes
// custom resources and sets their defaults. It does not know who changed a field (package ownership does), and it does
// not look at metadata.
package immutability
