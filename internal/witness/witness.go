package witness

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Kind is a kind of objects under audit. It is not safe for concurrent use.
type Kind struct {
	Versions []*Version // the served ones and the one that objects are stored in

	failed int // doubtful holes without a witness so far
	bases  map[*Version]map[string]any
	fields map[*Version]map[string]string // schema paths by path for people
}

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

// How many sequences are judged for one hole as they come, how many whose objects are valid each on its own, how many
// objects for the first valid one of a version, and how many updates to show that a rule which should be dead is not.
const (
	effort       = 100
	stagedEffort = 160
	validEffort  = 700
	deadEffort   = 60

	// manyFailed bounds the doubtful holes of a kind without a witness, after which sequences are judged only as they come.
	manyFailed = 8
)

// Find returns a witness of h. It reports false when it finds none within a bounded effort. The same input gives the
// same witness.
func (k *Kind) Find(h Hole) (Witness, bool) {
	ways := k.ways(h)
	for _, w := range ways {
		if found, ok := w.find(effort); ok {
			return found, true
		}
	}
	if !h.Sure {
		if k.failed++; k.failed > manyFailed {
			return Witness{}, false
		}
	}
	for _, w := range ways {
		if w.loose != nil {
			w.keeps = w.loose
		}
		if w.starts = append(w.staged(), w.inSteps()...); len(w.starts) > 0 {
			if found, ok := w.find(stagedEffort); ok {
				if !h.Sure {
					k.failed--
				}
				return found, true
			}
		}
	}
	return Witness{}, false
}

// find searches w, and shrinks what it finds.
func (w *way) find(budget int) (Witness, bool) {
	if len(w.starts) == 0 {
		return Witness{}, false
	}
	within := func(budget int) *search {
		return &search{
			budget: budget, keeps: w.keeps, differ: w.differences, seen: map[uint64]bool{},
			refuse: func(refusals []Refusal) bool { return slices.ContainsFunc(refusals, w.concerns) },
		}
	}
	found := within(budget).run(w.starts)
	if found == nil {
		return Witness{}, false
	}
	found = shrink(found, func(s *sequence) *candidate { return within(1).add(s, nil, problem{}) })
	return Witness{Objects: found.objects, Refused: slices.DeleteFunc(found.refusals, func(r Refusal) bool { return !w.concerns(r) })}, true
}

// Valid returns a small object that version accepts as a new one, and whether there is one within a bounded effort.
func (k *Kind) Valid(version *Version) (map[string]any, bool) {
	if obj, ok := k.bases[version]; ok {
		return obj, obj != nil
	}
	if k.bases == nil {
		k.bases = map[*Version]map[string]any{}
	}
	k.bases[version] = nil
	if version.compile() != nil {
		return nil, false
	}
	obj, _ := smallest(version.Schema).(map[string]any)
	if obj == nil {
		obj = map[string]any{}
	}
	obj = maps.Clone(obj)
	obj["apiVersion"], obj["kind"] = version.APIVersion, version.Kind
	obj["metadata"] = map[string]any{"name": "example"}
	start := newSequence(k.stored(version), []*Version{version}, obj)
	if found := (&search{budget: validEffort}).run([]*sequence{start}); found != nil {
		k.bases[version] = found.objects[0]
	}
	return k.bases[version], k.bases[version] != nil
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

// stored is the version that objects are stored in.
func (k *Kind) stored(otherwise *Version) *Version {
	for _, v := range k.Versions {
		if v.Storage {
			return v
		}
	}
	return otherwise
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
	base, ok := k.Valid(v)
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
	return []*way{detour(v, k.stored(v), base, removed, targets)}
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

// manyDifferences bounds the values of one field that are tried to make the last object differ.
const manyDifferences = 6

// differences returns edits after which the last object may differ from the first in what is guarded: other values of the
// guarded fields, and of what the transition rules there read.
func (w *way) differences(s *sequence) []edit {
	var edits []edit
	last := len(s.objects) - 1
	v := s.versions[last]
	change := func(at path, list []any) {
		for _, value := range list[:min(len(list), manyDifferences)] {
			c := []change{{path: at, value: value}}
			edits = append(edits, edit{objects: []int{last}, changes: c}, edit{objects: []int{0}, changes: c})
		}
		gone := []change{{path: at, gone: true}}
		edits = append(edits, edit{objects: []int{last}, changes: gone}, edit{objects: []int{0}, changes: gone})
	}
	for _, target := range w.targets {
		for _, r := range v.rules.Rules() {
			if !v.transition[r] {
				continue
			}
			for _, g := range v.goalsOf(s.objects[last], r, false) {
				if touches(g, target) {
					edits = append(edits, s.reach(g, last, 0)...)
				}
			}
			for _, node := range expand(s.objects[last], v.Schema, nil, patternOf(r.SchemaPath)) {
				if !node.starts(target) && !target.starts(node) {
					continue
				}
				for _, pattern := range v.reads[r.Text].patterns {
					for _, at := range expand(s.objects[last], v.Schema, node, pattern) {
						if len(at) > 1 && (at.starts(target) || target.starts(at)) {
							change(at, v.valuesFor(at, v.reads[r.Text]))
						}
					}
				}
			}
		}
		change(target, values(v.schemaAt(target)))
	}
	return edits[:min(len(edits), manyEdits)]
}

// touches reports whether g changes something at, below or above target.
func touches(g goal, target path) bool {
	return slices.ContainsFunc(slices.Concat(g.self, g.old), func(c change) bool { return c.path.starts(target) || target.starts(c.path) })
}
