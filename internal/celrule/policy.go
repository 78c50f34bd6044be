package celrule

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Policy is the locks of one schema as validations of a ValidatingAdmissionPolicy, over object and oldObject.
type Policy struct {
	Validations []PolicyValidation
	Rest        []Unexported
}

// PolicyValidation is one validation of a policy.
type PolicyValidation struct {
	Locks      []LockAt
	Expression string
	Message    string
}

// ExportPolicy writes the locks of s as validations of a ValidatingAdmissionPolicy. A policy sees objects without their
// schema: it compares values deeply and in order, null and absent differ, and unknown fields count. So it can enforce other
// locks than rules in a CRD: the order of keyed lists and unknown fields, but no sets inside a locked value. It does not
// follow $ref. It returns an *immutability.SchemaError if the locks of s are wrong.
func ExportPolicy(s *spec.Schema) (Policy, error) {
	if _, err := immutability.Compile(s); err != nil {
		return Policy{}, err
	}
	var out Policy
	frozen := map[*schema.Location]bool{}
	for _, l := range readTree(s).All {
		if l.In != nil && frozen[l.Parent()] {
			frozen[l] = true
			continue
		}
		for _, lock := range l.Marks.Locks {
			text, reason := expression(l, lock)
			if reason != "" {
				out.Rest = append(out.Rest, Unexported{LockAt: lockAt(l, lock), Reason: reason})
				continue
			}
			frozen[l] = frozen[l] || lock == schema.Immutable
			message := fmt.Sprintf("%s: %s", l.Path, lock.Refusal())
			out.Validations = append(out.Validations, PolicyValidation{[]LockAt{lockAt(l, lock)}, text, message})
		}
	}
	return out, nil
}

// expression returns the CEL expression for a lock at l, or why it cannot be expressed.
func expression(l *schema.Location, lock schema.Lock) (text, reason string) {
	if l.Marks.Normalize != "" || normalizedAbove(l) != nil || normalized(l.Schema) {
		return "", "CEL does not count empty values as absent, as x-kubernetes-normalize does"
	}
	w := &policyWriter{steps: way(l), lock: lock}
	text = w.write(0, "object", "oldObject", 0)
	return text, w.reason
}

// policyWriter walks down the steps to a lock, on both sides at once.
type policyWriter struct {
	steps  []*schema.Location
	lock   schema.Lock
	reason string
}

func (w *policyWriter) cannot(format string, args ...any) string {
	if w.reason == "" {
		w.reason = fmt.Sprintf(format, args...)
	}
	return "true"
}

// write returns the condition for the steps from i on. n and o are the expressions for the new and the old container, which
// both exist. depth numbers the variables.
func (w *policyWriter) write(i int, n, o string, depth int) string {
	here := w.steps[i]
	last := i == len(w.steps)-1
	switch here.Role {
	case schema.Values:
		key := fmt.Sprintf("k%d", depth)
		a, b := n+"["+key+"]", o+"["+key+"]"
		return fmt.Sprintf("%s.all(%s, !(%s in %s) || %s)", n, key, key, o, w.pair(i, a, b, depth+1))
	case schema.Items:
		list := here.Parent()
		if list.Marks.ListType != schema.ListMap {
			return w.cannot("CEL has no way to pair the items of the list %s", list.Path)
		}
		a, b := fmt.Sprintf("n%d", depth), fmt.Sprintf("o%d", depth)
		if reason := keysApart(list.Schema); reason != "" {
			return w.cannot("%s", reason)
		}
		return fmt.Sprintf("%s.all(%s, %s.all(%s, !(%s) || %s))", n, a, o, b, sameKeys(list.Marks.ListMapKeys, a, b, member), w.pair(i, a, b, depth+1))
	}
	if last {
		return w.property(here, n, o)
	}
	a, b := member(n, here.Name), member(o, here.Name)
	return guarded(here, n, o, w.write(i+1, a, b, depth))
}

// member selects a property. A policy sees objects without a schema, so names are not escaped there: reserved words, and
// names that are not identifiers, are looked up as keys.
func member(container, name string) string {
	if plain(name) {
		return container + "." + name
	}
	return container + "[" + strconv.Quote(name) + "]"
}

