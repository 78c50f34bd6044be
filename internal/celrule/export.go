package celrule

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Exported is what Export or ExportPolicy made of the locks of one schema.
type Exported struct {
	// Changes adds the rules and removes every key that a stock API server does not know; none for a policy.
	Changes []Change
	Rules   []ExportedRule
	// Needless are locks that need no rule, because no update from one valid object to another can break them: on a key
	// of a keyed list, by which its items are paired, and on the presence of a field that is always there.
	Needless []LockAt
	Rest     []Unexported
}

// ExportedRule is a rule that is equivalent to locks, and the schema path of the node that has it. A rule that the node
// had already is not added again. A validation of a policy has a message instead of a schema path.
type ExportedRule struct {
	Locks               []LockAt
	SchemaPath, Message string
	Rule                string
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
	e := &exporter{tree: t, costs: costs, said: saidBy(s, t), changes: changes{}, covered: map[*schema.Location]bool{}}
	for _, l := range t.All {
		e.export(l)
	}
	e.out.Changes = e.changes.sorted()
	return e.out, nil
}

type exporter struct {
	*tree
	costs   *costs
	said    said
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
	if correlates(l) && l.Marks.Locked() {
		e.out.Needless = append(e.out.Needless, locksAt(l, l.Marks.Locks)...)
		return
	}
	for _, f := range statementsOf(l, l.Marks.Locks) {
		e.write(l, f)
	}
}

// statement is what one rule says: that some of the changes that locks of one location refuse are not made.
type statement struct {
	locks   []schema.Lock
	refused schema.Change
	message string
}

// statementsOf returns the fewest statements for the locks of l.
func statementsOf(l *schema.Location, locks []schema.Lock) []statement {
	var statements []statement
	rest := slices.Clone(locks)
	take := func(message string, words ...schema.Lock) {
		if !slices.ContainsFunc(words, func(l schema.Lock) bool { return !slices.Contains(rest, l) }) {
			statements = append(statements, statement{words, changesOf(words...), schema.Refused + message})
			rest = slices.DeleteFunc(rest, func(l schema.Lock) bool { return slices.Contains(words, l) })
		}
	}
	take("", schema.Immutable)
	take("", schema.NoSet, schema.NoUnset, schema.NoModify)
	take(" once it is set", schema.NoUnset, schema.NoModify)
	take(": it may be neither set nor unset", schema.NoSet, schema.NoUnset)
	take(": it may not be set", schema.NoSet)
	take(": it may not be unset", schema.NoUnset)
	take("", schema.NoModify)
	things := "items"
	if keysOf(l) == mapKeys {
		things = "keys"
	}
	for _, lock := range rest {
		for _, item := range []struct {
			change schema.Change
			done   string
		}{{schema.AddItem, "added"}, {schema.RemoveItem, "removed"}} {
			if lock.Refuses().Has(item.change) {
				statements = append(statements,
					statement{[]schema.Lock{lock}, item.change,
						fmt.Sprintf("%s: no %s may be %s", schema.Refused, things, item.done)})
			}
		}
	}
	return statements
}

// write adds the rule for a statement about l, or records why there is none. If locks cannot be said together, each is
// tried alone.
func (e *exporter) write(l *schema.Location, f statement) {
	if f.refused&^(schema.Set|schema.Unset) == 0 && alwaysThere(l) {
		e.out.Needless = append(e.out.Needless, locksAt(l, f.locks)...)
		return
	}
	if r := e.said.rule(l, f.refused); r != nil {
		e.out.Rules = append(e.out.Rules,
			ExportedRule{Locks: locksAt(l, f.locks), SchemaPath: r.SchemaPath, Rule: r.Text})
		e.cover(l, f)
		return
	}
	why := e.add(l, f, false)
	if why != nil && f.refused&schema.ChangeItems != 0 && e.add(l, f, true) == nil {
		why = nil
	}
	switch {
	case why == nil:
		e.cover(l, f)
	case len(f.locks) > 1:
		for _, lock := range f.locks {
			for _, one := range statementsOf(l, []schema.Lock{lock}) {
				e.write(l, one)
			}
		}
	default:
		e.rest(l, f.locks, why.reason, why.remedy())
	}
}

