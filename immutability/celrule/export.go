package celrule

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/extension"
)

// Exported is what Export made of the locks of one schema.
type Exported struct {
	// Changes puts the rules in and takes every key out that a stock API server does not know.
	Changes []Change
	Rules   []ExportedRule
	Rest    []Unexported
}

// ExportedRule is a rule that says locks, and where it stands. A rule that stands there already is not added again.
type ExportedRule struct {
	Locks      []PlacedLock
	SchemaPath string
	Rule       string
}

// Unexported is a lock that has no exact rule, or one that is too dear.
type Unexported struct {
	PlacedLock
	Reason string // why
	Remedy string // what would make it exportable, or ""
}

// Export says the locks of s in CEL. Every rule gives the verdict of its locks for each update from one valid object to
// another; locks for which there is no such rule, or none within the cost budget of the API server, are named in Rest and
// have no rule. The error is an *immutability.SchemaError: the locks themselves are wrong.
func Export(s *spec.Schema) (Exported, error) {
	if _, err := immutability.Compile(s); err != nil {
		return Exported{}, err
	}
	e := &exporter{places: readPlaces(s), changes: map[string]*Change{}, covered: map[*place]bool{}}
	prices, err := newPrices(s)
	if err != nil {
		return Exported{}, err
	}
	e.prices = prices
	for _, p := range e.places {
		e.export(p)
	}
	for _, path := range slices.Sorted(maps.Keys(e.changes)) {
		e.out.Changes = append(e.out.Changes, *e.changes[path])
	}
	return e.out, nil
}

type exporter struct {
	places  []*place
	prices  *prices
	changes map[string]*Change
	covered map[*place]bool // places in or below an exported x-kubernetes-immutable
	out     Exported
}

func (e *exporter) change(p *place) *Change {
	path := p.schemaPath()
	if e.changes[path] == nil {
		e.changes[path] = &Change{SchemaPath: path}
	}
	return e.changes[path]
}

func (e *exporter) export(p *place) {
	for _, key := range extension.Own() {
		if _, ok := p.schema.Extensions[key]; ok {
			c := e.change(p)
			c.DropKeys = append(c.DropKeys, key)
		}
	}
	if p.parent != nil && e.covered[p.parent] {
		e.covered[p] = true
		return
	}
	locks := locksOf(p)
	if len(locks) == 0 {
		return
	}
	if reason, remedy := p.unsayable(); reason != "" {
		e.rest(p, locks, reason, remedy)
		return
	}
	sayings, rest := p.sayings(locks)
	e.out.Rest = append(e.out.Rest, rest...)
	for _, s := range sayings {
		if !slices.ContainsFunc(s.at.rules, func(r Rule) bool { return r.Text == s.text && !r.OptionalOldSelf }) {
			if refusal := e.prices.add(s.at, s.text, p); refusal != nil {
				e.rest(p, s.locks, refusal.reason, refusal.remedy)
				continue
			}
			c := e.change(s.at)
			c.AddRules = append(c.AddRules, s.fields())
		}
		e.out.Rules = append(e.out.Rules, ExportedRule{placed(p, s.locks), s.at.schemaPath(), s.text})
		e.covered[p] = e.covered[p] || slices.Contains(s.locks, string(immutability.Immutable))
	}
}

func (e *exporter) rest(p *place, locks []string, reason, remedy string) {
	for _, l := range placed(p, locks) {
		e.out.Rest = append(e.out.Rest, Unexported{l, reason, remedy})
	}
}

func placed(p *place, locks []string) []PlacedLock {
	var out []PlacedLock
	for _, l := range locks {
		out = append(out, PlacedLock{p.path(), p.schemaPath(), l})
	}
	return out
}

// locksOf lists the locks at p by the names that reports give them.
func locksOf(p *place) []string {
	var locks []string
	for _, l := range [...]struct {
		on   bool
		lock immutability.Lock
	}{
		{p.marks.Immutable, immutability.Immutable}, {p.marks.ImmutableKeys, immutability.ImmutableKeys},
		{p.marks.AdditionOnly, immutability.AdditionOnly}, {p.marks.DeletionOnly, immutability.DeletionOnly},
	} {
		if l.on {
			locks = append(locks, string(l.lock))
		}
	}
	return append(locks, p.marks.Update...)
}

