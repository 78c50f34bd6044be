package celrule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// speller spells the condition under which a lock accepts an update. It walks down to the lock on both sides at once.
// CEL has two dialects: the rule of a CRD knows the schema of the values that it reads, takes null for absent, and
// compares sets and keyed lists as such; a policy sees plain JSON.
//
// For NoUnset on spec.nodes[*].zone, where nodes is an atomic list, the rule stands on nodes, the last location whose
// old and new values CEL pairs by itself:
//
//	self.all(i, v, i >= size(oldSelf) || !has(oldSelf[i].zone) || has(v.zone))
type speller struct {
	typed   bool
	form    form // of what the lock refuses at the end of the way
	exact   bool // whether null and absent differ to the lock, as to x-kubernetes-immutable
	ordered bool // whether the order of keyed lists counts
	plain   bool // whether values are compared by == alone, whatever a lock takes for equal
	union   bool // whether keys are counted in the union of both sides, which costs less than looking each of them up

	reason, remedy string // why it cannot be said; "" if it can
}

// changesOf returns what locks refuse, in the terms of slot: a lock of a value says nothing of its own about items.
func changesOf(locks ...schema.Lock) schema.Change {
	var refused schema.Change
	for _, l := range locks {
		refused |= l.Refuses()
	}
	if refused&schema.ChangeValue != 0 {
		refused &= schema.ChangeValue
	}
	return refused
}

func (w *speller) cannot(reason, remedy string) string {
	if w.reason == "" {
		w.reason, w.remedy = reason, remedy
	}
	return "true"
}

// rule returns the condition as a rule of the location that steps lead down from, or of l itself if there are none.
func (w *speller) rule(l *schema.Location, steps []*schema.Location) string {
	if len(steps) == 0 {
		return w.slot(l, w.form, "", "", "self", "oldSelf", 0)
	}
	return w.below(steps, "self", "oldSelf", 0)
}

// below returns the condition at the end of steps. a and b are the new and the old value of the container that the
// first step leads down from; both exist. depth numbers the variables.
func (w *speller) below(steps []*schema.Location, a, b string, depth int) string {
	here, rest := steps[0], steps[1:]
	switch here.Role {
	case schema.Values:
		key := numbered("k", depth)
		return fmt.Sprintf("%s.all(%s, !(%s in %s) || %s)",
			a, key, key, b, w.pair(steps, at(a, key), at(b, key), depth+1))
	case schema.Items:
		return w.items(here.Parent(), a, b, depth, func(x, y string) string { return w.pair(steps, x, y, depth+1) })
	}
	exact := len(rest) == 0 && w.exact
	hasA, hasB := w.there(here, a, exact), w.there(here, b, exact)
	a, b = w.member(a, here.Name), w.member(b, here.Name)
	if len(rest) == 0 {
		return w.slot(here, w.form, hasA, hasB, a, b, depth)
	}
	return guarded(hasA, hasB, w.below(rest, a, b, depth))
}

func at(container, index string) string { return container + "[" + index + "]" }

// numbered returns the name of a variable.
func numbered(letter string, depth int) string {
	if depth == 0 {
		return letter
	}
	return letter + strconv.Itoa(depth)
}

// guarded is the condition rest, which applies only if both sides are there.
func guarded(hasA, hasB, rest string) string {
	if hasA == "" {
		return rest
	}
	return fmt.Sprintf("(!%s || !%s || %s)", hasA, hasB, rest)
}

// pair is the condition for the values a and b under a key or index that both sides have.
func (w *speller) pair(steps []*schema.Location, a, b string, depth int) string {
	here, hasA, hasB := steps[0], "", ""
	if here.Schema.Nullable {
		hasA, hasB = w.notNull(a), w.notNull(b)
	}
	if len(steps) == 1 {
		return w.slot(here, w.form, hasA, hasB, a, b, depth)
	}
	return guarded(hasA, hasB, w.below(steps[1:], a, b, depth))
}

func (w *speller) notNull(x string) string {
	if w.typed { // CEL does not compile the comparison of a string with null
		x = "dyn(" + x + ")"
	}
	return "(" + x + " != null)"
}

