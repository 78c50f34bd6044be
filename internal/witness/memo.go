package witness

import "reflect"

// memo remembers what a version says of objects and updates, by the identity of the objects: an edit of a sequence leaves
// most of its objects as they are. The objects must not change.
type memo struct {
	prepared map[uintptr]prepared
	steps    map[[2]uintptr][]problem
	refusals map[[2]uintptr][]Refusal
	alive    []map[string]any // what the identities belong to
}

type prepared struct {
	obj map[string]any
	err error
}

// manyRemembered bounds what a memo holds.
const manyRemembered = 2000

// of returns the identity of obj.
func (m *memo) of(obj map[string]any) uintptr {
	if obj == nil {
		return 0
	}
	return reflect.ValueOf(obj).Pointer()
}

// keep keeps objects alive, so that no other objects get their identities.
func (m *memo) keep(objects ...map[string]any) {
	if m.prepared == nil || len(m.alive) > manyRemembered {
		*m = memo{prepared: map[uintptr]prepared{}, steps: map[[2]uintptr][]problem{}, refusals: map[[2]uintptr][]Refusal{}}
	}
	m.alive = append(m.alive, objects...)
}

// prepare is v.Prepare.
func (v *Version) prepare(obj map[string]any) (map[string]any, error) {
	id := v.memo.of(obj)
	if known, ok := v.memo.prepared[id]; ok {
		return known.obj, known.err
	}
	made, err := v.Prepare(obj)
	v.memo.keep(obj, made)
	v.memo.prepared[id] = prepared{made, err}
	return made, err
}

// step returns the problems of writing the i-th object over old, nil for a create. Both are prepared.
func (v *Version) step(i int, obj, old map[string]any) []problem {
	id := [2]uintptr{v.memo.of(obj), v.memo.of(old)}
	known, ok := v.memo.steps[id]
	if !ok {
		v.evaluations++
		known = v.problems(obj, old)
		v.memo.keep(obj, old)
		v.memo.steps[id] = known
	}
	problems := make([]problem, len(known))
	for n, p := range known {
		p.at = i
		problems[n] = p
	}
	return problems
}

// refused returns the locks and transition rules that refuse an update.
func (v *Version) refused(obj, old map[string]any) []Refusal {
	id := [2]uintptr{v.memo.of(obj), v.memo.of(old)}
	known, ok := v.memo.refusals[id]
	if !ok {
		known = v.refusals(obj, old)
		v.memo.keep(obj, old)
		v.memo.refusals[id] = known
	}
	return known
}
