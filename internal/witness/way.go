package witness

import (
	"maps"
	"slices"
)

// way is how updates get around a rule or lock: the sequences to start the search with, and what a sequence keeps.
type way struct {
	starts  []*sequence
	keeps   func(*sequence) bool
	loose   func(*sequence) bool // what a sequence keeps at least, where keeps finds nothing; nil for the same
	targets []path               // of the guarded values in the first object
	through string               // what the way leads through, for people
}

// manyPairs bounds the pairs of values that a guarded field is tried with.
const manyPairs = 8

// pairs returns pairs of different values for the field at p.
func (v *Version) pairs(p path) [][2]any {
	list := values(v.schemaAt(p))
	var found [][2]any
	for i := range list {
		for n := range i {
			if len(found) < manyPairs {
				found = append(found, [2]any{list[n], list[i]}, [2]any{list[i], list[n]})
			}
		}
		if len(found) >= manyPairs {
			break
		}
	}
	if len(found) == 0 {
		return [][2]any{{list[0], list[0]}} // the search varies what else the rule reads
	}
	return found[:min(len(found), manyPairs)]
}

// detour goes through an object without the value at the pattern removed. base is a valid object, and full returns one that
// has a value at a pattern, where it can.
func detour(v *Version, stored *Version, base map[string]any, full func([]string) map[string]any, removed []string, targets [][]string) *way {
	w := &way{}
	at := expand(base, v.Schema, nil, removed)[0]
	versions := []*Version{v, v, v}
	for _, target := range targets {
		if len(target) < len(removed) || !slices.Equal(target[:len(removed)], removed) {
			continue
		}
		to := expand(base, v.Schema, at, target[len(removed):])[0]
		w.targets = append(w.targets, to)
		from := full(target)
		for n, pair := range v.pairs(to) {
			first, ok := put(from, v.Schema, to, pair[0])
			if !ok {
				continue
			}
			last, _ := put(first, v.Schema, to, pair[1])
			for i, middle := range without(v, first, at) {
				s := newSequence(stored, versions, first, middle, last)
				if i == 0 {
					s.gone, s.target = at, to
				}
				w.starts = append(w.starts, s)
			}
			_, inside := get(base, at[:len(at)-1])
			if _, there := get(base, at); inside && !there && n == 0 {
				w.starts = append(w.starts, newSequence(stored, versions, first, base, last))
			}
		}
	}
	w.keeps = func(s *sequence) bool {
		first, okFirst := get(s.objects[0], at)
		middle, _ := get(s.objects[1], at)
		last, okLast := get(s.objects[len(s.objects)-1], at)
		return okFirst && okLast && !blank(first) && !blank(last) && blank(middle)
	}
	w.loose = func(s *sequence) bool {
		first, okFirst := get(s.objects[0], at)
		_, okMiddle := get(s.objects[1], at)
		last, okLast := get(s.objects[len(s.objects)-1], at)
		return okFirst && !okMiddle && okLast && (!blank(first) || !blank(last))
	}
	return w
}

// blank reports whether a value counts as absent in some form: null, {} or [].
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// without returns copies of obj that lack the value at p: left out, null, empty.
func without(v *Version, obj any, p path) []any {
	var list []any
	if gone, ok := remove(obj, p); ok {
		list = append(list, gone)
	}
	at := v.schemaAt(p)
	if at != nil && at.Nullable {
		if null, ok := set(obj, p, nil); ok {
			list = append(list, null)
		}
	}
	if value, _ := get(obj, p); at != nil && !blank(value) {
		switch value.(type) {
		case map[string]any:
			empty, _ := set(obj, p, map[string]any{})
			list = append(list, empty)
		case []any:
			empty, _ := set(obj, p, []any{})
			list = append(list, empty)
		}
	}
	return list
}

// inSteps returns sequences of w with one more object before the last: it has all but the guarded value, which a rule may
// refuse to have from the beginning.
func (w *way) inSteps() []*sequence {
	var list []*sequence
	for _, s := range w.starts {
		for _, to := range w.targets {
			last := s.objects[len(s.objects)-1]
			if value, there := get(last, to); !there || blank(value) {
				continue
			}
			if back, ok := remove(last, to); ok {
				next := newSequence(s.stored, append(s.versions[:2:2], s.versions[2], s.versions[2]), s.objects[0], s.objects[1], back, last)
				list = append(list, next)
				break
			}
		}
	}
	return list
}

// swap goes through an object with another unknown field in the place of the first one.
func swap(v *Version, stored *Version, base map[string]any, open []string) *way {
	w := &way{}
	at := expand(base, v.Schema, nil, open)[0]
	w.targets = []path{at}
	of := func(name string, value any) any {
		obj, _ := put(base, v.Schema, at.child(name), value)
		return obj
	}
	for _, pair := range [][2]any{{int64(1), int64(2)}, {"a", "b"}} {
		w.starts = append(w.starts, newSequence(stored, []*Version{v, v, v}, of("unknownA", pair[0]), of("unknownB", pair[0]), of("unknownA", pair[1])))
	}
	return w
}

// otherVersion goes through an object of version lax, which lacks a rule, a lock or the field.
func otherVersion(strict, lax, stored *Version, base map[string]any, targets [][]string) *way {
	w := &way{}
	for _, target := range targets {
		to := expand(base, strict.Schema, nil, target)[0]
		w.targets = append(w.targets, to)
		versions := []*Version{strict, lax, strict}
		for _, pair := range strict.pairs(to) {
			first, ok := put(base, strict.Schema, to, pair[0])
			if !ok {
				continue
			}
			last, _ := put(first, strict.Schema, to, pair[1])
			if lax.schemaAt(to) != nil {
				w.starts = append(w.starts, newSequence(stored, versions, first, last, last))
				w.starts[len(w.starts)-1].gone, w.starts[len(w.starts)-1].target = to, to
			}
			if gone, ok := remove(first, to); ok {
				w.starts = append(w.starts, newSequence(stored, versions, first, gone, last), newSequence(stored, versions, gone, last, last))
				w.starts[len(w.starts)-2].gone, w.starts[len(w.starts)-2].target = to, to
			}
		}
		if gone, _ := remove(base, to); gone != nil { // a default of one version only
			for _, v := range []*Version{strict, lax} {
				if at := v.schemaAt(to); at != nil && at.Default != nil {
					last, _ := put(gone, strict.Schema, to, at.Default)
					w.starts = append(w.starts, newSequence(stored, versions, gone, gone, last))
				}
			}
		}
	}
	return w
}

// newSequence completes objects with the version of each.
func newSequence(stored *Version, versions []*Version, objects ...any) *sequence {
	s := &sequence{versions: versions, stored: stored}
	for i, obj := range objects {
		obj := maps.Clone(obj.(map[string]any))
		obj["apiVersion"] = versions[i].APIVersion
		s.objects = append(s.objects, obj)
	}
	return s
}
