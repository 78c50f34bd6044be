package immutability

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Lint returns the errors and warnings about the locks of s: errors first, then by path. An error is what fails
// Compile. A warning is a hole through which a locked value can still change, one per hole with the fields behind it, or
// a lock without effect. What concerns a CRD as a whole, such as a lock that one served version lacks, package crd
// finds. Nil when there is nothing to say. Cost: linear in the schema for schemas without locks; with locks, linear
// for each hole.
func Lint(s *spec.Schema, opts ...Option) []Finding {
	a, err := analyse(s, opts)
	var findings []Finding
	var schema *SchemaError
	if errors.As(err, &schema) {
		findings = slices.Clone(schema.Findings)
	}
	findings = append(findings, a.warnings()...)
	sortFindings(findings)
	return findings
}

// warnings returns the holes, the locks without effect, and the keys that say something else than they seem to.
func (a *analysis) warnings() []Finding {
	w := warner{a: a}
	w.each(map[*body]bool{}, a.root, nil, w.keys)
	w.each(map[*body]bool{}, a.root, nil, w.holes)
	return w.findings
}

// warner collects warnings.
type warner struct {
	a        *analysis
	findings []Finding
}

func (w *warner) warn(l *location, path *trail, rule string, behind []string, format string, args ...any) {
	w.findings = append(w.findings, Finding{
		Path: path.readable(), SchemaPath: l.path.pointer(), Severity: Warning, Rule: rule, Message: fmt.Sprintf(format, args...), Fields: behind,
	})
}

// each calls look for l and, where that says so, for what is below it.
func (w *warner) each(seen map[*body]bool, l *location, path *trail, look func(*location, *trail) (below bool)) {
	if !look(l, path) || seen[l.body] {
		return
	}
	seen[l.body] = true
	l.children(func(child *location) { w.each(seen, child, path.below(child), look) })
}

// keys looks at the extension keys of l that are no locks.
func (w *warner) keys(l *location, path *trail) bool {
	w.mapKeys(l, path)
	w.unknownKeys(l, path)
	return true
}

// holes looks for the ways around the locks of l and below it.
func (w *warner) holes(l *location, path *trail) bool {
	if by := l.holdsBelow(); by != "" {
		w.unsetThenSet(l, path)
		w.redundant(l, path, path.readable()+" "+by, map[*body]bool{l.body: true})
		return false
	}
	if !w.a.locked[l] {
		return false
	}
	w.removable(l, path)
	w.renamable(l, path)
	w.movable(l, path)
	return true
}

// mapKeys: a key that may be missing makes items that cannot be told apart; the API server refuses such a v1 CRD.
func (w *warner) mapKeys(l *location, path *trail) {
	if l.marks.ListType != extension.ListMap {
		return
	}
	for _, name := range l.marks.ListMapKeys {
		if field := l.keyField(name); field != nil && !field.required && field.defaultValue() == nil {
			w.warn(l, path, rule.OptionalMapKey, nil,
				"the map key %q is neither required nor defaulted, and the API server refuses a v1 CRD like that: add it to the required properties of the items", name)
		}
	}
}

// unknownKeys: a misspelled lock locks nothing.
func (w *warner) unknownKeys(l *location, path *trail) {
	for _, key := range extension.Unknown(l.schema.Extensions) {
		w.warn(l, path, rule.UnknownKey, nil, "%s is no key of Kubernetes or fieldlock, so that it does nothing; the locks are %s",
			key, strings.Join(extension.Own()[:5], ", "))
	}
}

// holdsBelow says how the lock of l keeps everything below it as it is while l is there, or "".
func (l *location) holdsBelow() string {
	switch {
	case l.marks.Immutable:
		return "is immutable as a whole"
	case l.marks.Has(extension.NoModify):
		return "cannot be modified while it is there"
	}
	return ""
}

// redundant: a lock below a value that cannot change adds nothing. A recursive schema has its own lock below itself.
func (w *warner) redundant(l *location, path *trail, by string, seen map[*body]bool) {
	l.children(func(child *location) {
		if seen[child.body] {
			return
		}
		seen[child.body] = true
		to := path.below(child)
		if child.marks.Locked() && !(child.isMapKey() && child.in.owner.in.owner.marks.KeyLock() != "") {
			w.warn(child, to, rule.RedundantLock, nil, "the lock adds nothing, as %s: remove it", by)
		}
		w.redundant(child, to, by, seen)
	})
}

// removable: a container that can go takes the locks below it with it.
func (w *warner) removable(l *location, path *trail) {
	how := l.canGo()
	if how == "" || l.marks.Has(extension.NoSet) || l.marks.Has(extension.NoUnset) || l.keepsItsKeys() {
		return
	}
	behind := w.behind(l, path)
	if len(behind) == 0 {
		return
	}
	w.warn(l, path, rule.OptionalParent, behind,
		"an update can %s, and the next one can put other values there: %s; make it required, or give it %s: [%s]",
		how, enumerate(behind), extension.Update, extension.NoUnset)
}

