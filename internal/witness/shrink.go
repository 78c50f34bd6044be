package witness

import (
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// A witness is printed, so it is made small: one property, key or item after the other is left out while the rest still
// shows the hole. Of {backup: {bucket: a, region: x}, size: 1}, a way around the lock of bucket needs only {backup:
// {bucket: a}}.

// shortest returns the smallest witness that is left of found.
func (w *way) shortest(found *candidate) Witness {
	found = shrink(found, func(s *sequence) *candidate { return w.within(1).add(s, nil, problem{}) })
	return Witness{Objects: found.values(),
		Refused: slices.DeleteFunc(slices.Clone(found.refusals), func(r Refusal) bool { return !w.concerns(r) })}
}

// shrink removes what a sequence without problems does not need: properties, keys and items, from all objects at once
// where that is possible, otherwise from one. good judges what is left.
func shrink(c *candidate, good func(*sequence) *candidate) *candidate {
	for again := true; again; {
		again = false
		for _, at := range pathsOf(c.values()) {
			for _, scope := range c.scopes(0) {
				if c.versions[0].effort.over() {
					return c
				}
				if c.needs(at, scope) {
					continue
				}
				next, ok := c.apply(edit{objects: scope, changes: []change{{path: at, gone: true}}})
				if !ok {
					continue
				}
				if smaller := good(next); smaller != nil {
					c, again = smaller, true
					break
				}
			}
			if again {
				break
			}
		}
	}
	return c
}

// needs reports whether the schema asks for a value at p in some of the objects, so that none of them can do without.
func (s *sequence) needs(p path, objects []int) bool {
	name, isName := p[len(p)-1].(string)
	return isName && slices.ContainsFunc(objects, func(i int) bool {
		v := s.versions[i]
		above, at := v.schemaAt(p[:len(p)-1]), v.schemaAt(p)
		_, there := fieldpath.Get(s.objects[i].value, p...)
		return there && above != nil && slices.Contains(above.Required, name) && (at == nil || at.Default == nil)
	})
}

// pathsOf lists what can be removed from objects, the largest values first. Names and kinds stay.
func pathsOf(objects []map[string]any) []path {
	var found []path
	seen := map[string]bool{}
	var walk func(v any, at path, id string)
	note := func(v any, at path, id string) {
		if !seen[id] {
			seen[id] = true
			found = append(found, at)
		}
		walk(v, at, id)
	}
	walk = func(v any, at path, id string) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if len(at) == 0 && (name == "metadata" || name == "apiVersion" || name == "kind") {
					continue
				}
				note(v[name], at.Child(name), id+"\x00"+name)
			}
		case []any:
			for i, item := range v {
				note(item, at.Child(i), id+"\x01"+string(rune(i)))
			}
		}
	}
	for _, obj := range objects {
		walk(obj, nil, "")
	}
	slices.SortStableFunc(found, func(a, b path) int { return len(a) - len(b) })
	return found
}