// items is the condition that each pair of items of a list satisfies pair: those with equal keys, or else those at the
// same index.
func (w *speller) items(list *schema.Location, a, b string, depth int, pair func(a, b string) string) string {
	if list.Marks.ListType == schema.ListMap {
		if reason := w.keysOf(list); reason != "" {
			return w.cannot(reason, "make each key of the list required")
		}
		n, o := numbered("n", depth), numbered("o", depth)
		return fmt.Sprintf("%s.all(%s, %s.all(%s, !(%s) || %s))",
			a, n, b, o, sameKeys(list.Marks.ListMapKeys, n, o, w.member), pair(n, o))
	}
	return w.indexed(list, a, b, depth, pair)
}

// keysOf returns why the keys of the keyed list cannot be compared, "" if they can.
func (w *speller) keysOf(list *schema.Location) string {
	if reason := keysApart(list.Schema); reason != "" {
		return reason
	}
	for _, key := range list.Marks.ListMapKeys {
		if w.typed && celexpr.Escape(key) == "" {
			return "CEL cannot select the name of a list-map key"
		}
	}
	if w.typed && !plainKeys(list) {
		return "CEL does not compare the keys of the list the way a lock does"
	}
	return ""
}

// fewIndices is the longest list whose indices are spelled out. The macro with two variables needs Kubernetes 1.33.
const fewIndices = 16

// indexed is the condition that the items of a and b satisfy pair at each index that both lists have.
func (w *speller) indexed(list *schema.Location, a, b string, depth int, pair func(a, b string) string) string {
	i, v := numbered("i", depth), numbered("v", depth)
	limit := list.Schema.MaxItems
	if limit == nil || *limit > fewIndices || *limit < 1 {
		return fmt.Sprintf("%s.all(%s, %s, %s >= size(%s) || %s)", a, i, v, i, b, pair(v, at(b, i)))
	}
	indices := make([]string, *limit)
	for n := range indices {
		indices[n] = strconv.Itoa(n)
	}
	return fmt.Sprintf("[%s].all(%s, %s >= size(%s) || %s >= size(%s) || %s)",
		strings.Join(indices, ", "), i, i, a, i, b, pair(at(a, i), at(b, i)))
}

// slot is the condition that an update makes none of the changes to a value that f is about. a and b spell the new and
// the old value, hasA and hasB that they are there, "" if they always are.
func (w *speller) slot(l *schema.Location, f form, hasA, hasB, a, b string, depth int) string {
	if f.refused&schema.ChangeItems != 0 {
		return w.keys(l, f.refused, hasA, hasB, a, b)
	}
	equal := func() string { return w.equal(l, a, b, depth) }
	if f.refused == schema.ChangeValue && l.Role != schema.Property && hasA != "" {
		if plain := a + " == " + b; equal() == plain { // null equals null under a key or index
			return plain
		}
	}
	return f.write(hasA, hasB, equal)
}

// keys is the condition that no keys or items are added or removed.
func (w *speller) keys(l *schema.Location, refused schema.Change, hasA, hasB, a, b string) string {
	var all []string
	if refused.Has(schema.AddItem) {
		all = append(all, w.subset(l, hasA, hasB, a, b))
	}
	if refused.Has(schema.RemoveItem) {
		all = append(all, w.subset(l, hasB, hasA, b, a))
	}
	if len(all) > 1 && hasA != "" {
		return "(" + strings.Join(all, ") && (") + ")"
	}
	return strings.Join(all, " && ")
}

// subset is the condition that every key of x is in y. An absent value has no keys.
func (w *speller) subset(l *schema.Location, hasX, hasY, x, y string) string {
	const apart = "CEL does not compare the keys or items the way a lock does"
	kind := keysOf(l)
	if kind == listKeys {
		if reason := w.keysOf(l); reason != "" {
			return w.cannot(reason, "")
		}
	}
	if w.union {
		if kind != setItems && (kind != listKeys || keysUnseen(l.Schema) != "") {
			return w.cannot(apart, "")
		}
		same := fmt.Sprintf("size(%s + %s) == size(%s)", x, y, y)
		if hasX == "" {
			return same
		}
		return fmt.Sprintf("!%s || size(%s) == 0 || (%s && %s)", hasX, x, hasY, same)
	}
	contains := "key in " + y
	switch kind {
	case noKeys:
		return w.cannot(apart, "")
	case listKeys:
		contains = y + ".exists(other, " + sameKeys(l.Marks.ListMapKeys, "other", "key", w.member) + ")"
	}
	if hasX == "" {
		return fmt.Sprintf("%s.all(key, %s)", x, contains)
	}
	return fmt.Sprintf("!%s || %s.all(key, %s && %s)", hasX, x, hasY, contains)
}

