package celrule

import (
	"fmt"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

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
	name := escape(w.of.Name)
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

// longMapList reports whether a list of list-type map in s can have more than one item, so that it has an order.
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
	case kind == listKeys && slices.ContainsFunc(keyFields, func(key string) bool { return escape(key) == "" }):
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

// subset requires that every key of object a is in object b, where 1 is the new object and 2 the old one. An absent b has
// no keys.
func (w *wording) subset(a, b int, contains func(in string) string, message string, lock schema.Lock) {
	if present(w.of) {
		self := []string{1: "self", 2: "oldSelf"}
		w.here(fmt.Sprintf("%s.all(key, %s)", self[a], contains(self[b])), message, lock)
		return
	}
	x, y := fmt.Sprintf("%%[%d]s", a), fmt.Sprintf("%%[%d]s", b)
	w.above(fmt.Sprintf("!has(%s) || %s.all(key, has(%s) && %s)", x, x, y, contains(y)), message, lock)
}