// canGo says how an update can make the value at l absent, or "".
func (l *location) canGo() string {
	switch {
	case l.marks.Normalize != "":
		return "leave it empty, which counts as absent"
	case l.nullable():
		return "set it to null"
	case l.at == atProperty && !l.required && l.defaultValue() == nil:
		return "remove it, as it is optional"
	}
	return ""
}

// keepsItsKeys reports whether a lock on its keys keeps the container at l from being removed and added again: nothing
// but the values under those keys is in it, and a key cannot go, or cannot come back.
func (l *location) keepsItsKeys() bool { return len(l.properties) == 0 && l.locksKeys() }

// locksKeys reports whether no key of l can be replaced with another one.
func (l *location) locksKeys() bool {
	m := &l.marks
	return m.KeyLock() != "" || m.Has(extension.NoAddItem) || m.Has(extension.NoRemoveItem)
}

// unsetThenSet: NoModify alone forbids a change, not the two changes around it.
func (w *warner) unsetThenSet(l *location, path *trail) {
	m := &l.marks
	how := l.canGo()
	if how == "" || !m.Has(extension.NoModify) || m.Has(extension.NoSet) || m.Has(extension.NoUnset) {
		return
	}
	w.warn(l, path, rule.UnsetThenSet, sortedSet(append(w.behind(l, path), path.readable())),
		"an update can %s, and the next one can set another value; add %s to %s", how, extension.NoUnset, extension.Update)
}

// renamable: values under keys that can be removed and added again are locked only as long as their key stays.
func (w *warner) renamable(l *location, path *trail) {
	if l.locksKeys() {
		return
	}
	var under *location
	switch {
	case l.values != nil && w.a.locked[l.values]:
		under = l.values
	case l.marks.ListType == extension.ListMap && l.items != nil && w.a.locked[l.items]:
		under = l.items
	default:
		return
	}
	if behind := w.from(under, path.below(under)); len(behind) > 0 {
		w.warn(l, path, rule.RenamableKey, behind,
			"an update can replace a key with another one and so free what is locked under it: %s; lock the keys with %s: true", enumerate(behind), extension.ImmutableKeys)
	}
}

// movable: items of an atomic list are compared by index, so that deleting and inserting moves them.
func (w *warner) movable(l *location, path *trail) {
	if l.items == nil || !w.a.locked[l.items] || l.marks.ListType == extension.ListMap || l.marks.ListType == extension.ListSet {
		return
	}
	if behind := w.from(l.items, path.below(l.items)); len(behind) > 0 {
		w.warn(l, path, rule.AtomicItems, behind,
			"the items are locked by index: an update can delete the last ones, and the next one can add others: %s; make the list a %s: map with locked keys, or lock the list",
			enumerate(behind), extension.ListType)
	}
}

// behind returns the locked fields below l.
func (w *warner) behind(l *location, path *trail) []string {
	var fields []string
	seen := map[*body]bool{l.body: true}
	l.children(func(child *location) { fields = w.collect(fields, child, path.below(child), seen) })
	return sortedSet(fields)
}

// from returns the locked fields at l and below it, without the map keys that a key lock wants locked.
func (w *warner) from(l *location, path *trail) []string {
	return sortedSet(w.collect(nil, l, path, map[*body]bool{}))
}

func (w *warner) collect(fields []string, l *location, path *trail, seen map[*body]bool) []string {
	if !w.a.locked[l] || l.isMapKey() {
		return fields
	}
	if l.marks.Locked() {
		fields = append(fields, path.readable())
	}
	if l.marks.Immutable || seen[l.body] {
		return fields
	}
	seen[l.body] = true
	l.children(func(child *location) { fields = w.collect(fields, child, path.below(child), seen) })
	return fields
}

// isMapKey reports whether l is a key field of a list-type map: its lock can never be broken, as items are correlated
// by it.
func (l *location) isMapKey() bool {
	if l.at != atProperty || l.in.owner.at != atItems {
		return false
	}
	marks := l.in.owner.in.owner.marks
	return marks.ListType == extension.ListMap && slices.Contains(marks.ListMapKeys, l.name)
}

func sortedSet(fields []string) []string {
	slices.Sort(fields)
	return slices.Compact(fields)
}

// shownFields is how many fields a message names.
const shownFields = 5

func enumerate(fields []string) string {
	if len(fields) <= shownFields {
		return strings.Join(fields, ", ")
	}
	return strings.Join(fields[:shownFields], ", ") + ", " + andMore(len(fields)-shownFields, "field")
}