// equal is the condition that a and b, which are there, are equal values of l as a lock compares them.
func (w *speller) equal(l *schema.Location, a, b string, depth int) string {
	switch {
	case w.plain:
		return a + " == " + b
	case !w.typed:
		return w.equalUntyped(l, a, b)
	}
	s := l.Schema
	reason, order := unequal(s), w.ordered && longMapList(s)
	if reason == "" && normalizedBelow(s) {
		reason = "CEL does not count empty values as absent, as " + schema.KeyNormalize + " does"
	}
	next := func(part *schema.Location) func(a, b string) string {
		return func(a, b string) string {
			nested := *w
			nested.form, nested.reason = formOf(schema.ChangeValue), w.reason
			text := nested.pair([]*schema.Location{part}, a, b, depth+1)
			w.reason, w.remedy = nested.reason, nested.remedy
			return text
		}
	}
	size := fmt.Sprintf("size(%s) == size(%s) && ", a, b)
	switch isList := s.Type.Contains("array") && l.Items != nil; {
	case reason == "" && !order:
		return a + " == " + b
	case reason == "" && l.Marks.ListType == schema.ListMap && !longMapList(l.Items.Schema) && w.keysOf(l) == "":
		return a + " == " + b + sameOrder(l.Marks.ListMapKeys, a, b)
	case isList && l.Marks.ListType == schema.ListMap && !w.ordered:
		n, o := numbered("n", depth), numbered("o", depth)
		if reason := w.keysOf(l); reason != "" {
			return w.cannot(reason, "")
		}
		return size + fmt.Sprintf("%s.all(%s, %s.exists(%s, %s && %s))",
			a, n, b, o, sameKeys(l.Marks.ListMapKeys, n, o, w.member), next(l.Items)(n, o))
	case isList && l.Marks.ListType != schema.ListSet:
		return size + w.indexed(l, a, b, depth, next(l.Items))
	case s.Type.Contains("object") && l.Values != nil && len(l.Properties) == 0 && !preservesUnknown(s):
		key := numbered("k", depth)
		return size + fmt.Sprintf("%s.all(%s, %s in %s && %s)", a, key, key, b, next(l.Values)(at(a, key), at(b, key)))
	case s.Type.Contains("object") && namedOnly(l):
		return w.equalFields(l, a, b, depth)
	}
	return w.cannot(reason, "")
}

// sameOrder is the condition, to be added to others, that the lists a and b have the same keys at each index.
func sameOrder(keys []string, a, b string) string {
	var text strings.Builder
	for _, key := range keys {
		name := selected("n", key)
		fmt.Fprintf(&text, " && %s.map(n, %s) == %s.map(n, %s)", a, name, b, name)
	}
	return text.String()
}

// equalFields compares the objects a and b field by field.
func (w *speller) equalFields(l *schema.Location, a, b string, depth int) string {
	var all []string
	for _, field := range l.Properties {
		hasA, hasB := w.there(field, a, true), w.there(field, b, true)
		x, y := w.member(a, field.Name), w.member(b, field.Name)
		all = append(all, w.slot(field, formOf(schema.ChangeValue), hasA, hasB, x, y, depth))
	}
	return strings.Join(all, " && ")
}

// namedOnly reports whether the objects at l have no other properties than those with a name in the schema.
func namedOnly(l *schema.Location) bool {
	return len(l.Properties) > 0 && l.Schema.AdditionalProperties == nil &&
		!preservesUnknown(l.Schema) && !l.Marks.Embedded
}

// equalUntyped compares values of l in a policy.
func (w *speller) equalUntyped(l *schema.Location, a, b string) string {
	isSet := func(s *spec.Schema) bool { return s.Extensions[schema.KeyListType] == schema.ListSet }
	s := l.Schema
	switch {
	case isSet(s) && (s.Items == nil || s.Items.Schema == nil || anywhere(s.Items.Schema, isSet)),
		!isSet(s) && anywhere(s, isSet):
		return w.cannot(fmt.Sprintf("in %s is a set, and without a schema CEL compares sets in order", l.Path), "")
	case !w.ordered && schema.HasMapList(s):
		return w.cannot(fmt.Sprintf("in %s is a list whose order is to be ignored, and without a schema CEL compares "+
			"it in order", l.Path), "")
	case isSet(s):
		return fmt.Sprintf("size(%s) == size(%s) && %s.all(item, item in %s)", a, b, a, b)
	}
	return a + " == " + b
}

