package celrule

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/extension"
)

// Policy is the locks of one schema as validations of a ValidatingAdmissionPolicy, over object and oldObject.
type Policy struct {
	Validations []PolicyValidation
	Rest        []Unexported
}

// PolicyValidation is one validation of a policy.
type PolicyValidation struct {
	Locks      []PlacedLock
	Expression string
	Message    string
}

// ExportPolicy says the locks of s as validations of a ValidatingAdmissionPolicy. There CEL sees plain JSON, without a
// schema: values compare deeply and in order, null and absent differ, unknown fields count. So other locks can be said
// than in a CRD: the order of keyed lists and unknown fields can, sets inside a locked value cannot. A $ref is not
// followed. The error is an *immutability.SchemaError: the locks themselves are wrong.
func ExportPolicy(s *spec.Schema) (Policy, error) {
	if _, err := immutability.Compile(s); err != nil {
		return Policy{}, err
	}
	var out Policy
	frozen := map[*place]bool{}
	for _, p := range readPlaces(s) {
		if p.parent != nil && frozen[p.parent] {
			frozen[p] = true
			continue
		}
		for _, lock := range locksOf(p) {
			said := PlacedLock{p.path(), p.schemaPath(), lock}
			text, reason := p.validation(lock)
			if reason != "" {
				out.Rest = append(out.Rest, Unexported{PlacedLock: said, Reason: reason})
				continue
			}
			frozen[p] = frozen[p] || lock == string(immutability.Immutable)
			out.Validations = append(out.Validations, PolicyValidation{[]PlacedLock{said}, text, fmt.Sprintf("%s: %s (%s)", p.path(), message, lock)})
		}
	}
	return out, nil
}

// validation is the expression for a lock at p, or why there is none.
func (p *place) validation(lock string) (text, reason string) {
	for q := p; q != nil; q = q.parent {
		if q.marks.Normalize != "" {
			return "", "CEL does not count empty values as absent, as x-kubernetes-normalize does"
		}
	}
	if normalized(p.schema) {
		return "", "CEL does not count empty values as absent, as x-kubernetes-normalize does"
	}
	w := &policyWriter{steps: p.steps()[1:], lock: lock}
	text = w.write(0, "object", "oldObject", 0)
	return text, w.reason
}

// policyWriter walks down the steps to a lock, on both sides at once.
type policyWriter struct {
	steps  []*place
	lock   string
	reason string
}

func (w *policyWriter) cannot(format string, args ...any) string {
	if w.reason == "" {
		w.reason = fmt.Sprintf(format, args...)
	}
	return "true"
}

// write returns the condition for the steps from i on, where n and o are the expressions of the new and the old container,
// both there. depth numbers the variables.
func (w *policyWriter) write(i int, n, o string, depth int) string {
	step := w.steps[i]
	last := i == len(w.steps)-1
	switch step.at {
	case atValues:
		key := fmt.Sprintf("k%d", depth)
		a, b := n+"["+key+"]", o+"["+key+"]"
		return fmt.Sprintf("%s.all(%s, !(%s in %s) || %s)", n, key, key, o, w.pair(i, a, b, depth+1))
	case atItems:
		list := step.parent
		if list.marks.ListType != extension.ListMap {
			return w.cannot("CEL has no way to pair the items of the list %s", list.path())
		}
		a, b := fmt.Sprintf("n%d", depth), fmt.Sprintf("o%d", depth)
		if reason := keysApart(list); reason != "" {
			return w.cannot("%s", reason)
		}
		return fmt.Sprintf("%s.all(%s, %s.all(%s, !(%s) || %s))", n, a, o, b, sameMembers(list.marks.ListMapKeys, a, b), w.pair(i, a, b, depth+1))
	}
	if last {
		return w.property(step, n, o)
	}
	a, b := member(n, step.name), member(o, step.name)
	return guarded(step, n, o, w.write(i+1, a, b, depth))
}

// member selects a property. A policy sees objects without a schema, so that names are not escaped: those that are no
// identifiers, or are reserved words, are looked up as keys.
func member(container, name string) string {
	if plain(name) {
		return container + "." + name
	}
	return container + "[" + strconv.Quote(name) + "]"
}

// present is the condition that container has the property, be it null.
func present(container, name string) string {
	if plain(name) {
		return "has(" + container + "." + name + ")"
	}
	return "(" + strconv.Quote(name) + " in " + container + ")"
}

func plain(name string) bool { return plainName.MatchString(name) && escape(name) == name }

// there is the condition that container has the property p, and not null.
func there(p *place, container string) string {
	if p.schema.Nullable {
		return fmt.Sprintf("(%s && %s != null)", present(container, p.name), member(container, p.name))
	}
	return present(container, p.name)
}

