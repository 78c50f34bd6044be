package witness

import "reflect"

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
