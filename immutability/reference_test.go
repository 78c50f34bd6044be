package immutability_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// reference is section 2 of the contract, written down as naively as possible: it walks schema and objects together,
// compares values by a canonical text, and correlates items by searching. It reports each violation as a line.
type reference struct {
	root    *spec.Schema
	ignored bool // order of keyed lists
	lines   []string
	below   map[string][]string // by line of a violation of a whole value: its differences
}

// refSide is a value that may be absent.
type refSide struct {
	value any
	ok    bool
}

func (s refSide) there() bool { return s.ok && s.value != nil }

// checkByReference evaluates an update: the violations are in lines, sorted.
func checkByReference(root *spec.Schema, ignored bool, new, old map[string]any) *reference {
	r := &reference{root: root, ignored: ignored, below: map[string][]string{}}
	r.pair(root, "", refSide{new, true}, refSide{old, true})
	slices.Sort(r.lines)
	return r
}

func line(path string, lock any, key any, hasKey bool) string {
	text := fmt.Sprintf("%s %v", path, lock)
	if hasKey {
		text += " " + canonical(key)
	}
	return text
}

func (r *reference) resolve(s *spec.Schema) *spec.Schema {
	for s != nil && s.Ref.String() != "" {
		def := r.root.Definitions[strings.TrimPrefix(s.Ref.String(), "#/definitions/")]
		s = &def
	}
	return s
}

// mark returns a key of s, or of what its $ref leads to.
func (r *reference) mark(s *spec.Schema, key string) any {
	if s == nil {
		return nil
	}
	if v := s.Extensions[key]; v != nil {
		return v
	}
	return r.resolve(s).Extensions[key]
}

func (r *reference) on(s *spec.Schema, key string) bool { return r.mark(s, key) == true }

// word reports whether a word stands beside s, or on what its $ref leads to.
func (r *reference) word(s *spec.Schema, word string) bool {
	here, _ := s.Extensions["x-fieldlock-update"].([]any)
	there, _ := r.resolve(s).Extensions["x-fieldlock-update"].([]any)
	return slices.Contains(here, any(word)) || slices.Contains(there, any(word))
}

// member returns the schema of a member, and whether it is a named property.
func (r *reference) member(s *spec.Schema, key string) (*spec.Schema, bool) {
	s = r.resolve(s)
	if s == nil {
		return nil, false
	}
	if p, ok := s.Properties[key]; ok {
		return &p, true
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema, false
	}
	return nil, false
}

func (r *reference) items(s *spec.Schema) *spec.Schema {
	if s = r.resolve(s); s != nil && s.Items != nil {
		return s.Items.Schema
	}
	return nil
}

// side is a member as the locks see it: what normalization makes absent is absent.
func (r *reference) side(s *spec.Schema, object map[string]any, key string) refSide {
	value, ok := object[key]
	if child, _ := r.member(s, key); ok && r.blank(child, value) {
		return refSide{}
	}
	return refSide{value, ok}
}

// blank reports whether the mark on s makes value count as absent.
func (r *reference) blank(s *spec.Schema, value any) bool {
	mode := r.mark(s, "x-kubernetes-normalize")
	if mode == nil {
		return false
	}
	zero := mode == "zero"
	is := func(t string) bool { return !zero || slices.Contains(r.resolve(s).Type, t) }
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0 && is("array")
	case map[string]any:
		for key := range value {
			if r.side(s, value, key).ok {
				return false
			}
		}
		return is("object")
	case string:
		return zero && value == "" && is("string")
	case bool:
		return zero && !value && is("boolean")
	}
	return zero && canonical(value) == canonical(int64(0)) && (is("integer") || is("number"))
}

// locked reports whether a lock stands on s or below it.
func (r *reference) locked(s *spec.Schema, seen map[string]bool) bool {
	if s == nil {
		return false
	}
	for _, key := range []string{"x-kubernetes-immutable", "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only", "x-fieldlock-update"} {
		if r.mark(s, key) != nil {
			return true
		}
	}
	if ref := s.Ref.String(); ref != "" {
		if seen[ref] {
			return false
		}
		seen = maps.Clone(seen)
		seen[ref] = true
	}
	return r.lockedBelow(s, seen)
}

