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