// exists is the condition that container has the property, null included.
func exists(container, name string) string {
	if plain(name) {
		return "has(" + container + "." + name + ")"
	}
	return "(" + strconv.Quote(name) + " in " + container + ")"
}

func plain(name string) bool { return plainName.MatchString(name) && celexpr.Escape(name) == name }

// isThere is the condition that container has the property p, and not null.
func isThere(p *schema.Location, container string) string {
	if p.Schema.Nullable {
		return fmt.Sprintf("(%s && %s != null)", exists(container, p.Name), member(container, p.Name))
	}
	return exists(container, p.Name)
}

// guarded is the condition rest, which applies only if both containers have the property.
func guarded(here *schema.Location, n, o, rest string) string {
	if present(here) {
		return rest
	}
	return fmt.Sprintf("(!%s || !%s || %s)", isThere(here, n), isThere(here, o), rest)
}

// pair is the condition below a key or item that both sides have.
func (w *policyWriter) pair(i int, a, b string, depth int) string {
	here := w.steps[i]
	if here.Schema.Nullable {
		return w.cannot("the values of %s may be null", here.Parent().Path)
	}
	if i == len(w.steps)-1 {
		return w.both(here, a, b)
	}
	return w.write(i+1, a, b, depth)
}

// property is the condition for the lock on a property.
func (w *policyWriter) property(p *schema.Location, n, o string) string {
	hasA, hasB := isThere(p, n), isThere(p, o)
	a, b := member(n, p.Name), member(o, p.Name)
	switch w.lock {
	case schema.Immutable:
		if present(p) {
			return w.both(p, a, b)
		}
		hasA, hasB = exists(n, p.Name), exists(o, p.Name)
		return fmt.Sprintf("%s == %s && (!%s || %s)", hasA, hasB, hasA, w.both(p, a, b))
	case schema.NoSet:
		return fmt.Sprintf("%s || !%s", hasB, hasA)
	case schema.NoUnset:
		return fmt.Sprintf("!%s || %s", hasB, hasA)
	case schema.NoModify:
		return guarded(p, n, o, w.both(p, a, b))
	}
	if present(p) {
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
	return w.lock.OnKeys() && w.lock.Refuses().Has(schema.AddItem)
}

func (w *policyWriter) fixesRemoved() bool {
	return w.lock.OnKeys() && w.lock.Refuses().Has(schema.RemoveItem)
}

// both is the condition for the lock where both sides have a value.
func (w *policyWriter) both(p *schema.Location, a, b string) string {
	switch w.lock {
	case schema.Immutable, schema.NoModify:
		return w.equal(p, a, b)
	case schema.NoSet, schema.NoUnset:
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
func (w *policyWriter) contains(p *schema.Location, x string) string {
	switch keysOf(p) {
	case mapKeys, setItems:
		return "key in " + x
	case listKeys:
		return x + ".exists(other, " + sameKeys(p.Marks.ListMapKeys, "other", "key", member) + ")"
	}
	return w.cannot("CEL does not compare the keys or items of %s as a lock does", p.Path)
}

// equal is the condition that the values of p are equal as a lock compares them.
func (w *policyWriter) equal(p *schema.Location, a, b string) string {
	isSet := func(s *spec.Schema) bool { return s.Extensions[schema.KeyListType] == schema.ListSet }
	s := p.Schema
	switch {
	case isSet(s) && (s.Items == nil || s.Items.Schema == nil || anywhere(s.Items.Schema, isSet)),
		!isSet(s) && anywhere(s, isSet):
		return w.cannot("in %s is a set, and without a schema CEL compares sets in order", p.Path)
	case p.Marks.MapListOrder == schema.OrderIgnored && hasMapList(s):
		return w.cannot("in %s is a list whose order is to be ignored, and without a schema CEL compares it in order", p.Path)
	case isSet(s):
		return fmt.Sprintf("size(%s) == size(%s) && %s.all(item, item in %s)", a, b, a, b)
	}
	return a + " == " + b
}