func (r *reference) lockedBelow(s *spec.Schema, seen map[string]bool) bool {
	s = r.resolve(s)
	for _, p := range s.Properties {
		if r.locked(&p, seen) {
			return true
		}
	}
	return s.AdditionalProperties != nil && r.locked(s.AdditionalProperties.Schema, seen) || r.locked(r.items(s), seen)
}

// keyLocks lists the locks on the keys of s: whether each refuses to add, and to remove.
func (r *reference) keyLocks(s *spec.Schema) map[string][2]bool {
	locks := map[string][2]bool{}
	for key, refuses := range map[string][2]bool{"x-kubernetes-immutable-keys": {true, true}, "x-kubernetes-addition-only": {false, true}, "x-kubernetes-deletion-only": {true, false}} {
		if r.on(s, key) {
			locks[strings.TrimPrefix(key, "x-kubernetes-")] = refuses
		}
	}
	if r.word(s, "NoAddItem") {
		locks["NoAddItem"] = [2]bool{true, false}
	}
	if r.word(s, "NoRemoveItem") {
		locks["NoRemoveItem"] = [2]bool{false, true}
	}
	return locks
}

func (r *reference) report(path, lock string) {
	r.lines = append(r.lines, line(path, lock, nil, false))
}

func (r *reference) reportKey(path, lock string, key any) {
	r.lines = append(r.lines, line(path, lock, key, true))
}

// pair evaluates the locks of s on one pair.
func (r *reference) pair(s *spec.Schema, path string, new, old refSide) {
	if s == nil {
		return
	}
	ignored := r.mark(s, "x-fieldlock-map-list-order") != nil || r.ignored
	text := func(side refSide) string { return r.text(s, ignored, side.value) }
	whole := func(lock string) {
		r.report(path, lock)
		r.below[line(path, lock, nil, false)] = r.differences(s, ignored, path, new, old)
	}
	if r.on(s, "x-kubernetes-immutable") {
		if new.ok != old.ok || new.ok && text(new) != text(old) {
			whole("immutable")
		}
		return
	}
	switch {
	case new.there() && !old.there() && r.word(s, "NoSet"):
		r.report(path, "NoSet")
	case old.there() && !new.there() && r.word(s, "NoUnset"):
		r.report(path, "NoUnset")
	case new.there() && old.there() && r.word(s, "NoModify") && text(new) != text(old):
		whole("NoModify")
	}
	locks := r.keyLocks(s)
	if len(locks) == 0 && !r.lockedBelow(s, map[string]bool{}) {
		return
	}
	if new.there() && old.there() && kind(new.value) != kind(old.value) {
		r.report(path, "incomparable")
		return
	}
	newMap, isMap := new.value.(map[string]any)
	oldMap, wasMap := old.value.(map[string]any)
	newList, isList := new.value.([]any)
	oldList, wasList := old.value.([]any)
	switch {
	case isMap || wasMap:
		r.object(s, path, locks, newMap, oldMap)
	case isList || wasList:
		r.list(s, path, locks, newList, oldList)
	}
}

func kind(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "list"
	}
	return "scalar"
}

func (r *reference) object(s *spec.Schema, path string, locks map[string][2]bool, new, old map[string]any) {
	target := r.resolve(s)
	if new != nil && old != nil {
		for name, p := range target.Properties {
			to := name
			if path != "" {
				to = path + "." + name
			}
			r.pair(&p, to, r.side(s, new, name), r.side(s, old, name))
		}
	}
	if target.AdditionalProperties == nil {
		return
	}
	for key := range new {
		child, named := r.member(s, key)
		if was, ok := old[key]; ok && !named {
			r.pair(child, fmt.Sprintf("%s[%s]", path, key), refSide{new[key], true}, refSide{was, true})
		} else if !named {
			for lock, refuses := range locks {
				if refuses[0] {
					r.report(fmt.Sprintf("%s[%s]", path, key), lock)
				}
			}
		}
	}
	for key := range old {
		_, named := r.member(s, key)
		if _, ok := new[key]; ok || named {
			continue
		}
		for lock, refuses := range locks {
			if refuses[1] {
				r.reportKey(path, lock, key)
			}
		}
	}
}
