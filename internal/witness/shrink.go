package witness

import (
	"maps"
	"slices"
)

// shrink removes what a sequence without problems does not need: properties, keys and items, from all objects at once
// where that is possible, otherwise from one. good judges what is left.
func shrink(c *candidate, good func(*sequence) *candidate) *candidate {
	for again := true; again; {
		again = false
		for _, at := range pathsOf(c.objects) {
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
		_, there := get(s.objects[i], p)
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
				note(v[name], at.child(name), id+"\x00"+name)
			}
		case []any:
			for i, item := range v {
				note(item, at.child(i), id+"\x01"+string(rune(i)))
			}
		}
	}
	for _, obj := range objects {
		walk(obj, nil, "")
	}
	slices.SortStableFunc(found, func(a, b path) int { return len(a) - len(b) })
	return found
}
