package witness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// A rule of any form can accept two updates and refuse both at once: self == 0 || self >= oldSelf accepts 3 to 0 and 0
// to 1. Which values matter to it is not known, so objects decide: valid ones that differ in what the rule reads, each
// in one or more of its fields. The rules judge every pair of these states, and a state between two others is the way
// around.

// How many fields of a rule the states differ in, and how many states there are.
const (
	manyFields = 4
	manyStates = 24
	// stateEffort is how many objects are judged to make a state valid.
	stateEffort = 40
)

// twoSteps goes through an object in which everything is there that the rule guards.
func (k *Kind) twoSteps(v *Version, base map[string]any, h Hole) *way {
	w := &way{rule: v.ruleOf(h.Around)}
	if w.rule == nil {
		return w
	}
	node := expand(base, v.node(), nil, patternOf(h.SchemaPath))[0]
	for _, target := range k.targets(v, h) {
		w.targets = append(w.targets, expand(base, v.node(), nil, target)[0])
	}
	w.keeps = func(s *sequence) bool { return w.runs(s, node) }
	reads := v.reads[w.rule.Text]
	w.read = v.fields(base, node, reads)
	w.starts = k.around(v, k.states(v, base, w.read, reads), w)
	return w
}

// runs reports whether s has a value at node in all objects, and in the middle each target that is in the others.
func (w *way) runs(s *sequence, node path) bool {
	for _, object := range s.objects {
		if len(node) > 0 && !has(object.value, node) {
			return false
		}
	}
	first, middle, last := s.objects[0].value, s.objects[1].value, s.objects[len(s.objects)-1].value
	return !slices.ContainsFunc(w.targets, func(p path) bool {
		return has(first, p) && has(last, p) && !has(middle, p)
	})
}

// has reports whether an object has a value other than null at p.
func has(obj map[string]any, p path) bool {
	v, ok := fieldpath.Get(obj, p...)
	return ok && v != nil
}

// oneSided reports whether each update of s, and the one from the first object to the last, changes the status or
// everything else: with the status subresource, an update does not change both.
func (s *sequence) oneSided() bool {
	apart := func(a, b map[string]any) bool {
		status, rest := false, false
		for _, name := range slices.Concat(keysOf(a, nil), keysOf(b, nil)) {
			if name != "apiVersion" && !jsonvalue.Equal(a[name], b[name]) {
				status, rest = status || name == "status", rest || name != "status"
			}
		}
		return status && rest
	}
	last := len(s.objects) - 1
	for i := range last {
		if apart(s.objects[i].value, s.objects[i+1].value) {
			return false
		}
	}
	return !apart(s.objects[0].value, s.objects[last].value)
}

// asText returns v as JSON, to compare and to show it.
func asText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// sizeOf returns the length of asText(v), where no list or map is nil.
func sizeOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		n := 1 + max(len(v), 1)
		for name, member := range v {
			n += sizeOf(name) + 1 + sizeOf(member)
		}
		return n
	case []any:
		n := 1 + max(len(v), 1)
		for _, item := range v {
			n += sizeOf(item)
		}
		return n
	case string:
		if !strings.ContainsFunc(v, func(r rune) bool {
			return r < ' ' || r >= utf8.RuneSelf || strings.ContainsRune(`"\<>&`, r) || r == 0x7f
		}) {
			return len(v) + 2
		}
	case bool, int64:
		return len(fmt.Sprint(v))
	}
	return len(asText(v))
}

// states returns valid objects made from base that differ in some fields.
func (k *Kind) states(v *Version, base map[string]any, fields []path, reads *ruleReads) []map[string]any {
	most := manyStates
	for len(fields) > 1 && power(most, len(fields)) > manyStates {
		most--
	}
	states := []map[string]any{base}
	seen := map[string]bool{asText(base): true}
	for i, at := range fields {
		var choices []change
		for _, c := range v.choices(at, reads) {
			if len(choices) == most {
				break
			}
			if _, ok := k.changed(v, base, c, fields[i:i+1]); ok {
				choices = append(choices, c)
			}
		}
		for _, from := range slices.Clone(states) {
			for _, c := range choices {
				obj, ok := k.changed(v, from, c, fields[:i+1])
				if id := asText(obj); ok && !seen[id] && len(states) < manyStates {
					seen[id] = true
					states = append(states, obj)
				}
			}
		}
	}
	return states
}

// changed returns a valid object that differs from obj in c, and keeps what it has at some fields.
func (k *Kind) changed(v *Version, obj map[string]any, c change, fields []path) (map[string]any, bool) {
	start, ok := newSequence(k.stored(v), []*Version{v}, obj).apply(edit{objects: []int{0}, changes: []change{c}})
	if !ok || v.effort.over() {
		return nil, false
	}
	kept := func(s *sequence) bool {
		return !slices.ContainsFunc(fields, func(at path) bool {
			was, wasThere := fieldpath.Get(start.objects[0].value, at...)
			is, isThere := fieldpath.Get(s.objects[0].value, at...)
			return wasThere != isThere || asText(was) != asText(is)
		})
	}
	found := (&search{budget: stateEffort, keeps: kept}).run([]*sequence{start})
	if found == nil {
		return nil, false
	}
	return found.objects[0].value, true
}

