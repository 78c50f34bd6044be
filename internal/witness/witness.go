// Package witness constructs objects that satisfy a schema and its rules, and the updates that show a way around a lock
// or a CEL transition rule.
//
// A witness is a sequence of complete objects in the order of writing. Each is valid, every lock and rule accepts each
// step, and an update from the first to the last at once is refused. The verdicts are the API server's own: its schema
// and list validation, its CEL validator (internal/celrun), and package immutability for locks.
//
// A witness is constructed from the schema and the hole first: a small valid object that holds what the hole is in,
// with the guarded field at one value, without it, and with it at another value. Such objects are made one level after
// the other, and remembered: the holes of a kind have most levels in common. Where a rule or a keyword of the schema
// refuses that, a search repairs the object: it tries other values for the fields that the refusing rule reads, and the
// constants in that rule. The search is deterministic and bounded by a number of evaluations, never by time.
//
// The chapters, from the bottom: paths in objects (path), texts for a pattern and values for a schema (pattern, value),
// what a rule reads and what refuses an object (problem), the versions of a kind and their judge (kind), edits that may
// repair an object (repair), the search and its bounds (search), ways around a lock (way), ways around a rule of any
// form (states), how hard a way is tried (glance), the smallest witness (shrink), rules that refuse nothing (dead), and
// the face (witness). Attack makes random updates for users' tests.
package witness

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Hole is a way around a lock or rule that an audit suspects.
type Hole struct {
	Version    string   // that has the hole: the lax one, if the way leads through another version
	Rule       string   // the ID of the finding
	SchemaPath string   // of what is removed, renamed or swapped
	Fields     []string // the guarded fields, as paths for people; not needed if Around names them
	// Around is the transition rule that the hole is a way around; nil for whatever guards the fields.
	Around *RuleAt
}

// RuleAt names a transition rule of a version.
type RuleAt struct {
	Version    string
	SchemaPath string
	Index      int
	Fields     []string // the schema paths of the fields that it guards
}

// Effort is how hard Show tries.
type Effort int

// The efforts. Most holes need no more than a glance.
const (
	Glance   Effort = iota // objects made from the schema, as they are
	Search                 // and repaired where rules refuse them
	Thorough               // and with one object more before the last
)

// Witness shows a hole.
type Witness struct {
	// Objects are complete objects in the order of writing. Each is valid, every lock and rule accepts each step, and
	// an update from the first to the last at once is refused.
	Objects []map[string]any `json:"objects"`
	Refused []Refusal        `json:"-"` // why, one or more
}

// Shown is a hole with objects that show it, which may be larger than necessary.
type Shown struct {
	way   *way
	found *candidate
}

// Show looks for objects that show h. It reports false when it finds none within a bounded effort. The same input, in
// the same order, gives the same objects.
func (k *Kind) Show(h Hole, effort Effort) (Shown, bool) {
	for _, w := range k.ways(h, effort) {
		if found := k.search(w, effort); found != nil {
			return Shown{w, found}, true
		}
	}
	return Shown{}, false
}

// Refuses reports whether the update from the first object to the last breaks r, a rule of the version of the last.
func (s Shown) Refuses(r RuleAt) bool {
	return s.found.direct().Name == r.Version && slices.ContainsFunc(s.found.refusals, func(refusal Refusal) bool {
		return refusal.rule.SchemaPath == r.SchemaPath && refusal.rule.Index == r.Index
	})
}

// Without returns the schema path of the topmost value on the way to a guarded one that the second object lacks and the
// first one has; "" if it lacks none.
func (s Shown) Without() string {
	for _, target := range s.way.targets {
		for n := range target {
			at := target[:n+1]
			if has(s.found.objects[0].value, at) && !has(s.found.objects[1].value, at) {
				return at.String()
			}
		}
	}
	return ""
}

// Witness returns the smallest witness that is left of what was found.
func (s Shown) Witness() Witness { return s.way.shortest(s.found) }

