package witness

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// combinations returns changes that make the value at p satisfy one branch each of the anyOf, oneOf and allOf of s, and
// not its not.
func combinations(p path, s *spec.Schema) [][]change {
	var sets [][]change
	for i := 0; i < len(s.AllOf) && len(sets) < manyEdits; i++ {
		sets = append(sets, satisfy(p, s, &s.AllOf[i])...)
		sets = append(sets, combinations(p, &s.AllOf[i])...)
	}
	for i := 0; i < len(s.AnyOf) && len(sets) < manyEdits; i++ {
		sets = append(sets, satisfy(p, s, &s.AnyOf[i])...)
	}
	for i := 0; i < len(s.OneOf) && len(sets) < manyEdits; i++ {
		var others []change
		for n := range s.OneOf {
			if n == i {
				continue
			}
			for _, name := range s.OneOf[n].Required {
				if !slices.Contains(s.OneOf[i].Required, name) {
					others = append(others, change{path: p.child(name), gone: true})
				}
			}
		}
		for _, set := range satisfy(p, s, &s.OneOf[i]) {
			sets = append(sets, append(slices.Clone(others), set...))
		}
		if len(others) > 0 {
			sets = append(sets, others)
		}
	}
	if s.Not != nil {
		sets = append(sets, violate(p, s.Not)...)
	}
	return sets
}

// satisfy returns changes that make the value at p, of schema s, satisfy branch too.
func satisfy(p path, s, branch *spec.Schema) [][]change {
	if len(branch.Properties) == 0 && len(branch.Required) == 0 && branch.Not == nil {
		var sets [][]change
		for _, value := range values(both(s, branch)) {
			sets = append(sets, []change{{path: p, value: value}})
		}
		return append(sets, combinations(p, branch)...)
	}
	base := []change{}
	for _, name := range branch.Required {
		property := branch.Properties[name]
		base = append(base, change{path: p.child(name), value: smallest(both(schemaAt(s, path{name}), &property))})
	}
	sets := [][]change{base}
	for _, name := range slices.Sorted(maps.Keys(branch.Properties)) {
		property := branch.Properties[name]
		if own := schemaAt(s, path{name}); own != nil {
			for _, set := range satisfy(p.child(name), own, &property) {
				sets = append(sets, append(slices.Clone(base), set...))
			}
		}
	}
	if branch.Not != nil {
		for _, set := range violate(p, branch.Not) {
			sets = append(sets, append(slices.Clone(base), set...))
		}
	}
	for _, set := range combinations(p, branch) {
		sets = append(sets, append(slices.Clone(base), set...))
	}
	return sets
}

// violate returns changes after which the value at p no longer satisfies s: without what s requires.
func violate(p path, s *spec.Schema) [][]change {
	var sets [][]change
	for _, name := range s.Required {
		sets = append(sets, []change{{path: p.child(name), gone: true}})
	}
	var all []change
	for _, branches := range [][]spec.Schema{s.AnyOf, s.OneOf} {
		for i := range branches {
			for _, name := range branches[i].Required {
				all = append(all, change{path: p.child(name), gone: true})
			}
		}
	}
	if len(all) > 0 {
		sets = append(sets, all)
	}
	return sets
}

// both returns s with what branch says about one value.
func both(s, branch *spec.Schema) *spec.Schema {
	if s == nil {
		return branch
	}
	merged := *s
	if len(branch.Type) > 0 {
		merged.Type = branch.Type
		merged.Extensions = nil // an int-or-string is now one of both
	}
	if len(branch.Enum) > 0 {
		merged.Enum = branch.Enum
	}
	if branch.Pattern != "" {
		merged.Pattern = branch.Pattern
	}
	if branch.Format != "" {
		merged.Format = branch.Format
	}
	for _, bound := range []struct{ to, from **int64 }{
		{&merged.MinLength, &branch.MinLength}, {&merged.MaxLength, &branch.MaxLength},
		{&merged.MinItems, &branch.MinItems}, {&merged.MaxItems, &branch.MaxItems},
		{&merged.MinProperties, &branch.MinProperties}, {&merged.MaxProperties, &branch.MaxProperties},
	} {
		if *bound.from != nil {
			*bound.to = *bound.from
		}
	}
	if branch.Minimum != nil {
		merged.Minimum = branch.Minimum
	}
	if branch.Maximum != nil {
		merged.Maximum = branch.Maximum
	}
	return &merged
}