func power(n, times int) int {
	result := 1
	for range times {
		result *= n
	}
	return result
}

// fields returns what a rule at node reads in obj, without what is above another field that it reads.
func (v *Version) fields(obj map[string]any, node path, reads *ruleReads) []path {
	var all []path
	for _, pattern := range slices.Concat(reads.patterns, [][]string{{}}) {
		if i := slices.Index(pattern, anyStep); i >= 0 {
			pattern = pattern[:i]
		}
		at := expand(obj, v.node(), node, pattern)[0]
		if !reserved(at) && !slices.ContainsFunc(all, func(p path) bool { return slices.Equal(p, at) }) {
			all = append(all, at)
		}
	}
	above := func(at path) bool {
		return slices.ContainsFunc(all, func(p path) bool { return len(p) > len(at) && p.Within(at) })
	}
	leaves := slices.DeleteFunc(slices.Clone(all), above)
	return leaves[:min(len(leaves), manyFields)]
}

// choices returns changes of the field at p: to what the constants of a rule, of the other rules that read the field,
// and the schema suggest, and to nothing.
func (v *Version) choices(p path, reads *ruleReads) []change {
	at := v.schemaAt(p)
	if at == nil {
		return nil
	}
	reads = &ruleReads{literals: slices.Clone(reads.literals), regexes: reads.regexes}
	for _, r := range v.rules.Rules() {
		v.effort.spend(1)
		node := patternOf(r.SchemaPath)
		for _, pattern := range v.reads[r.Text].patterns {
			if len(node)+len(pattern) == len(p) && meets(slices.Concat(node, pattern), p) {
				reads.literals = append(reads.literals, v.reads[r.Text].literals...)
				break
			}
		}
	}
	reads.literals = distinctOf(reads.literals)
	var list []change
	add := func(value any) { list = append(list, change{path: p, value: value}) }
	if at.Default != nil {
		add(plain(at.Default))
	}
	if at.Items != nil && at.Items.Schema != nil && at.Items.Schema.Type.Contains("string") {
		for _, literal := range reads.literals {
			if text, ok := literal.(string); ok && len(list) < manyFields {
				add([]any{text})
			}
		}
	}
	for _, value := range v.valuesFor(p, reads) {
		if len(list) < manyStates/2 {
			add(value)
		}
	}
	return slices.Insert(list, min(len(list), 2), change{path: p, gone: true})
}

// distinctOf returns each of some scalars once.
func distinctOf(all []any) []any {
	var list []any
	for _, v := range all {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// around returns the first sequences of three states such that all rules and locks accept the two steps, and the rule
// of w refuses the direct way.
func (k *Kind) around(v *Version, states []map[string]any, w *way) []*sequence {
	prepared := make([]*object, len(states))
	stored := make([]*object, len(states))
	for i, obj := range states {
		var err error
		if prepared[i], err = v.prepare(v.object(obj)); err != nil {
			return nil
		}
		if stored[i], err = v.read(prepared[i], k.stored(v)); err != nil {
			return nil
		}
	}
	known := map[[2]int][]Refusal{}
	judged := map[[2]int]bool{}
	refusals := func(from, to int) []Refusal {
		at := [2]int{from, to}
		if !judged[at] {
			judged[at], known[at] = true, v.refused(prepared[to], stored[from])
		}
		return known[at]
	}
	var starts, others []*sequence // those after which all that the rule guards is still there, and the others
	for first := range states {
		for last := range states {
			if v.effort.over() || len(starts) == manyStarts {
				return starts
			}
			if first == last || !slices.ContainsFunc(refusals(first, last), w.concerns) {
				continue
			}
			for middle := range states {
				if middle == first || middle == last || len(refusals(first, middle)) > 0 ||
					len(refusals(middle, last)) > 0 {
					continue
				}
				s := newSequence(k.stored(v), []*Version{v, v, v}, states[first], states[middle], states[last])
				if !w.keeps(s) || !s.oneSided() {
					continue
				}
				if slices.ContainsFunc(w.targets,
					func(at path) bool { return has(states[first], at) && !has(states[last], at) }) {
					others = append(others, s)
				} else {
					starts = append(starts, s)
				}
				break
			}
		}
	}
	return append(starts, others[:min(len(others), manyStarts)]...)
}

// Change says what the fields that the rule reads are in the objects, as far as they differ: spec.class is "B", "A",
// "C".
func (s Shown) Change() string {
	var texts []string
	for _, at := range s.way.read {
		var values []string
		for _, obj := range s.found.objects {
			text := "absent"
			if value, ok := fieldpath.Get(obj.value, at...); ok {
				text = short(asText(value))
			}
			values = append(values, text)
		}
		if len(slices.Compact(slices.Clone(values))) > 1 {
			texts = append(texts, at.String()+" is "+strings.Join(values, ", then "))
		}
	}
	return strings.Join(texts, "; ")
}

// short cuts a long text.
func short(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
