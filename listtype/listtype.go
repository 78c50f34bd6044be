// Package listtype correlates and compares lists by the topology that x-kubernetes-list-type names: a set is a multiset
// of its items, and a map is a list of items under keys. It does not validate: an API server refuses duplicates, this
// package finds them.
//
// Lists hold JSON as k8s.io/apimachinery/pkg/util/json decodes it. Numbers are equal if their exact values are,
// whatever their form; null, {} and [] differ. Nothing is changed or kept. Lists have fewer than 2^31 items.
package listtype

import "github.com/fieldlock/fieldlock/internal/listindex"

// EqualSets reports whether a and b hold the same items the same number of times, in any order. Nil is an empty set.
// Cost: one comparison for each item and no allocation while the order agrees; from the first item that does not, O(n)
// hashes and comparisons.
func EqualSets(a, b []any) bool { return listindex.EqualSets(a, b, listindex.JSON{}) }

// Unique reports whether no two items of a set are equal. Cost: O(n) hashes, and no allocation in the long run.
func Unique(set []any) bool { return listindex.Unique(set, listindex.JSON{}) }

// Keys are the names of x-kubernetes-list-map-keys, in order: the items of a list-type map are the same item if they
// have the same key tuple. Keys are compared as JSON values, so 80 is not "80", and as tuples, so two different tuples
// are never the same key. An item that is not an object is the same only as an equal value.
type Keys []Key

// Key is one key field of the items. A missing field has the default of that property in the item schema, if
// HasDefault; otherwise missing is a key of its own, which differs from null.
type Key struct {
	Name       string
	Default    any
	HasDefault bool
}

// Tuple returns the key of item as an object of its key fields, without the missing ones.
func (ks Keys) Tuple(item map[string]any) map[string]any { return ks.index().Tuple(item) }

// Match returns for each item of newList the index of the item of oldList with the same key, or -1. ok is false if a
// key is in both lists, and in one of them more than once: then items cannot be matched one to one. Cost: O(n) hashes
// and comparisons.
func (ks Keys) Match(newList, oldList []any) (at []int, ok bool) {
	keys := ks.index()
	return listindex.Match(newList, oldList, &keys)
}

// Duplicates returns the indices of the items that share a key with another one: a row for each such key, in the order
// of the first indices. It returns nil if all keys differ. Cost: O(n) hashes and comparisons.
func (ks Keys) Duplicates(list []any) [][]int {
	return listindex.NewIndex(list, ks.index()).Duplicates()
}

func (ks Keys) index() listindex.Keys {
	keys := make(listindex.Keys, len(ks))
	for i, k := range ks {
		keys[i] = listindex.Key(k)
	}
	return keys
}
