package listindex

import (
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Equality says which items of a list are the same one. Equal is an equivalence, and items that are Equal have the
// same Hash under one seed.
type Equality interface {
	Equal(a, b any) bool
	Hash(seed maphash.Seed, v any) uint64
}

// JSON is the equality of JSON values without a schema: lists are ordered, numbers compare by exact value, and null,
// {} and [] differ.
type JSON struct{}

// Equal reports whether a and b are the same JSON value. Cost: O(size) until the first difference, no allocation.
func (JSON) Equal(a, b any) bool { return jsonvalue.Equal(a, b) }

// Hash returns a hash of v that equal values share.
func (JSON) Hash(seed maphash.Seed, v any) uint64 { return jsonvalue.Hash(seed, v) }

// Keys is the equality of the items of a list-type map: same key tuple, whatever else is in them. Keys are compared as
// JSON values, so 80 is not "80", and as tuples, so two different tuples are never the same key. An item that is not an
// object equals only the same value.
type Keys []Key

// Key is one key field: a name of x-kubernetes-list-map-keys, with the default of that property in the item schema.
type Key struct {
	Name       string
	Default    any
	HasDefault bool
}

// Of returns the key's value in item. If the field is missing, Of returns its default. Without a default, ok is
// false: a missing key differs from null.
func (k *Key) Of(item map[string]any) (value any, ok bool) {
	if value, ok = item[k.Name]; ok {
		return value, true
	}
	return k.Default, k.HasDefault
}

// Equal reports whether the items a and b have the same key tuple.
func (ks Keys) Equal(a, b any) bool {
	ma, aok := a.(map[string]any)
	mb, bok := b.(map[string]any)
	if !aok || !bok {
		return aok == bok && jsonvalue.Equal(a, b)
	}
	return ks.Same(ma, mb)
}

// Same is Equal for items that are objects.
func (ks Keys) Same(a, b map[string]any) bool {
	for i := range ks {
		va, aok := ks[i].Of(a)
		vb, bok := ks[i].Of(b)
		if aok != bok || aok && !jsonvalue.Equal(va, vb) {
			return false
		}
	}
	return true
}

// Hash returns a hash of the key tuple of item.
func (ks Keys) Hash(seed maphash.Seed, item any) uint64 {
	m, ok := item.(map[string]any)
	if !ok {
		return jsonvalue.Hash(seed, item)
	}
	h := uint64(hashTuple)
	for i := range ks {
		value, ok := ks[i].Of(m)
		h = hashField(h, seed, value, ok)
	}
	return h
}

const hashTuple = 1

// hashField is the hash of a key tuple with one more field.
func hashField(hash uint64, seed maphash.Seed, value any, ok bool) uint64 {
	if ok {
		hash ^= jsonvalue.Hash(seed, value)
	}
	return jsonvalue.Mix(hash)
}

// Tuple returns the key of item as an object of its key fields, without the missing ones.
func (ks Keys) Tuple(item map[string]any) map[string]any {
	tuple := make(map[string]any, len(ks))
	for i := range ks {
		if value, ok := ks[i].Of(item); ok {
			tuple[ks[i].Name] = value
		}
	}
	return tuple
}

// Aligned reports whether a and b are lists of objects that have the same keys at the same indices, and no key twice.
// Cost: O(n), one pass over the keys, and no allocation in the long run.
func (ks Keys) Aligned(a, b []any) bool {
	if len(a) != len(b) || len(a) > 0 && !ks.Equal(a[0], b[0]) {
		return false
	}
	t := NewTable(len(a))
	defer t.Free()
	for i := range a {
		x, _ := a[i].(map[string]any)
		y, _ := b[i].(map[string]any)
		if x == nil || y == nil {
			return false
		}
		hash := uint64(hashTuple)
		for k := range ks {
			is, ok := ks[k].Of(x)
			was, wasOK := ks[k].Of(y)
			if ok != wasOK || ok && !jsonvalue.Equal(is, was) {
				return false
			}
			hash = hashField(hash, t.Seed, is, ok)
		}
		if t.Put(hash, i, func(j int) bool { return ks.Equal(a[j], x) }) >= 0 {
			return false
		}
	}
	return true
}