func (k *Kind) version(name string) *Version {
	for _, v := range k.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// ways returns the ways through h, the likeliest first.
func (k *Kind) ways(h Hole, effort Effort) []*way {
	v := k.version(h.Version)
	if v == nil {
		return nil
	}
	most := manyPairs
	if effort == Glance {
		most = fewPairs
	}
	removed := patternOf(h.SchemaPath)
	container := removed[:max(len(removed)-1, 0)]
	switch h.Rule {
	case finding.VersionUnlocked, finding.VersionDefault, finding.CELVersionWithoutRule:
		return k.throughVersion(v, h, most)
	case finding.CELTwoSteps:
		container = removed
	}
	base, ok := k.with(v, container)
	if !ok {
		return nil
	}
	targets := k.targets(v, h)
	full := func(pattern []string) map[string]any {
		obj, _ := k.with(v, pattern)
		return obj
	}
	var w *way
	switch h.Rule {
	case finding.RenamableKey, finding.CELRenamableKey, finding.AtomicItems:
		w = rekey(v, k.stored(v), base, removed, targets, most)
	case finding.CELTwoSteps:
		w = k.twoSteps(v, base, h)
	case finding.CELUnknownKeys:
		w = swap(v, k.stored(v), base, removed)
	default:
		w = detour(v, k.stored(v), base, full, removed, targets, most)
	}
	w.rule = v.ruleOf(h.Around)
	return []*way{w}
}

// throughVersion returns the ways around what other versions have through v, which lacks it.
func (k *Kind) throughVersion(v *Version, h Hole, most int) []*way {
	var ways []*way
	for _, strict := range k.Versions {
		if strict == v || !strict.Served || h.Around != nil && h.Around.Version != strict.Name {
			continue
		}
		if base, ok := k.Valid(strict); ok && v.compile() == nil {
			w := otherVersion(strict, v, k.stored(v), base, k.targets(strict, h), most)
			w.rule = strict.ruleOf(h.Around)
			ways = append(ways, w)
		}
	}
	return ways
}

// ruleOf returns a rule of v, nil for none.
func (v *Version) ruleOf(r *RuleAt) *celrun.Rule {
	if r == nil {
		return nil
	}
	rules := v.rules.Rules()
	i := slices.IndexFunc(rules, func(is celrun.Rule) bool {
		return is.SchemaPath == r.SchemaPath && is.Index == r.Index
	})
	if i < 0 {
		return nil
	}
	return &rules[i]
}

// targets returns the patterns of the guarded fields, otherwise the pattern of the hole itself.
func (k *Kind) targets(v *Version, h Hole) [][]string {
	if h.Around != nil && len(h.Around.Fields) > 0 {
		targets := make([][]string, len(h.Around.Fields))
		for i, pointer := range h.Around.Fields {
			targets[i] = patternOf(pointer)
		}
		return targets
	}
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

// concerns reports whether a refusal is about a guarded value of w: at it, above it or below it. Of a way around one
// rule it is that rule's.
func (w *way) concerns(r Refusal) bool {
	if w.rule != nil {
		return r.rule == *w.rule
	}
	return slices.ContainsFunc(w.targets, func(target path) bool {
		return target.Within(r.node) || r.node.Within(target)
	})
}

// manyDifferences bounds the values of one field that are tried to make the last object differ.
const manyDifferences = 6

// differences returns edits after which the last object may differ from the first in what is guarded: other values of
// the guarded fields, and of what the transition rules there read.
func (w *way) differences(s *sequence) []edit {
	var edits []edit
	last := len(s.objects) - 1
	v := s.direct()
	change := func(at path, list []any) {
		for _, value := range list[:min(len(list), manyDifferences)] {
			c := []change{{path: at, value: value}}
			edits = append(edits, edit{objects: []int{last}, changes: c}, edit{objects: []int{0}, changes: c})
		}
		gone := []change{{path: at, gone: true}}
		edits = append(edits, edit{objects: []int{last}, changes: gone}, edit{objects: []int{0}, changes: gone})
	}
	for _, target := range w.targets {
		for _, r := range w.rules(v) {
			v.effort.spend(1)
			if !v.transition[r] || !meets(patternOf(r.SchemaPath), target) {
				continue
			}
			if len(edits) >= manyEdits {
				return edits[:manyEdits]
			}
			for _, node := range expand(s.objects[last].value, v.node(), nil, patternOf(r.SchemaPath)) {
				if !node.Within(target) && !target.Within(node) {
					continue
				}
				for _, pattern := range v.reads[r.Text].patterns {
					for _, at := range expand(s.objects[last].value, v.node(), node, pattern) {
						if len(at) > 1 && (at.Within(target) || target.Within(at)) {
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

// rules are those that w may get around.
func (w *way) rules(v *Version) []celrun.Rule {
	if w.rule != nil {
		return []celrun.Rule{*w.rule}
	}
	return v.rules.Rules()
}

// meets reports whether a value at pattern can be at, above or below a path. A rule that meets no guarded value changes
// none.
func meets(pattern []string, p path) bool {
	for i := range min(len(pattern), len(p)) {
		if name, ok := p[i].(string); ok && pattern[i] != anyStep && pattern[i] != name {
			return false
		}
	}
	return true
}
