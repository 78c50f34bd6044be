package witness

import "github.com/fieldlock/fieldlock/immutability/crd"

// droppedEffort is how many updates are judged to show that a rule is dropped.
const droppedEffort = 400

// ShowDropped looks for an update that the kind before refuses and the kind after accepts, in the version of f and because of what
// guards its fields. It reports false when it finds none within a bounded effort. The kinds are those of one CRD before and
// after an update of it.
func ShowDropped(after, before *Kind, f crd.Finding) (Witness, bool) {
	lax, strict := after.version(f.Version), before.version(f.Version)
	if lax == nil || strict == nil || lax.compile() != nil {
		return Witness{}, false
	}
	w := &way{}
	for _, target := range before.targets(strict, Hole{Finding: f}) {
		base, ok := before.with(strict, target)
		if !ok {
			continue
		}
		to := expand(base, strict.Schema, nil, target)[0]
		w.targets = append(w.targets, to)
		add := func(oldObj, newObj map[string]any) {
			s := newSequence(before.stored(strict), []*Version{strict, lax}, oldObj, newObj)
			s.refuser = strict
			w.starts = append(w.starts, s)
		}
		for _, pair := range strict.pairs(to) {
			first, ok := put(base, strict.Schema, to, pair[0])
			if !ok {
				continue
			}
			last, _ := put(first, strict.Schema, to, pair[1])
			add(first.(map[string]any), last.(map[string]any))
			if gone, ok := remove(first, to); ok {
				add(first.(map[string]any), gone.(map[string]any))
				add(gone.(map[string]any), last.(map[string]any))
			}
		}
	}
	found := w.find(droppedEffort)
	if found == nil {
		return Witness{}, false
	}
	return w.shortest(found), true
}

// Replays reports whether the kind accepts a witness: every object is a valid one, and each update is accepted.
func (k *Kind) Replays(w Witness) bool {
	for i, obj := range w.Objects {
		old := w.Objects[max(i-1, 0)]
		if verdict, err := k.Update(obj, old); err != nil || len(verdict.Invalid)+len(verdict.Refused) > 0 {
			return false
		}
	}
	return true
}