// unsayable returns why no rule can say any lock at p, and what would help.
func (p *place) unsayable() (reason, remedy string) {
	if p.uncorrelated != "" {
		return p.uncorrelated, "make the list x-kubernetes-list-type: map with a required key"
	}
	if normalized(p.schema) {
		return "CEL does not count empty values as absent, as x-kubernetes-normalize does", "remove x-kubernetes-normalize"
	}
	for q := p.parent; q != nil; q = q.parent {
		if q.marks.Normalize != "" {
			return "CEL does not count an empty " + q.path() + " as absent, as x-kubernetes-normalize does", "remove x-kubernetes-normalize"
		}
	}
	return "", ""
}

// saying is one rule to be: locks of a place, said at it or at its parent.
type saying struct {
	at      *place // where the rule stands
	of      *place // the place with the locks
	locks   []string
	text    string
	message string
}

// fields is the rule as an entry of x-kubernetes-validations.
func (s *saying) fields() map[string]any {
	fields := map[string]any{"rule": s.text, "message": s.message, "reason": "FieldValueInvalid"}
	if s.at != s.of {
		fields["fieldPath"] = fieldPath(s.of.name)
	}
	return fields
}

// sayings returns the rules for locks at p, and those locks that have none.
func (p *place) sayings(locks []string) ([]saying, []Unexported) {
	w := &wording{p: p, alone: p.present()}
	if !w.alone {
		w.name = escape(p.name)
		if p.at != atProperty {
			w.name = ""
		}
	}
	has := func(l string) bool { return slices.Contains(locks, l) }
	switch set, unset, modify := has(extension.NoSet), has(extension.NoUnset), has(extension.NoModify); {
	case has(string(immutability.Immutable)):
		w.immutable()
	case set && unset && modify:
		w.frozen(extension.NoSet, extension.NoUnset, extension.NoModify)
	case unset && modify:
		w.setOnce()
	case set && unset:
		w.presence("has(%[1]s) == has(%[2]s)", "may be neither set nor unset", extension.NoSet, extension.NoUnset)
	default:
		if set {
			w.presence("has(%[2]s) || !has(%[1]s)", "may not be set", extension.NoSet)
		}
		if unset {
			w.presence("!has(%[2]s) || has(%[1]s)", "may not be unset", extension.NoUnset)
		}
		if modify {
			w.modify()
		}
	}
	for _, l := range locks {
		switch immutability.Lock(l) {
		case immutability.ImmutableKeys:
			w.keys(l, true, true)
		case immutability.AdditionOnly, immutability.NoRemoveItem:
			w.keys(l, false, true)
		case immutability.DeletionOnly, immutability.NoAddItem:
			w.keys(l, true, false)
		}
	}
	return w.said, w.unsaid
}

// wording puts the locks of one place into rules.
type wording struct {
	p     *place
	alone bool   // the value is there whenever its container is: rules stand on it
	name  string // else rules stand on the parent and select it by this name; "" when they cannot

	said   []saying
	unsaid []Unexported
}

const message = "field is immutable"

func (w *wording) cannot(reason, remedy string, locks ...string) {
	for _, l := range placed(w.p, locks) {
		w.unsaid = append(w.unsaid, Unexported{l, reason, remedy})
	}
}

// say adds a rule on the place itself.
func (w *wording) say(text, message string, locks ...string) {
	w.said = append(w.said, saying{w.p, w.p, locks, text, message})
}

// sayAbove adds a rule on the parent; in format, %[1]s is the new value and %[2]s the old one.
func (w *wording) sayAbove(format, message string, locks ...string) {
	w.above(fmt.Sprintf(format, "self."+w.name, "oldSelf."+w.name), message, locks...)
}

// above adds the rule text on the parent.
func (w *wording) above(text, message string, locks ...string) {
	switch {
	case w.name != "":
		w.said = append(w.said, saying{w.p.parent, w.p, locks, text, message})
	case w.p.at == atProperty:
		w.cannot(fmt.Sprintf("CEL cannot say the name %q", w.p.name), "make the field required", locks...)
	default:
		w.cannot("CEL does not run rules on null", "remove nullable", locks...)
	}
}

