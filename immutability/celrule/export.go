package celrule

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Exported is what Export made of the locks of one schema.
type Exported struct {
	// Changes adds the rules and removes every key that a stock API server does not know.
	Changes []Change
	Rules   []ExportedRule
	Rest    []Unexported
}

// ExportedRule is a rule that is equivalent to locks, and the schema path of the node that has it. A rule that the node
// had already is not added again.
type ExportedRule struct {
	Locks      []LockAt
	SchemaPath string
	Rule       string
}

// Unexported is a lock that has no equivalent rule, or one whose rule costs too much.
type Unexported struct {
	LockAt
	Reason string // why
	Remedy string // what would make it exportable, or ""
}

// Export writes the locks of s as CEL rules. Every rule gives the verdict of its locks for each update from one valid
// object to another. Locks without such a rule, or without one within the cost budget of the API server, are listed in
// Rest and have no rule. It returns an *immutability.SchemaError if the locks themselves are wrong.
func Export(s *spec.Schema) (Exported, error) {
	if _, err := immutability.Compile(s); err != nil {
		return Exported{}, err
	}
	t := readTree(s)
	costs, err := newCosts(s, t)
	if err != nil {
		return Exported{}, err
	}
	e := &exporter{tree: t, costs: costs, changes: changes{}, covered: map[*schema.Location]bool{}}
	for _, l := range t.All {
		e.export(l)
	}
	e.out.Changes = e.changes.sorted()
	return e.out, nil
}

type exporter struct {
	*tree
	costs   *costs
	changes changes
	covered map[*schema.Location]bool // locations at or below an exported x-kubernetes-immutable
	out     Exported
}

func (e *exporter) export(l *schema.Location) {
	for _, key := range schema.OwnKeys() {
		if _, ok := l.Schema.Extensions[key]; ok {
			c := e.changes.at(l)
			c.DropKeys = append(c.DropKeys, key)
		}
	}
	if l.In != nil && e.covered[l.Parent()] {
		e.covered[l] = true
		return
	}
	if !l.Marks.Locked() {
		return
	}
	if reason, remedy := e.unwritable(l); reason != "" {
		e.rest(l, l.Marks.Locks, reason, remedy)
		return
	}
	w := wording{of: l}
	w.write(l.Marks.Locks)
	for _, u := range w.unwritten {
		e.rest(l, u.locks, u.reason, u.remedy)
	}
	for _, r := range w.written {
		if !slices.ContainsFunc(e.rules[r.at], func(old *Rule) bool { return old.Text == r.text && !old.OptionalOldSelf }) {
			if refusal := e.costs.add(r.at, r.text, l); refusal != nil {
				e.rest(l, r.locks, refusal.reason, refusal.remedy)
				continue
			}
			c := e.changes.at(r.at)
			c.AddRules = append(c.AddRules, r.entry(l))
		}
		e.out.Rules = append(e.out.Rules, ExportedRule{locksAt(l, r.locks), r.at.Path.Pointer(), r.text})
		e.covered[l] = e.covered[l] || slices.Contains(r.locks, schema.Immutable)
	}
}

func (e *exporter) rest(l *schema.Location, locks []schema.Lock, reason, remedy string) {
	for _, lock := range locksAt(l, locks) {
		if u := (Unexported{lock, reason, remedy}); !slices.Contains(e.out.Rest, u) { // several rules of a lock can cost too much
			e.out.Rest = append(e.out.Rest, u)
		}
	}
}

func locksAt(l *schema.Location, locks []schema.Lock) []LockAt {
	var all []LockAt
	for _, lock := range locks {
		all = append(all, lockAt(l, lock))
	}
	return all
}

// unwritable returns why no lock at l can be written as a rule, and what would help.
func (e *exporter) unwritable(l *schema.Location) (reason, remedy string) {
	const remove = "remove " + schema.KeyNormalize
	switch up := normalizedAbove(l); {
	case e.uncorrelated[l] != "":
		return e.uncorrelated[l], "make the list x-kubernetes-list-type: map with a required key"
	case normalized(l.Schema):
		return "CEL does not count empty values as absent, as x-kubernetes-normalize does", remove
	case up != nil:
		return "CEL does not count an empty " + up.Path.String() + " as absent, as x-kubernetes-normalize does", remove
	}
	return "", ""
}

// normalizedAbove returns the nearest location above l with x-kubernetes-normalize, or nil.
func normalizedAbove(l *schema.Location) *schema.Location {
	for l = l.Parent(); l != nil && l.Marks.Normalize == ""; {
		l = l.Parent()
	}
	return l
}
