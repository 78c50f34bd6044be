package witness

// refused returns the locks and transition rules that refuse an update.
func (v *Version) refused(obj, old map[string]any) []Refusal {
	id := [2]uintptr{v.memo.of(obj), v.memo.of(old)}
	known, ok := v.memo.refusals[id]
	if !ok {
		v.effort.spend(weight(obj, v.structural, 0))
		known = v.refusals(obj, old)
		v.memo.keep(obj, old)
		v.memo.refusals[id] = known
	}
	return known
}

// step returns the problems of writing the i-th object over old, nil for a create. Both are prepared.
func (v *Version) step(i int, obj, old map[string]any) []problem {
	id := [2]uintptr{v.memo.of(obj), v.memo.of(old)}
	known, ok := v.memo.steps[id]
	if !ok {
		v.evaluations++
		v.effort.spend(weight(obj, v.structural, 0) + weight(old, v.structural, 0))
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
