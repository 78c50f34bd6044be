package witness

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// sequence is objects in the order of writing, each in a version. One object alone is only created.
type sequence struct {
	versions []*Version
	objects  []map[string]any // as written
	stored   *Version
	edits    int // how many the search has made
	size     int // of the objects as JSON, once id was asked for

	// gone and target are where the middle object lacks a value, and the guarded value in the others; nil for ways that
	// are not staged.
	gone, target path
}

// judge returns the problems of s, and where s has several objects the reasons for which the direct update from the first
// to the last is refused.
func judge(s *sequence) ([]problem, []Refusal) {
	var problems []problem
	prepared := make([]map[string]any, len(s.objects))
	for i, obj := range s.objects {
		v := s.versions[i]
		var err error
		if prepared[i], err = v.prepare(obj); err != nil {
			return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
		}
		var old map[string]any
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
	v := s.versions[last]
	old, err := v.read(prepared[0], s.stored)
	if err != nil {
		return append(problems, problem{at: last, kind: unreadable, message: err.Error()}), nil
	}
	refusals := v.refused(prepared[last], old)
	if len(refusals) == 0 {
		problems = append(problems, problem{at: last, kind: notRefused})
	}
	return problems, refusals
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
	and     *edit // what is changed too, or nil
}

// apply returns s with e applied; false when it changes nothing or cannot be applied to one of the objects.
func (s *sequence) apply(e edit) (*sequence, bool) {
	next := *s
	next.objects, next.edits = slices.Clone(s.objects), s.edits+1
	s.versions[0].effort.spend((1 + len(e.changes)) * (1 + s.size/charactersAStep/stepsPerRule))
	changed := false
	for _, i := range e.objects {
		var v any = s.objects[i]
		for _, c := range e.changes {
			if c.path.reserved() || s.versions[i].schemaAt(c.path) == nil && !c.gone {
				continue // the version lacks the field
			}
			var ok bool
			if c.gone {
				v, ok = remove(v, c.path)
			} else {
				v, ok = put(v, s.versions[i].Schema, c.path, c.valueIn(v))
			}
			changed = changed || ok
		}
		next.objects[i] = v.(map[string]any)
	}
	if e.and != nil {
		if also, ok := next.apply(*e.and); ok {
			also.edits--
			return also, true
		}
	}
	return &next, changed && !reflect.DeepEqual(next.objects, s.objects)
}

// valueIn returns the value that c sets in obj.
func (c change) valueIn(obj any) any {
	before, _ := get(obj, c.path)
	list, isList := before.([]any)
	if !c.join || !isList {
		return c.value
	}
	return slices.Concat(list, c.value.([]any))
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
		for _, g := range v.goalsOf(s.objects[p.at], *p.rule, true) {
			edits = append(edits, s.reach(g, p.at, p.at-1)...)
		}
		sets = s.ruleRepairs(v, p)
	case brokenLock:
		sets = s.restore(p.at, p.path)
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

// goalsOf returns what gives a rule the wanted truth wherever it applies in obj.
func (v *Version) goalsOf(obj map[string]any, r celrun.Rule, truth bool) []goal {
	reads := v.reads[r.Text]
	if reads == nil || reads.expr == nil {
		return nil
	}
	var list []goal
	for _, node := range expand(obj, v.Schema, nil, patternOf(r.SchemaPath)) {
		left := manyWants
		v.effort.spend(len(r.Text))
		for _, g := range (goals{Version: v, obj: obj, node: node, left: &left}).want(reads.expr, truth) {
			if len(g.self)+len(g.old) > 0 {
				list = append(list, g.sorted())
			}
		}
	}
	return list
}

// reach returns edits that reach g, with the objects at the indices now and before as self and oldSelf. A goal about self
// alone is reached in several objects at once too.
func (s *sequence) reach(g goal, now, before int) []edit {
	one := edit{objects: []int{now}, changes: g.self}
	if before >= 0 && len(g.old) > 0 {
		one.and = &edit{objects: []int{before}, changes: g.old}
		return []edit{one}
	}
	var edits []edit
	for _, scope := range s.scopes(now) {
		edits = append(edits, edit{objects: scope, changes: g.self})
	}
	return edits
}

// schemaRepairs repairs what the schema refuses.
func (s *sequence) schemaRepairs(v *Version, p problem) [][]change {
	at := v.schemaAt(p.path)
	switch {
	case p.error.Type == field.ErrorTypeRequired:
		missing := p.path
		if _, ok := get(s.objects[p.at], missing); ok { // its name is not known to locate
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
	sets = append(combinations(p.path, at), sets...)
	if len(p.path) > 0 {
		sets = append(sets, []change{{path: p.path, gone: true}})
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
	obj := s.objects[p.at]
	for _, node := range expand(obj, v.Schema, nil, patternOf(p.rule.SchemaPath)) {
		if _, ok := get(obj, node); !ok {
			continue
		}
		for _, pattern := range reads.patterns {
			for _, at := range expand(obj, v.Schema, node, pattern) {
				if at.reserved() {
					continue
				}
				if v.transition[*p.rule] {
					first = append(first, s.restore(p.at, at)...)
				}
				if _, there := get(obj, at); there {
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
	obj := s.objects[p.at]
	for _, node := range expand(obj, v.Schema, nil, patternOf(p.rule.SchemaPath)) {
		for _, pattern := range reads.patterns {
			at := node
			for _, step := range pattern {
				at = at.child(step)
			}
			if len(pattern) == 0 || slices.Contains(pattern, anyStep) {
				continue
			}
			if _, there := get(obj, at); there {
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

// restore copies the value at p from the object before the i-th one, or the other way round.
func (s *sequence) restore(i int, p path) [][]change {
	if i == 0 || len(p) == 0 {
		return nil
	}
	before, had := get(s.objects[i-1], p)
	now, has := get(s.objects[i], p)
	var sets [][]change
	if had {
		sets = append(sets, []change{{path: p, value: before}})
	} else if has {
		sets = append(sets, []change{{path: p, gone: true}})
	}
	if has {
		sets = append(sets, []change{{path: p, value: now}})
	}
	return sets
}

// How many sequences of one way are staged, and how many objects are judged to make one of theirs valid.
const (
	manyStages  = 8
	stageEffort = 250
)

// staged returns sequences of w whose objects are valid each on its own: first the middle one, then the first and the last
// one, made from it. Where several fields have to change together this takes far fewer evaluations than to repair
// sequences as a whole. Example: without spec.workspace, spec.mode has to be another one and needs spec.zone; with it,
// each of its types needs a field of its own.
func (w *way) staged() []*sequence {
	var list []*sequence
	made := map[uint64]map[string]any{}
	tried := 0
	for _, s := range w.starts {
		if s.target == nil || tried == manyStages {
			continue
		}
		tried++
		if next, ok := s.stage(made); ok {
			list = append(list, next)
		}
	}
	return list
}

// stage makes each object of s valid; made has the objects that were made before, nil for those that could not be.
func (s *sequence) stage(made map[uint64]map[string]any) (*sequence, bool) {
	middle, ok := s.alone(1, s.objects[1], s.gone, made)
	if !ok {
		return nil, false
	}
	next := *s
	next.objects = []map[string]any{nil, middle, nil}
	for _, i := range []int{0, 2} {
		obj := s.objects[i]
		if value, there := get(obj, s.gone); there && s.versions[i] == s.versions[1] {
			if from, ok := put(middle, s.versions[i].Schema, s.gone, value); ok {
				obj = from.(map[string]any)
			}
		}
		if next.objects[i], ok = s.alone(i, obj, s.target, made); !ok {
			return nil, false
		}
	}
	return &next, true
}

// alone makes obj, the i-th object of s, valid as a new object, without a change at the path kept.
func (s *sequence) alone(i int, obj map[string]any, kept path, made map[uint64]map[string]any) (map[string]any, bool) {
	start := newSequence(s.stored, s.versions[i:i+1], obj)
	id := start.id()
	if known, ok := made[id]; ok {
		return known, known != nil
	}
	made[id] = nil
	want, had := get(obj, kept)
	x := &search{budget: stageEffort, keeps: func(s *sequence) bool {
		got, has := get(s.objects[0], kept)
		return had == has && same(got, want)
	}}
	if found := x.run([]*sequence{start}); found != nil {
		made[id] = found.objects[0]
	}
	return made[id], made[id] != nil
}

// same reports whether two values are equal, objects apart: what is in an object may be repaired.
func same(a, b any) bool {
	_, isObject := a.(map[string]any)
	_, alike := b.(map[string]any)
	if isObject || alike {
		return isObject == alike
	}
	return reflect.DeepEqual(a, b)
}