// alwaysThere reports whether l has a value that does not count as absent wherever it has the parent of l.
func alwaysThere(l *schema.Location) bool {
	if l.Role != schema.Property {
		return present(l)
	}
	w := &speller{typed: true}
	return w.there(l, "self", false) == "" && w.reason == ""
}

// cover records that nothing below l needs a rule, if f freezes l.
func (e *exporter) cover(l *schema.Location, f statement) {
	e.covered[l] = e.covered[l] || slices.Contains(f.locks, schema.Immutable)
}

// add adds the rule for a statement about l, unless the schema has it. It returns why that is not possible, or nil.
func (e *exporter) add(l *schema.Location, f statement, union bool) *refusal {
	at, steps := e.place(l, f, union)
	w := &speller{typed: true, form: formOf(f.refused), exact: slices.Contains(f.locks, schema.Immutable), union: union}
	w.ordered = l.Marks.MapListOrder != schema.OrderIgnored
	text := w.rule(l, steps)
	if w.reason != "" {
		return &refusal{w.reason, func() string { return w.remedy }}
	}
	if !slices.ContainsFunc(e.rules[at], func(old *Rule) bool { return old.Text == text && !old.OptionalOldSelf }) {
		if refusal := e.costs.add(at, text, l); refusal != nil {
			return refusal
		}
		c := e.changes.at(at)
		c.AddRules = append(c.AddRules, entryOf(text, f.message, steps))
	}
	e.out.Rules = append(e.out.Rules,
		ExportedRule{Locks: locksAt(l, f.locks), SchemaPath: at.Path.Pointer(), Rule: text})
	return nil
}

// place returns the location of the rule for a statement about l, and the steps from there to l. CEL runs a rule only
// where both objects have the location, and pairs no values below an atomic list. A set is read through its parent: up
// to Kubernetes 1.36, self + oldSelf on the set itself changes what other rules of the set see.
func (t *tree) place(l *schema.Location, f statement, union bool) (at *schema.Location, steps []*schema.Location) {
	at, steps = l.Parent(), []*schema.Location{l}
	for t.uncorrelated[at] != "" || steps[0].Role == schema.Property && at.Marks.Normalize != "" {
		at, steps = at.Parent(), append([]*schema.Location{at}, steps...)
	}
	if len(steps) == 1 && t.uncorrelated[l] == "" && l.Marks.Normalize == "" && !union &&
		(present(l) || f.refused == schema.Modify) {
		return l, nil
	}
	return at, steps
}

// entryOf returns a rule as an entry of x-kubernetes-validations. steps lead from the location of the rule to the lock.
func entryOf(text, message string, steps []*schema.Location) map[string]any {
	path := ""
	for len(steps) > 0 && steps[0].Role == schema.Property {
		path += fieldPath(steps[0].Name)
		steps = steps[1:]
	}
	if len(steps) > 0 {
		message += ", at " + relative(steps)
	}
	fields := map[string]any{"rule": text, "message": message, "reason": "FieldValueInvalid"}
	if path != "" {
		fields["fieldPath"] = path
	}
	return fields
}

// relative returns the path that steps lead along: "[*].image".
func relative(steps []*schema.Location) string {
	var path strings.Builder
	for _, l := range steps {
		if l.Role == schema.Property {
			path.WriteString(fieldPath(l.Name))
		} else {
			path.WriteString("[*]")
		}
	}
	return path.String()
}

// said is what the transition rules of a schema say already.
type said map[string]saidAt // by schema path

// saidAt is what rules refuse at one location.
type saidAt struct {
	refused schema.Change
	// anyOrder is set if the rules compare keyed lists without their order.
	anyOrder bool
	rule     *Rule
}

