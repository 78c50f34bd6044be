package witness

import (
	"maps"
	"strings"
)

// Valid returns a small object that version accepts as a new one, and whether there is one within a bounded effort.
func (k *Kind) Valid(version *Version) (map[string]any, bool) {
	if obj, ok := k.bases[version]; ok {
		return obj, obj != nil
	}
	if k.bases == nil {
		k.bases = map[*Version]map[string]any{}
	}
	k.bases[version] = nil
	if version.compile() != nil {
		return nil, false
	}
	obj, _ := smallest(version.Schema).(map[string]any)
	if obj == nil {
		obj = map[string]any{}
	}
	obj = maps.Clone(obj)
	obj["apiVersion"], obj["kind"] = version.APIVersion, version.Kind
	obj["metadata"] = map[string]any{"name": "example"}
	start := newSequence(k.stored(version), []*Version{version}, obj)
	if found := (&search{budget: validEffort}).run([]*sequence{start}); found != nil {
		k.bases[version] = found.objects[0]
	}
	return k.bases[version], k.bases[version] != nil
}

// with returns a small valid object that has a value at a pattern, or as many steps of it as can be reached within a
// bounded effort. It goes one step at a time, so that what several holes have in common is made valid once.
func (k *Kind) with(version *Version, pattern []string) (map[string]any, bool) {
	base, ok := k.Valid(version)
	for n := 1; ok && n <= len(pattern); n++ {
		id := baseID{version, strings.Join(pattern[:n], "\x01")}
		if known, made := k.containing[id]; made && known == nil {
			break
		} else if made {
			base = known
			continue
		}
		at := expand(base, version.Schema, nil, pattern[:n])[0]
		if value, there := get(base, at); there && value != nil {
			continue
		}
		if k.containing == nil {
			k.containing = map[baseID]map[string]any{}
		}
		var extended map[string]any
		if k.wasted <= manyWasted {
			extended = k.extend(version, base, at)
		}
		k.containing[id] = extended
		if extended == nil {
			break
		}
		base = extended
	}
	return base, ok
}

// extend returns a valid object made from base that has a value at a path, nil where it finds none.
func (k *Kind) extend(version *Version, base map[string]any, at path) map[string]any {
	var starts []*sequence
	for _, value := range values(version.schemaAt(at)) {
		if obj, ok := put(base, version.Schema, at, value); ok && len(starts) < manyStarts {
			starts = append(starts, newSequence(k.stored(version), []*Version{version}, obj))
		}
	}
	has := func(s *sequence) bool { v, ok := get(s.objects[0], at); return ok && v != nil }
	before := version.evaluations
	if found := (&search{budget: validEffort, keeps: has}).run(starts); found != nil {
		return found.objects[0]
	}
	k.wasted += version.evaluations - before
	return nil
}
