package celrule

import (
	"fmt"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celexpr"
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

// message begins the messages of exported rules.
const message = schema.Refused

// wording writes the locks of one location as rules.
type wording struct {
	of        *schema.Location
	written   []wordedRule
	unwritten []unworded
}

// wordedRule is a rule that is equivalent to some locks, at their location or at its parent.
type wordedRule struct {
	at      *schema.Location
	locks   []schema.Lock
	text    string
	message string
}

// entry returns the rule as an entry of x-kubernetes-validations. Its locks are at l.
func (r *wordedRule) entry(l *schema.Location) map[string]any {
	fields := map[string]any{"rule": r.text, "message": r.message, "reason": "FieldValueInvalid"}
	if r.at != l {
		fields["fieldPath"] = fieldPath(l.Name)
	}
	return fields
}

// unworded are locks without an equivalent rule.
type unworded struct {
	locks          []schema.Lock
	reason, remedy string
}

func (w *wording) write(locks []schema.Lock) {
	has := func(l schema.Lock) bool { return slices.Contains(locks, l) }
	switch set, unset, modify := has(schema.NoSet), has(schema.NoUnset), has(schema.NoModify); {
	case has(schema.Immutable):
		w.immutable()
	case set && unset && modify:
		w.frozen(schema.NoSet, schema.NoUnset, schema.NoModify)
	case unset && modify:
		w.setOnce()
	case set && unset:
		w.presence("has(%[1]s) == has(%[2]s)", "may be neither set nor unset", schema.NoSet, schema.NoUnset)
	default:
		if set {
			w.presence("has(%[2]s) || !has(%[1]s)", "may not be set", schema.NoSet)
		}
		if unset {
			w.presence("!has(%[2]s) || has(%[1]s)", "may not be unset", schema.NoUnset)
		}
		if modify && w.comparable(schema.NoModify) {
			// CEL runs a rule on a field only where both objects have it, which is NoModify.
			w.here("self == oldSelf", message, schema.NoModify)
		}
	}
	for _, l := range locks {
		if l.OnKeys() {
			w.keys(l, l.Refuses().Has(schema.AddItem), l.Refuses().Has(schema.RemoveItem))
		}
	}
}

func (w *wording) cannot(reason, remedy string, locks ...schema.Lock) {
	w.unwritten = append(w.unwritten, unworded{locks, reason, remedy})
}

// here adds a rule at the location itself.
func (w *wording) here(text, message string, locks ...schema.Lock) {
	w.written = append(w.written, wordedRule{w.of, locks, text, message})
}

// above adds a rule at the parent; in format, %[1]s is the new value and %[2]s the old one.
func (w *wording) above(format, message string, locks ...schema.Lock) {
	name := celexpr.Escape(w.of.Name)
	switch {
	case w.of.Role != schema.Property:
		w.cannot("CEL does not run rules on null", "remove nullable", locks...)
	case name == "":
		w.cannot(fmt.Sprintf("CEL cannot select the name %q", w.of.Name), "make the field required", locks...)
	default:
		text := fmt.Sprintf(format, "self."+name, "oldSelf."+name)
		w.written = append(w.written, wordedRule{w.of.Parent(), locks, text, message})
	}
}

// comparable reports whether CEL compares whole values the way locks do. If not, it records the locks.
func (w *wording) comparable(locks ...schema.Lock) bool {
	s := w.of.Schema
	if reason := unequal(s); reason != "" {
		w.cannot(reason, "", locks...)
		return false
	}
	if hasMapList(s) && w.of.Marks.MapListOrder != schema.OrderIgnored && longMapList(s) {
		w.cannot("CEL compares lists of list-type map without their order",
			schema.KeyMapListOrder+": "+schema.OrderIgnored+" next to the lock, if their order need not be locked", locks...)
		return false
	}
	return true
}

// longMapList reports whether a list of list-type map in s can have several items, whose order then matters.
func longMapList(s *spec.Schema) bool {
	return anywhere(s, func(s *spec.Schema) bool {
		return s.Extensions[schema.KeyListType] == schema.ListMap && (s.MaxItems == nil || *s.MaxItems > 1)
	})
}

func (w *wording) immutable() {
	l := w.of
	if l.Schema.Nullable && !(l.Role == schema.Property && (l.Required || l.Schema.Default != nil)) {
		w.cannot("CEL takes null for absent, x-kubernetes-immutable does not",
			"remove nullable, or lock with "+schema.KeyUpdate+": [NoSet, NoUnset, NoModify]", schema.Immutable)
		return
	}
	w.frozen(schema.Immutable)
}

// frozen locks presence and value.
func (w *wording) frozen(locks ...schema.Lock) {
	switch {
	case !w.comparable(locks...):
	case present(w.of):
		w.here("self == oldSelf", message, locks...)
	default:
		w.above("has(%[1]s) == has(%[2]s) && (!has(%[1]s) || %[1]s == %[2]s)", message, locks...)
	}
}

func (w *wording) setOnce() {
	switch {
	case !w.comparable(schema.NoModify):
		w.presence("!has(%[2]s) || has(%[1]s)", "may not be unset", schema.NoUnset)
	case present(w.of):
		w.here("self == oldSelf", message, schema.NoUnset, schema.NoModify)
	default:
		w.above("!has(%[2]s) || (has(%[1]s) && %[1]s == %[2]s)", message+" once it is set", schema.NoUnset, schema.NoModify)
	}
}

// presence writes NoSet, NoUnset or both, which need no rule where the value is always present.
func (w *wording) presence(format, may string, locks ...schema.Lock) {
	if !present(w.of) {
		w.above(format, message+": it "+may, locks...)
	}
}

// keys writes a lock on the keys or items of a map, a keyed list or a set.
func (w *wording) keys(lock schema.Lock, fixAdded, fixRemoved bool) {
	kind := keysOf(w.of)
	keyFields := w.of.Marks.ListMapKeys
	switch {
	case kind == noKeys:
		w.cannot("CEL does not compare the keys or items the way a lock does", "", lock)
		return
	case kind == listKeys && slices.ContainsFunc(keyFields, func(key string) bool { return celexpr.Escape(key) == "" }):
		w.cannot("CEL cannot select the name of a list-map key", "", lock)
		return
	}
	contains := func(in string) string {
		if kind == listKeys {
			return in + ".exists(other, " + sameKeys(keyFields, "other", "key", selected) + ")"
		}
		return "key in " + in
	}
	things := "items"
	if kind == mapKeys {
		things = "keys"
	}
	if fixAdded {
		w.subset(1, 2, contains, message+": no "+things+" may be added", lock)
	}
	if fixRemoved {
		w.subset(2, 1, contains, message+": no "+things+" may be removed", lock)
	}
}

// subset adds a rule that every key of object a is in object b, where 1 is the new object and 2 the old one. An absent
// object has no keys.
func (w *wording) subset(a, b int, contains func(in string) string, message string, lock schema.Lock) {
	if present(w.of) {
		self := []string{1: "self", 2: "oldSelf"}
		w.here(fmt.Sprintf("%s.all(key, %s)", self[a], contains(self[b])), message, lock)
		return
	}
	x, y := fmt.Sprintf("%%[%d]s", a), fmt.Sprintf("%%[%d]s", b)
	w.above(fmt.Sprintf("!has(%s) || %s.all(key, has(%s) && %s)", x, x, y, contains(y)), message, lock)
}
