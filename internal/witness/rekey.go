package witness

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// rekey goes through an object in which a key of the map or list at the pattern container is missing.
func rekey(v *Version, stored *Version, base map[string]any, container []string, targets [][]string) *way {
	w := &way{}
	at := expand(base, v.Schema, nil, container)[0]
	keyFields, _ := v.keyFields(at)
	for _, target := range targets {
		if len(target) <= len(container) || !slices.Equal(target[:len(container)], container) {
			continue
		}
		for _, entry := range entries(v, base, at) {
			to := expand(base, v.Schema, entry, target[len(container)+1:])[0]
			w.targets = append(w.targets, to)
			w.starts = append(w.starts, rekeyed(v, stored, base, at, entry, to)...)
		}
	}
	w.keeps = func(s *sequence) bool {
		first, _ := get(s.objects[0], at)
		middle, _ := get(s.objects[1], at)
		last, _ := get(s.objects[len(s.objects)-1], at)
		for _, key := range keysOf(first, keyFields) {
			if slices.Contains(keysOf(last, keyFields), key) && !slices.Contains(keysOf(middle, keyFields), key) {
				return true
			}
		}
		return false
	}
	return w
}

// entries returns the paths of values under a key that can be removed: the first one of the map or list at a path, and one
// more of a list that has some, because a rule may ask for the first.
func entries(v *Version, base map[string]any, at path) []path {
	found := expand(base, v.Schema, at, []string{anyStep})[:1]
	if list, _ := get(base, at); list != nil {
		if list, ok := list.([]any); ok && len(list) > 0 {
			found = append(found, at.child(len(list)))
		}
	}
	return found
}

// rekeyed returns sequences that remove the entry of the map or list at a path, or put another key in its place.
func rekeyed(v, stored *Version, base map[string]any, at, entry, to path) []*sequence {
	keyFields, keyed := v.keyFields(at)
	var starts []*sequence
	for _, pair := range v.pairs(to) {
		first, ok := put(base, v.Schema, to, pair[0])
		if !ok {
			continue
		}
		last, _ := put(first, v.Schema, to, pair[1])
		for _, name := range keyFields {
			if value, ok := get(first, entry.child(name)); ok {
				last, _ = put(last, v.Schema, entry.child(name), value)
			}
		}
		if middle, ok := remove(first, entry); ok {
			starts = append(starts, newSequence(stored, []*Version{v, v, v}, first, middle, last))
		}
		if values := values(v.schemaAt(at)); keyed { // another key in its place
			for _, value := range values {
				if middle, ok := set(first, at, value); ok {
					starts = append(starts, newSequence(stored, []*Version{v, v, v}, first, middle, last))
				}
			}
		}
	}
	return starts
}

// keyFields returns the key fields of the list-type map at p; false for anything else.
func (v *Version) keyFields(p path) ([]string, bool) {
	at := v.schemaAt(p)
	if at == nil {
		return nil, false
	}
	marks, _ := schema.ReadMarks(at.Extensions)
	return marks.ListMapKeys, marks.ListType == schema.ListMap
}

// keysOf returns the keys of a map, of a list with key fields, or without them its indices.
func keysOf(v any, keyFields []string) []string {
	var keys []string
	switch v := v.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(v))
	case []any:
		for i, item := range v {
			if len(keyFields) == 0 {
				keys = append(keys, key(i))
				continue
			}
			object, _ := item.(map[string]any)
			id := ""
			for _, name := range keyFields {
				id += fmt.Sprintf("%T %v\x00", object[name], object[name])
			}
			keys = append(keys, id)
		}
	}
	return keys
}
