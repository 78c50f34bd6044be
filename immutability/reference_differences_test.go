package immutability_test

import (
	"fmt"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// differences returns the differences that the violation of a lock on s names, one line each, sorted. It returns nil if
// the location itself is all that differs.
func (r *reference) differences(s *spec.Schema, ignored bool, path string, newVal, oldVal refSide) []string {
	var lines []string
	below := false
	r.walkDifferences(s, ignored, path, newVal, oldVal, func(at string, newVal, oldVal refSide) {
		lines = append(lines, differenceLine(at, newVal, oldVal))
		below = below || at != path
	})
	slices.Sort(lines)
	if !below {
		return nil
	}
	return lines
}

func differenceLine(path string, newVal, oldVal refSide) string {
	show := func(s refSide) string {
		if !s.ok {
			return "absent"
		}
		return canonical(s.value)
	}
	return fmt.Sprintf("%s: %s to %s", path, show(oldVal), show(newVal))
}

// walkDifferences calls yield for each place at or below path in which two values differ. What a set or a list that is
// compared by key lost is yielded at the path of the list.
func (r *reference) walkDifferences(s *spec.Schema, ignored bool, path string, newVal, oldVal refSide, yield func(path string, newVal, oldVal refSide)) {
	if !newVal.ok || !oldVal.ok {
		if newVal.ok != oldVal.ok {
			yield(path, newVal, oldVal)
		}
		return
	}
	newMap, isMap := newVal.value.(map[string]any)
	oldMap, wasMap := oldVal.value.(map[string]any)
	newList, isList := newVal.value.([]any)
	oldList, wasList := oldVal.value.([]any)
	switch {
	case isMap && wasMap:
		for key := range newMap {
			child, _ := r.member(s, key)
			r.walkDifferences(child, ignored, path+"."+key, r.side(s, newMap, key), r.side(s, oldMap, key), yield)
		}
		for key := range oldMap {
			if _, both := newMap[key]; !both {
				child, _ := r.member(s, key)
				r.walkDifferences(child, ignored, path+"."+key, refSide{}, r.side(s, oldMap, key), yield)
			}
		}
	case isList && wasList:
		r.walkLists(s, ignored, path, newList, oldList, yield)
	case canonical(newVal.value) != canonical(oldVal.value):
		yield(path, newVal, oldVal)
	}
}

func (r *reference) walkLists(s *spec.Schema, ignored bool, path string, newVal, oldVal []any, yield func(path string, newVal, oldVal refSide)) {
	items := r.items(s)
	at := func(i int) string { return fmt.Sprintf("%s[%d]", path, i) }
	side := func(list []any, i int) refSide {
		if i < 0 || i >= len(list) {
			return refSide{}
		}
		return refSide{list[i], true}
	}
	switch topology := r.mark(s, "x-kubernetes-list-type"); {
	case topology == "set":
		from := &reference{root: r.root, ignored: ignored}
		for _, i := range from.missing(items, newVal, oldVal) {
			yield(at(i), side(newVal, i), refSide{})
		}
		for _, i := range from.missing(items, oldVal, newVal) {
			yield(path, refSide{}, side(oldVal, i))
		}
		return
	case topology == "map" && ignored:
		newKeys, newOK := r.uniqueKeys(s, newVal)
		oldKeys, oldOK := r.uniqueKeys(s, oldVal)
		if newOK && oldOK {
			for i, key := range newKeys {
				r.walkDifferences(items, ignored, at(i), side(newVal, i), side(oldVal, slices.Index(oldKeys, key)), yield)
			}
			for i, key := range oldKeys {
				if !slices.Contains(newKeys, key) {
					yield(path, refSide{}, side(oldVal, i))
				}
			}
			return
		}
		if r.text(s, ignored, newVal) == r.text(s, ignored, oldVal) {
			return
		}
	}
	for i := range max(len(newVal), len(oldVal)) {
		r.walkDifferences(items, ignored, at(i), side(newVal, i), side(oldVal, i), yield)
	}
}

// uniqueKeys returns the keys of a keyed list; ok is false if one is repeated, or an item has none.
func (r *reference) uniqueKeys(s *spec.Schema, list []any) (keys []string, ok bool) {
	for _, item := range list {
		if _, isObject := item.(map[string]any); !isObject {
			return nil, false
		}
		key, _ := r.key(s, item)
		if slices.Contains(keys, key) {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, true
}