// saidBy imports the transition rules of s, as if s had no locks.
func saidBy(s *spec.Schema, t *tree) said {
	var drop []Change
	some := false
	for _, l := range t.All {
		drop = append(drop, Change{SchemaPath: l.Path.Pointer(), DropKeys: schema.OwnKeys()})
		some = some || slices.ContainsFunc(t.rules[l], func(r *Rule) bool { return r.Transition })
	}
	if !some {
		return nil
	}
	im, all := Import(Apply(s, drop)), said{}
	keys := map[string]map[string]any{}
	for _, c := range im.Changes {
		keys[c.SchemaPath] = c.SetKeys
	}
	for _, r := range im.Recognized {
		for _, l := range r.Locks {
			if keys[l.SchemaPath][schema.KeyNormalize] != nil {
				continue
			}
			at := all[l.SchemaPath]
			at.refused |= schema.Lock(l.Lock).Refuses()
			at.anyOrder = keys[l.SchemaPath][schema.KeyMapListOrder] != nil
			if at.rule == nil || r.SchemaPath == l.SchemaPath {
				at.rule = &r.Rule
			}
			all[l.SchemaPath] = at
		}
	}
	return all
}

// rule returns a rule that refuses the changes at l, together with the other rules of the schema; nil if they do not
// refuse all of them.
func (s said) rule(l *schema.Location, refused schema.Change) *Rule {
	if normalizedAround(l) {
		return nil
	}
	ordered := l.Marks.MapListOrder != schema.OrderIgnored
	for up := l; up != nil; up = up.Parent() {
		at := s[up.Path.Pointer()]
		frozen := at.refused.Has(schema.ChangeValue) || at.refused.Has(schema.Modify) && present(up)
		says := frozen || up == l && at.refused.Has(refused) &&
			(refused&schema.ChangeItems == 0 || at.refused&schema.Modify == 0)
		if says && !(at.anyOrder && ordered && longMapList(l.Schema)) {
			return at.rule
		}
	}
	return nil
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

// normalizedAbove returns the nearest location above l with x-kubernetes-normalize, or nil.
func normalizedAbove(l *schema.Location) *schema.Location {
	for l = l.Parent(); l != nil && l.Marks.Normalize == ""; {
		l = l.Parent()
	}
	return l
}

// longMapList reports whether a list of list-type map in s can have several items, whose order then matters.
func longMapList(s *spec.Schema) bool {
	return anywhere(s, func(s *spec.Schema) bool {
		return s.Extensions[schema.KeyListType] == schema.ListMap && (s.MaxItems == nil || *s.MaxItems > 1)
	})
}

// ExportPolicy writes the locks of s as validations of a ValidatingAdmissionPolicy, over object and oldObject. A policy
// sees objects without their schema: it compares values deeply and in order, null and absent differ, and unknown fields
// count. So it can enforce other locks than rules in a CRD: unknown fields, but no sets inside a locked value. It does
// not follow $ref. It returns an *immutability.SchemaError if the locks of s are wrong.
func ExportPolicy(s *spec.Schema) (Exported, error) {
	if _, err := immutability.Compile(s); err != nil {
		return Exported{}, err
	}
	var out Exported
	frozen := map[*schema.Location]bool{}
	for _, l := range readTree(s).All {
		if l.In != nil && frozen[l.Parent()] {
			frozen[l] = true
			continue
		}
		for _, lock := range l.Marks.Locks {
			if correlates(l) {
				out.Needless = append(out.Needless, lockAt(l, lock))
				continue
			}
			text, reason := expression(l, lock)
			if reason != "" {
				out.Rest = append(out.Rest, Unexported{LockAt: lockAt(l, lock), Reason: reason})
				continue
			}
			frozen[l] = frozen[l] || lock == schema.Immutable
			message := fmt.Sprintf("%s: %s", l.Path, lock.Refusal())
			out.Rules = append(out.Rules, ExportedRule{Locks: []LockAt{lockAt(l, lock)}, Rule: text, Message: message})
		}
	}
	return out, nil
}

// expression returns the CEL expression for a lock at l, or why it cannot be expressed.
func expression(l *schema.Location, lock schema.Lock) (text, reason string) {
	if l.Marks.Normalize != "" || normalizedAbove(l) != nil || normalized(l.Schema) {
		return "", "CEL does not count empty values as absent, as x-kubernetes-normalize does"
	}
	w := &speller{form: formOf(changesOf(lock)), exact: lock == schema.Immutable,
		ordered: l.Marks.MapListOrder != schema.OrderIgnored}
	text = w.below(way(l), "object", "oldObject", 0)
	return text, w.reason
}
