package witness

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// sequence is objects in the order of writing, each in a version. One object alone is only created.
type sequence struct {
	versions []*Version
	objects  []*object // as written
	stored   *Version
	refuser  *Version // judges the direct update; nil for the version of the last object
	edits    int      // how many the search has made
	size     int      // of the objects as JSON, once id was asked for
}

// values returns the objects as they are written.
func (s *sequence) values() []map[string]any {
	values := make([]map[string]any, len(s.objects))
	for i, obj := range s.objects {
		values[i] = obj.value
	}
	return values
}

// direct returns the version that judges the direct update.
func (s *sequence) direct() *Version {
	if s.refuser != nil {
		return s.refuser
	}
	return s.versions[len(s.versions)-1]
}

// judge returns the problems of s, and where s has several objects the reasons for which the direct update from the
// first to the last is refused.
func judge(s *sequence) ([]problem, []Refusal) {
	var problems []problem
	prepared := make([]*object, len(s.objects))
	for i, obj := range s.objects {
		v := s.versions[i]
		var err error
		if prepared[i], err = v.prepare(obj); err != nil {
			return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
		}
		var old *object
		if i > 0 {
			if old, err = v.read(prepared[i-1], s.stored); err != nil {
				return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
			}
		}
		problems = append(problems, v.step(i, prepared[i], old)...)
	}
	last := len(s.objects) - 1
	if last == 0 {
		return problems, nil
	}
	v := s.direct()
	old, err := v.read(prepared[0], s.stored)
	if err != nil {
		return append(problems, problem{at: last, kind: unreadable, message: err.Error()}), nil
	}
	obj := prepared[last]
	if s.refuser != nil {
		obj = v.object(obj.value)
	}
	refusals := v.refused(obj, old)
	if len(refusals) == 0 {
		problems = append(problems, problem{at: last, kind: notRefused})
	}
	return problems, refusals
}

// refused returns the locks and transition rules that refuse an update.
func (v *Version) refused(obj, old *object) []Refusal {
	if first(&obj.compared, old) {
		v.effort.spend(v.weight(obj.contents))
	}
	known, ok := obj.refusals[old.contents]
	if !ok {
		known = v.refusals(obj.value, old.value)
		obj.refusals[old.contents] = known
	}
	return known
}

// step returns the problems of writing the i-th object over old, nil for a create. Both are prepared.
func (v *Version) step(i int, obj, old *object) []problem {
	before := nothing
	if old != nil {
		before = old.contents
	}
	if first(&obj.stepped, old) {
		v.effort.spend(v.weight(obj.contents) + v.weight(before))
	}
	known, ok := obj.steps[before]
	if !ok {
		known = v.problems(obj.contents, before.value)
		obj.steps[before] = known
	}
	problems := make([]problem, len(known))
	for n, p := range known {
		p.at = i
		problems[n] = p
	}
	return problems
}

// patternOf turns a schema path into the pattern of the values there.
func patternOf(schemaPath string) []string {
	pattern := []string{}
	for steps := pointer.Names(schemaPath); len(steps) > 0; {
		switch {
		case steps[0] == "properties" && len(steps) > 1:
			pattern = append(pattern, steps[1])
			steps = steps[2:]
		case (steps[0] == "allOf" || steps[0] == "anyOf" || steps[0] == "oneOf") && len(steps) > 1:
			steps = steps[2:]
		default:
			pattern = append(pattern, anyStep)
			steps = steps[1:]
		}
	}
	return pattern
}

// edit changes some objects of a sequence.
type edit struct {
	objects []int
	changes []change
}

// apply returns s with e applied; false when it changes nothing or cannot be applied to one of the objects.
func (s *sequence) apply(e edit) (*sequence, bool) {
	next := *s
	next.objects, next.edits = slices.Clone(s.objects), s.edits+1
	s.versions[0].effort.spend((1 + len(e.changes)) * (1 + s.size/charactersAStep/stepsPerRule))
	changed := false
	several := slices.ContainsFunc(s.versions, func(v *Version) bool { return v != s.versions[0] })
	for _, i := range e.objects {
		var v any = s.objects[i].value
		for _, c := range e.changes {
			if reserved(c.path) || s.versions[i].schemaAt(c.path) == nil && !c.gone {
				continue // the version lacks the field
			}
			var ok bool
			if c.gone {
				v, ok = c.path.Remove(v)
			} else {
				v, ok = put(v, s.versions[i].node(), c.path, c.value)
			}
			changed = changed || ok
		}
		obj := v.(map[string]any)
		if several { // a value for another version may have more
			obj = s.versions[i].pruned(obj)
		}
		next.objects[i] = s.versions[i].object(obj)
	}
	return &next, changed && !slices.EqualFunc(next.objects, s.objects, func(a, b *object) bool {
		return a.hash == b.hash
	})
}

// scopes are the objects that an edit about the i-th one is tried on.
func (s *sequence) scopes(i int) [][]int {
	all := make([]int, len(s.objects))
	for n := range all {
		all[n] = n
	}
	if len(all) == 1 {
		return [][]int{all}
	}
	scopes := [][]int{all, {0, len(all) - 1}, {i}}
	if i > 0 {
		scopes = append(scopes, []int{i - 1})
	}
	return scopes
}