// comparable names locks that compare whole values when CEL would not compare them as a lock does.
func (w *wording) comparable(locks ...string) bool {
	s := w.p.schema
	if reason := unequal(s); reason != "" {
		w.cannot(reason, "", locks...)
		return false
	}
	if hasMapList(s) && w.p.marks.MapListOrder != extension.OrderIgnored && longMapList(s) {
		w.cannot("CEL compares lists of list-type map without their order",
			extension.MapListOrder+": "+extension.OrderIgnored+" beside the lock, if their order need not be locked", locks...)
		return false
	}
	return true
}

// longMapList reports whether a list of list-type map in s can have more than one item, so that it has an order.
func longMapList(s *spec.Schema) bool {
	return anywhere(s, func(s *spec.Schema) bool {
		return s.Extensions[extension.ListType] == extension.ListMap && (s.MaxItems == nil || *s.MaxItems > 1)
	})
}

func (w *wording) immutable() {
	lock := string(immutability.Immutable)
	nullable := w.p.schema.Nullable
	always := w.p.at == atProperty && (w.p.required || w.p.schema.Default != nil)
	if nullable && !always {
		w.cannot("CEL takes null for absent, x-kubernetes-immutable does not", "remove nullable, or lock with "+extension.Update+": [NoSet, NoUnset, NoModify]", lock)
		return
	}
	w.frozen(lock)
}

// frozen: neither presence nor value changes.
func (w *wording) frozen(locks ...string) {
	switch {
	case !w.comparable(locks...):
	case w.alone:
		w.say("self == oldSelf", message, locks...)
	default:
		w.sayAbove("has(%[1]s) == has(%[2]s) && (!has(%[1]s) || %[1]s == %[2]s)", message, locks...)
	}
}

func (w *wording) setOnce() {
	locks := []string{extension.NoUnset, extension.NoModify}
	switch {
	case !w.comparable(extension.NoModify):
		w.presence("!has(%[2]s) || has(%[1]s)", "may not be unset", extension.NoUnset)
	case w.alone:
		w.say("self == oldSelf", message, locks...)
	default:
		w.sayAbove("!has(%[2]s) || (has(%[1]s) && %[1]s == %[2]s)", message+" once it is set", locks...)
	}
}

// presence says NoSet, NoUnset or both, which need no rule where the value is always there.
func (w *wording) presence(format, may string, locks ...string) {
	if !w.alone {
		w.sayAbove(format, message+": it "+may, locks...)
	}
}

// modify: CEL runs a rule on a field only where both sides have it, which is NoModify.
func (w *wording) modify() {
	if w.comparable(extension.NoModify) {
		w.say("self == oldSelf", message, extension.NoModify)
	}
}

// keys says a lock on the keys or items of a map, a keyed list or a set.
func (w *wording) keys(lock string, fixAdded, fixRemoved bool) {
	kind := keysOf(w.p)
	if kind == noKeys {
		w.cannot("CEL does not compare the keys or items as a lock does", "", lock)
		return
	}
	if kind == listKeys && slices.ContainsFunc(w.p.marks.ListMapKeys, func(key string) bool { return escape(key) == "" }) {
		w.cannot("CEL cannot say the name of a list-map key", "", lock)
		return
	}
	contains := func(in string) string {
		if kind == listKeys {
			return in + ".exists(other, " + sameKeys(w.p.marks.ListMapKeys, "other", "key") + ")"
		}
		return "key in " + in
	}
	things := "items"
	if kind == mapKeys {
		things = "keys"
	}
	if fixAdded {
		w.subset("self", "oldSelf", contains, message+": no "+things+" may be added", lock)
	}
	if fixRemoved {
		w.subset("oldSelf", "self", contains, message+": no "+things+" may be removed", lock)
	}
}

// subset says that every key of a is in b. An absent b has none.
func (w *wording) subset(a, b string, contains func(in string) string, message, lock string) {
	if w.alone {
		w.say(fmt.Sprintf("%s.all(key, %s)", a, contains(b)), message, lock)
		return
	}
	a, b = a+"."+w.name, b+"."+w.name
	w.above(fmt.Sprintf("!has(%s) || %s.all(key, has(%s) && %s)", a, a, b, contains(b)), message, lock)
}
