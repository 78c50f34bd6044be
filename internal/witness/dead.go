package witness

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

// Updates that one transition rule refuses and nothing else does. A rule for which there is none may be dead: self.n >=
// oldSelf.n refuses nothing where the schema says that n is 1. One that refuses each first write of the status locks
// controllers out: has(self.status) == has(oldSelf.status).

// Refuses reports whether it finds an update of valid objects that a transition rule refuses and nothing else does. A
// rule for which there is none is dead; not finding one within a bounded effort proves nothing.
func (k *Kind) Refuses(version, schemaPath string, index int) bool {
	v := k.version(version)
	if v == nil {
		return false
	}
	base, ok := k.Valid(v)
	if !ok {
		return false
	}
	at := expand(base, v.node(), nil, patternOf(schemaPath))[0]
	w := &way{targets: []path{at}}
	versions := []*Version{v, v}
	if len(at) == 0 {
		w.starts = append(w.starts, newSequence(k.stored(v), versions, base, base))
	} else {
		for _, pair := range v.pairs(at, manyPairs) {
			oldObj, okOld := put(base, v.node(), at, pair[0])
			newObj, okNew := put(base, v.node(), at, pair[1])
			if okOld && okNew {
				w.starts = append(w.starts, newSequence(k.stored(v), versions, oldObj, newObj))
			}
		}
	}
	return w.refusedBy(schemaPath, index)
}

// LocksStatus reports whether a transition rule refuses each first write of the status that it tries: an update from an
// object without a status to the same one with it, which nothing else refuses.
func (k *Kind) LocksStatus(version, schemaPath string, index int) bool {
	v := k.version(version)
	if v == nil {
		return false
	}
	status := path{"status"}
	base, ok := k.Valid(v)
	if !ok || has(base, status) {
		return false
	}
	w := &way{targets: []path{status}, keeps: func(s *sequence) bool {
		return !has(s.objects[0].value, status) && has(s.objects[1].value, status) && s.oneSided()
	}}
	for _, value := range values(v.schemaAt(status)) {
		if obj, ok := put(base, v.node(), status, value); ok {
			w.starts = append(w.starts, newSequence(k.stored(v), []*Version{v, v}, base, obj))
		}
	}
	return w.refusedBy(schemaPath, index) && !w.accepted()
}

// accepted reports whether it finds an update of w that nothing refuses.
func (w *way) accepted() bool {
	direct := func(p problem) bool { return p.kind == notRefused }
	return (&search{budget: validEffort, keeps: w.keeps, forgive: direct}).run(w.starts) != nil
}

// refusedBy reports whether it finds an update of w that one transition rule refuses and nothing else does.
func (w *way) refusedBy(schemaPath string, index int) bool {
	if len(w.starts) == 0 {
		return false
	}
	is := func(r celrun.Rule) bool { return r.SchemaPath == schemaPath && r.Index == index }
	return (&search{
		budget: deadEffort, keeps: w.keeps,
		refuse: func(refusals []Refusal) bool {
			return slices.ContainsFunc(refusals, func(r Refusal) bool { return is(r.rule) })
		},
		forgive: func(p problem) bool { return p.at == 1 && p.kind == brokenRule && is(*p.rule) },
		differ:  func(s *sequence) []edit { return w.differences(s) },
	}).run(w.starts) != nil
}