// there is the condition that container has the property l and that its value does not count as absent; "" if that is
// always so. If exact is set, null and absent differ.
func (w *speller) there(l *schema.Location, container string, exact bool) string {
	var all []string
	switch {
	case present(l):
	case !w.typed && exact:
		all = append(all, exists(container, l.Name))
	case !w.typed:
		all = append(all, isThere(l, container))
	case exact && l.Schema.Nullable && !l.Required && l.Schema.Default == nil && l.Marks.Normalize == "":
		return w.cannot("CEL takes null for absent, x-kubernetes-immutable does not",
			"remove nullable, or lock with "+schema.KeyUpdate+": [NoSet, NoUnset, NoModify]")
	default:
		all = append(all, "has("+w.member(container, l.Name)+")")
	}
	filled := w.filled(l, w.member(container, l.Name))
	switch {
	case len(all) > 0 && strings.Contains(filled, " || "):
		all = append(all, "("+filled+")")
	case filled != "":
		all = append(all, filled)
	}
	text := strings.Join(all, " && ")
	if len(all) > 1 || filled != "" && !selection.MatchString(filled) { // ! and == come next to it
		return "(" + text + ")"
	}
	return text
}

// selection matches fields of a variable.
var selection = regexp.MustCompile(`^[A-Za-z0-9_.\[\]]+$`)

// filled is the condition that x, the value of l, does not count as absent because of x-kubernetes-normalize; "" if no
// value other than null does.
func (w *speller) filled(l *schema.Location, x string) string {
	s, zero := l.Schema, l.Marks.Normalize == schema.NormalizeZero
	switch {
	case l.Marks.Normalize == "":
		return ""
	case s.Type.Contains("array"), s.Type.Contains("object") && l.Values != nil && len(l.Properties) == 0:
		return "size(" + x + ") > 0"
	case s.Type.Contains("object"):
		return w.filledObject(l, x)
	case !zero:
		return ""
	case isIntOrString(s), s.Type.Contains("integer"):
		return x + " != 0"
	case s.Type.Contains("number"):
		return x + " != 0.0"
	case s.Type.Contains("boolean"):
		return x
	case s.Format == "date", s.Format == "date-time", s.Format == "duration":
		return "" // the empty string is not valid
	}
	return "size(" + x + ") > 0"
}

// filledObject is filled for an object with named properties.
func (w *speller) filledObject(l *schema.Location, x string) string {
	if len(l.Properties) > 0 && !namedOnly(l) || preservesUnknown(l.Schema) || l.Marks.Embedded {
		return w.cannot("CEL does not see all keys of "+displayPath(l)+", and so not whether it is empty",
			"remove "+schema.KeyNormalize)
	}
	var any []string
	for _, field := range l.Properties {
		if field.Marks.Normalize == "" && (field.Required || field.Schema.Default != nil || present(field)) {
			return ""
		}
		if any = append(any, w.there(field, x, true)); any[len(any)-1] == "" {
			return ""
		}
	}
	if len(any) == 0 {
		return "false"
	}
	return strings.Join(any, " || ")
}

// member selects a property. A rule escapes names that are not identifiers and reserved words; a policy looks them up
// as keys.
func (w *speller) member(container, name string) string {
	switch {
	case w.typed && celexpr.Escape(name) == "":
		return w.cannot(fmt.Sprintf("CEL cannot select the name %q", name), "make the field required")
	case w.typed:
		return selected(container, name)
	case plain(name):
		return container + "." + name
	}
	return at(container, strconv.Quote(name))
}

// exists is the condition that container has the property, null included.
func exists(container, name string) string {
	if plain(name) {
		return "has(" + container + "." + name + ")"
	}
	return "(" + strconv.Quote(name) + " in " + container + ")"
}

func plain(name string) bool { return plainName.MatchString(name) && celexpr.Escape(name) == name }

// isThere is the condition that container has the property l, and not null.
func isThere(l *schema.Location, container string) string {
	if !l.Schema.Nullable {
		return exists(container, l.Name)
	}
	value := (&speller{}).member(container, l.Name)
	return fmt.Sprintf("(%s && %s != null)", exists(container, l.Name), value)
}

// correlates reports whether l is a key of a keyed list: items are paired by it, so its values in a pair are equal.
func correlates(l *schema.Location) bool {
	item := l.Parent()
	if l.Role != schema.Property || item.Role != schema.Items {
		return false
	}
	list := item.Parent()
	return list.Marks.ListType == schema.ListMap && slices.Contains(list.Marks.ListMapKeys, l.Name) &&
		keysApart(list.Schema) == ""
}