// guarded is rest, where both containers have the property.
func guarded(step *place, n, o, rest string) string {
	if step.present() {
		return rest
	}
	return fmt.Sprintf("(!%s || !%s || %s)", there(step, n), there(step, o), rest)
}

// pair is the condition below a key or item that both sides have.
func (w *policyWriter) pair(i int, a, b string, depth int) string {
	step := w.steps[i]
	if step.schema.Nullable {
		return w.cannot("the values of %s may be null", step.parent.path())
	}
	if i == len(w.steps)-1 {
		return w.both(step, a, b)
	}
	return w.write(i+1, a, b, depth)
}

// property is the condition for the lock on a property.
func (w *policyWriter) property(p *place, n, o string) string {
	hasA, hasB := there(p, n), there(p, o)
	a, b := member(n, p.name), member(o, p.name)
	switch w.lock {
	case string(immutability.Immutable):
		if p.present() {
			return w.both(p, a, b)
		}
		hasA, hasB = present(n, p.name), present(o, p.name)
		return fmt.Sprintf("%s == %s && (!%s || %s)", hasA, hasB, hasA, w.both(p, a, b))
	case extension.NoSet:
		return fmt.Sprintf("%s || !%s", hasB, hasA)
	case extension.NoUnset:
		return fmt.Sprintf("!%s || %s", hasB, hasA)
	case extension.NoModify:
		return guarded(p, n, o, w.both(p, a, b))
	}
	if p.present() {
		return w.both(p, a, b)
	}
	var parts []string
	if w.fixesAdded() {
		parts = append(parts, fmt.Sprintf("(!%s || %s.all(key, %s && %s))", hasA, a, hasB, w.contains(p, b)))
	}
	if w.fixesRemoved() {
		parts = append(parts, fmt.Sprintf("(!%s || %s.all(key, %s && %s))", hasB, b, hasA, w.contains(p, a)))
	}
	return strings.Join(parts, " && ")
}

func (w *policyWriter) fixesAdded() bool {
	return w.lock == string(immutability.ImmutableKeys) || w.lock == string(immutability.DeletionOnly) || w.lock == extension.NoAddItem
}

func (w *policyWriter) fixesRemoved() bool {
	return w.lock == string(immutability.ImmutableKeys) || w.lock == string(immutability.AdditionOnly) || w.lock == extension.NoRemoveItem
}

// both is the condition for the lock where both sides have a value.
func (w *policyWriter) both(p *place, a, b string) string {
	switch w.lock {
	case string(immutability.Immutable), extension.NoModify:
		return w.equal(p, a, b)
	case extension.NoSet, extension.NoUnset:
		return "true"
	}
	var parts []string
	if w.fixesAdded() {
		parts = append(parts, fmt.Sprintf("%s.all(key, %s)", a, w.contains(p, b)))
	}
	if w.fixesRemoved() {
		parts = append(parts, fmt.Sprintf("%s.all(key, %s)", b, w.contains(p, a)))
	}
	return strings.Join(parts, " && ")
}

// contains is the condition that key, a key or item of the other side, is in x.
func (w *policyWriter) contains(p *place, x string) string {
	switch keysOf(p) {
	case mapKeys, setItems:
		return "key in " + x
	case listKeys:
		return x + ".exists(other, " + sameMembers(p.marks.ListMapKeys, "other", "key") + ")"
	}
	return w.cannot("CEL does not compare the keys or items of %s as a lock does", p.path())
}

// equal is the condition that the values of p are equal as a lock compares them.
func (w *policyWriter) equal(p *place, a, b string) string {
	isSet := func(s *spec.Schema) bool { return s.Extensions[extension.ListType] == extension.ListSet }
	s := p.schema
	switch {
	case isSet(s) && (s.Items == nil || s.Items.Schema == nil || anywhere(s.Items.Schema, isSet)),
		!isSet(s) && anywhere(s, isSet):
		return w.cannot("in %s is a set, and without a schema CEL compares sets in order", p.path())
	case p.marks.MapListOrder == extension.OrderIgnored && hasMapList(s):
		return w.cannot("in %s is a list whose order is to be ignored, and without a schema CEL compares it in order", p.path())
	case isSet(s):
		return fmt.Sprintf("size(%s) == size(%s) && %s.all(item, item in %s)", a, b, a, b)
	}
	return a + " == " + b
}

// sameMembers is the condition that a and b have equal list-map keys.
func sameMembers(keys []string, a, b string) string {
	var parts []string
	for _, key := range keys {
		parts = append(parts, member(a, key)+" == "+member(b, key))
	}
	return strings.Join(parts, " && ")
}
