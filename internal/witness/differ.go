package witness

import (
	"slices"
)

// manyDifferences bounds the values of one field that are tried to make the last object differ.
const manyDifferences = 6

// differences returns edits after which the last object may differ from the first in what is guarded: other values of the
// guarded fields, and of what the transition rules there read.
func (w *way) differences(s *sequence) []edit {
	var edits []edit
	last := len(s.objects) - 1
	v := s.versions[last]
	change := func(at path, list []any) {
		for _, value := range list[:min(len(list), manyDifferences)] {
			c := []change{{path: at, value: value}}
			edits = append(edits, edit{objects: []int{last}, changes: c}, edit{objects: []int{0}, changes: c})
		}
		gone := []change{{path: at, gone: true}}
		edits = append(edits, edit{objects: []int{last}, changes: gone}, edit{objects: []int{0}, changes: gone})
	}
	for _, target := range w.targets {
		for _, r := range v.rules.Rules() {
			v.effort.spend(1)
			if !v.transition[r] || !meets(patternOf(r.SchemaPath), target) {
				continue
			}
			if len(edits) >= manyEdits {
				return edits[:manyEdits]
			}
			for _, g := range v.goalsOf(s.objects[last], r, false) {
				if touches(g, target) {
					edits = append(edits, s.reach(g, last, 0)...)
				}
			}
			for _, node := range expand(s.objects[last], v.Schema, nil, patternOf(r.SchemaPath)) {
				if !node.starts(target) && !target.starts(node) {
					continue
				}
				for _, pattern := range v.reads[r.Text].patterns {
					for _, at := range expand(s.objects[last], v.Schema, node, pattern) {
						if len(at) > 1 && (at.starts(target) || target.starts(at)) {
							change(at, v.valuesFor(at, v.reads[r.Text]))
						}
					}
				}
			}
		}
		change(target, values(v.schemaAt(target)))
	}
	return edits[:min(len(edits), manyEdits)]
}

// meets reports whether a value at pattern can be at, above or below a path. A rule that meets no guarded value changes
// none.
func meets(pattern []string, p path) bool {
	for i := range min(len(pattern), len(p)) {
		if name, ok := p[i].(string); ok && pattern[i] != anyStep && pattern[i] != name {
			return false
		}
	}
	return true
}

// touches reports whether g changes something at, below or above target.
func touches(g goal, target path) bool {
	return slices.ContainsFunc(slices.Concat(g.self, g.old), func(c change) bool { return c.path.starts(target) || target.starts(c.path) })
}
