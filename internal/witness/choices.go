package witness

import (
	"reflect"
	"slices"
)

// valuesFor returns values for the field at p: first what fits the constants of a rule, then the schema's values. It
// is long because each constraint of a schema gives other values.
func (v *Version) valuesFor(p path, reads *ruleReads) []any {
	at := v.schemaAt(p)
	if at == nil {
		return nil
	}
	var list []any
	add := func(value any) {
		if len(list) < manyEdits && !slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(other, value) }) {
			list = append(list, value)
		}
	}
	isText := at.Type.Contains("string") && len(at.Enum) == 0
	isNumber := at.Type.Contains("integer") || at.Type.Contains("number")
	for _, value := range values(at)[:1] {
		add(value)
	}
	if at.Items != nil && at.Items.Schema != nil && at.Items.Schema.Type.Contains("string") {
		var texts []any
		for _, literal := range reads.literals {
			if text, ok := literal.(string); ok && !slices.Contains(texts, literal) {
				texts = append(texts, text)
			}
		}
		for i := 1; i < min(len(texts), 4); i++ {
			add([]any{texts[0], texts[i]})
		}
	}
	for _, literal := range reads.literals {
		switch literal := literal.(type) {
		case string:
			if at.Type.Contains("string") && (len(at.Enum) == 0 || slices.Contains(at.Enum, any(literal))) {
				add(literal)
			}
		case int64:
			if isNumber {
				add(literal)
				add(literal + 1)
				add(literal - 1)
			}
		case bool:
			if at.Type.Contains("boolean") {
				add(literal)
			}
		}
	}
	if isText {
		for _, regex := range reads.regexes {
			for _, text := range matching(regex, 0, manyValues) {
				add(text)
			}
		}
		for _, literal := range reads.literals {
			if text, ok := literal.(string); ok && text != "" {
				add(text + "a")
				add("a" + text)
			}
		}
	}
	for _, value := range values(at) {
		add(value)
	}
	if isText && at.Pattern == "" && at.Format == "" {
		for _, text := range usual {
			add(text)
		}
	}
	return list
}

// withMembers adds the constants of a rule to the map or list at p: as keys, or as items.
func (v *Version) withMembers(obj any, p path, reads *ruleReads) [][]change {
	at := v.schemaAt(p)
	if at == nil {
		return nil
	}
	keyed := at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil
	listed := at.Items != nil && at.Items.Schema != nil && at.Items.Schema.Type.Contains("string")
	if !keyed && !listed {
		return nil
	}
	current, _ := get(obj, p)
	list, _ := current.([]any)
	var sets [][]change
	var all []change
	for _, literal := range reads.literals {
		text, ok := literal.(string)
		switch {
		case !ok:
		case len(sets) >= manyEdits:
			return sets
		case keyed:
			c := change{path: p.child(text), value: smallest(at.AdditionalProperties.Schema)}
			sets, all = append(sets, []change{c}), append(all, c)
		case len(at.Items.Schema.Enum) == 0 || slices.Contains(at.Items.Schema.Enum, any(text)):
			sets = append(sets, []change{{path: p, value: append(slices.Clone(list), text)}})
		}
	}
	if len(all) > 1 {
		sets = append(sets, all)
	}
	return sets
}
