package witness

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Hole is a way around a lock or rule that an audit suspects.
type Hole struct {
	Rule       string   // ID of the finding
	Version    string   // whose objects the finding is about; for other versions, the lax one
	SchemaPath string   // of what is removed, renamed or swapped
	Fields     []string // the guarded fields, as paths for people: "spec.nodes[*].zone"
	// Sure is set if the hole follows from the rules and the schema. The effort for others becomes less with each that has
	// no witness.
	Sure bool
}

// Witness shows a hole.
type Witness struct {
	// Objects are complete objects in the order of writing. Each is valid, every lock and rule accepts each step, and an
	// update from the first to the last at once is refused.
	Objects []map[string]any
	Refused []Refusal // why, one or more
}

// Shown is a hole with objects that show it, which may be larger than necessary.
type Shown struct {
	way   *way
	found *candidate
}

// Show looks for objects that show h. It reports false when it finds none within a bounded effort. The same input, in the
// same order, gives the same objects.
func (k *Kind) Show(h Hole) (Shown, bool) {
	before := k.evaluations() - k.wasted
	w, found := k.search(h)
	if found == nil && !h.Sure {
		k.wasted = k.evaluations() - before
	}
	return Shown{w, found}, found != nil
}

// Witness returns the smallest witness that is left of what was found.
func (s Shown) Witness() Witness { return s.way.shortest(s.found) }

// evaluations is how many objects and updates of the kind have been judged.
func (k *Kind) evaluations() int {
	n := 0
	for _, v := range k.Versions {
		n += v.evaluations
	}
	return n
}

// search returns a sequence that shows h, and the way that it takes; nil if it finds none within a bounded effort.
func (k *Kind) search(h Hole) (*way, *candidate) {
	ways := k.ways(h)
	for _, w := range ways {
		if found := w.find(plainEffort); found != nil {
			return w, found
		}
	}
	if !h.Sure && k.wasted > manyWasted {
		return nil, nil
	}
	for _, w := range ways {
		if w.loose != nil {
			w.keeps = w.loose
		}
		if w.starts = append(w.staged(), w.inSteps()...); len(w.starts) > 0 {
			if found := w.find(stagedEffort); found != nil {
				return w, found
			}
		}
	}
	return nil, nil
}

// within returns a search for sequences that take w.
func (w *way) within(budget int) *search {
	return &search{
		budget: budget, keeps: w.keeps, differ: w.differences, seen: map[uint64]bool{},
		refuse: func(refusals []Refusal) bool { return slices.ContainsFunc(refusals, w.concerns) },
	}
}

// find searches w, and returns nil if it finds nothing.
func (w *way) find(budget int) *candidate {
	if len(w.starts) == 0 {
		return nil
	}
	return w.within(budget).run(w.starts)
}

// shortest returns the smallest witness that is left of found.
func (w *way) shortest(found *candidate) Witness {
	found = shrink(found, func(s *sequence) *candidate { return w.within(1).add(s, nil, problem{}) })
	return Witness{Objects: found.objects, Refused: slices.DeleteFunc(slices.Clone(found.refusals), func(r Refusal) bool { return !w.concerns(r) })}
}

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
	is := func(r celrun.Rule) bool { return r.SchemaPath == schemaPath && r.Index == index }
	at := expand(base, v.Schema, nil, patternOf(schemaPath))[0]
	w := &way{targets: []path{at}}
	versions := []*Version{v, v}
	if len(at) == 0 {
		w.starts = append(w.starts, newSequence(k.stored(v), versions, base, base))
	} else {
		for _, pair := range v.pairs(at) {
			oldObj, okOld := put(base, v.Schema, at, pair[0])
			newObj, okNew := put(base, v.Schema, at, pair[1])
			if okOld && okNew {
				w.starts = append(w.starts, newSequence(k.stored(v), versions, oldObj, newObj))
			}
		}
	}
	return (&search{
		budget: deadEffort,
		refuse: func(refusals []Refusal) bool {
			return slices.ContainsFunc(refusals, func(r Refusal) bool { return is(r.rule) })
		},
		forgive: func(p problem) bool { return p.at == 1 && p.kind == brokenRule && is(*p.rule) },
		differ:  func(s *sequence) []edit { return w.differences(s) },
	}).run(w.starts) != nil
}

func (k *Kind) version(name string) *Version {
	for _, v := range k.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// ways returns the ways through h, the likeliest first.
func (k *Kind) ways(h Hole) []*way {
	v := k.version(h.Version)
	if v == nil {
		return nil
	}
	removed := patternOf(h.SchemaPath)
	container := removed[:max(len(removed)-1, 0)]
	var ways []*way
	switch h.Rule {
	case rule.VersionUnlocked, rule.VersionDefault, rule.CELVersionWithoutRule:
		for _, strict := range k.Versions {
			if strict == v || !strict.Served {
				continue
			}
			if base, ok := k.Valid(strict); ok && v.compile() == nil {
				ways = append(ways, otherVersion(strict, v, k.stored(v), base, k.targets(strict, h)))
			}
		}
		return ways
	}
	base, ok := k.with(v, container)
	if !ok {
		return nil
	}
	targets := k.targets(v, h)
	switch h.Rule {
	case rule.RenamableKey, rule.CELRenamableKey, rule.AtomicItems:
		return []*way{rekey(v, k.stored(v), base, removed, targets)}
	case rule.CELUnknownKeys:
		return []*way{swap(v, k.stored(v), base, removed)}
	}
	full := func(pattern []string) map[string]any {
		obj, _ := k.with(v, pattern)
		return obj
	}
	return []*way{detour(v, k.stored(v), base, full, removed, targets)}
}

// targets returns the patterns of the guarded fields, otherwise the pattern of the hole itself.
func (k *Kind) targets(v *Version, h Hole) [][]string {
	if k.fields[v] == nil {
		if k.fields == nil {
			k.fields = map[*Version]map[string]string{}
		}
		k.fields[v] = map[string]string{}
		for _, l := range schema.Read(v.Schema, nil).All {
			k.fields[v][l.Path.String()] = l.Path.Pointer()
		}
	}
	var targets [][]string
	for _, field := range h.Fields {
		if pointer, ok := k.fields[v][strings.TrimPrefix(field, "the root")]; ok {
			targets = append(targets, patternOf(pointer))
		}
	}
	if len(targets) == 0 {
		targets = append(targets, patternOf(h.SchemaPath))
	}
	return targets
}

// concerns reports whether a refusal is about a guarded value of w: at it, above it or below it.
func (w *way) concerns(r Refusal) bool {
	return slices.ContainsFunc(w.targets, func(target path) bool { return target.starts(r.node) || r.node.starts(target) })
}