// manyEdits bounds the edits that are tried for one problem.
const manyEdits = 240

// repairs returns edits that may solve p.
func (s *sequence) repairs(p problem) []edit {
	var sets [][]change
	var edits []edit
	v := s.versions[p.at]
	switch p.kind {
	case invalid:
		sets = s.schemaRepairs(v, p)
	case brokenRule:
		sets = s.ruleRepairs(v, p)
	default:
		return nil
	}
	for _, changes := range sets {
		for _, scope := range s.scopes(p.at) {
			if edits = append(edits, edit{objects: scope, changes: changes}); len(edits) >= manyEdits {
				return edits
			}
		}
	}
	return edits
}

// schemaRepairs repairs what the schema refuses.
func (s *sequence) schemaRepairs(v *Version, p problem) [][]change {
	at := v.schemaAt(p.path)
	switch {
	case p.error.Type == field.ErrorTypeRequired:
		missing := p.path
		if _, ok := fieldpath.Get(s.objects[p.at].value, missing...); ok { // its name is not known to locate
			return nil
		}
		return [][]change{{{path: missing, value: smallest(at)}}}
	case at == nil:
		return [][]change{{{path: p.path, gone: true}}}
	}
	var sets [][]change
	for _, value := range values(at) {
		sets = append(sets, []change{{path: p.path, value: value}})
	}
	sets = append(branches(p.path, at), sets...)
	if len(p.path) > 0 {
		sets = append(sets, []change{{path: p.path, gone: true}})
	}
	return sets
}

// branches returns changes after which the value at p may satisfy one schema of the oneOf or anyOf of s: with the
// fields that the schema requires and the values that it lists for fields, then also without what only the other
// schemas require.
func branches(p path, s *node) [][]change {
	var sets [][]change
	for _, list := range [][]spec.Schema{s.OneOf, s.AnyOf} {
		for i, branch := range list[:min(len(list), manyValues)] {
			var set, others []change
			for _, name := range branch.Required {
				set = append(set, change{path: p.Child(name), value: smallest(s.below(name))})
			}
			for _, name := range slices.Sorted(maps.Keys(branch.Properties)) {
				if enum := branch.Properties[name].Enum; len(enum) > 0 {
					set = append(set, change{path: p.Child(name), value: plain(enum[0])})
				}
			}
			for n := range list {
				for _, name := range list[n].Required {
					if n != i && !slices.Contains(branch.Required, name) {
						others = append(others, change{path: p.Child(name), gone: true})
					}
				}
			}
			sets = append(sets, set, slices.Concat(others, set))
		}
	}
	return sets
}

// ruleRepairs changes what the rule reads: to its constants, to other values of the schema, to nothing.
func (s *sequence) ruleRepairs(v *Version, p problem) [][]change {
	reads := v.reads[p.rule.Text]
	if reads == nil {
		return nil
	}
	var first, second [][]change
	obj := s.objects[p.at].value
	for _, node := range expand(obj, v.node(), nil, patternOf(p.rule.SchemaPath)) {
		if _, ok := fieldpath.Get(obj, node...); !ok {
			continue
		}
		for _, pattern := range reads.patterns {
			for _, at := range expand(obj, v.node(), node, pattern) {
				if reserved(at) {
					continue
				}
				if _, there := fieldpath.Get(obj, at...); there {
					first = append(first, []change{{path: at, gone: true}})
				}
				first = append(first, v.withMembers(obj, at, reads)...)
				v.effort.spend(stepsPerRule)
				if len(first) >= manyEdits {
					return append(s.together(p, v, reads), first...)
				}
				for i, value := range v.valuesFor(at, reads) {
					set := []change{{path: at, value: value}}
					if i < 6 {
						first = append(first, set)
					} else {
						second = append(second, set)
					}
				}
			}
		}
	}
	return append(s.together(p, v, reads), append(first, second...)...)
}

// together sets everything that the rule reads and the object lacks, and removes everything that it has.
func (s *sequence) together(p problem, v *Version, reads *ruleReads) [][]change {
	var set, gone []change
	obj := s.objects[p.at].value
	for _, node := range expand(obj, v.node(), nil, patternOf(p.rule.SchemaPath)) {
		for _, pattern := range reads.patterns {
			at := node
			for _, step := range pattern {
				at = at.Child(step)
			}
			if len(pattern) == 0 || slices.Contains(pattern, anyStep) {
				continue
			}
			if _, there := fieldpath.Get(obj, at...); there {
				gone = append(gone, change{path: at, gone: true})
			} else if list := v.valuesFor(at, reads); len(list) > 0 {
				set = append(set, change{path: at, value: list[0]})
			}
		}
	}
	var sets [][]change
	for _, changes := range [][]change{set, gone} {
		if len(changes) > 1 {
			sets = append(sets, changes)
		}
	}
	return sets
}
