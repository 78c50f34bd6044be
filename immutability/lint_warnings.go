package immutability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// warnings returns the ways around the locks of t, one finding for each with the fields behind it, the locks without
// effect, and map keys that may be missing. Cost: linear in the schema and in the findings.
func warnings(t *schema.Tree) []Finding {
	h := holes{locked: t.Holding(func(l *schema.Location) bool { return l.Marks.Locked() })}
	t.Root.Descend(nil, h.optionalMapKey)
	t.Root.Descend(nil, h.find)
	return h.done()
}

type holes struct {
	list
	locked map[*schema.Location]bool // has a lock, or something below it does
}

// warn adds a warning about something that is not a hole.
func (h *holes) warn(l *schema.Location, at *schema.Path, id, format string, args ...any) {
	h.add(at, l.Path, Finding{Severity: SeverityWarning, Rule: id, Message: fmt.Sprintf(format, args...)})
}

// hole adds a way to change fields, and the YAML that closes it at l, "" if nothing is known to.
func (h *holes) hole(l *schema.Location, at *schema.Path, id string, fields []string, fix, format string, args ...any) {
	f := Finding{Severity: SeverityWarning, Rule: id, Message: fmt.Sprintf(format, args...), Fields: fields}
	if fix != "" {
		f.Fix = &Fix{Text: "# " + cmp.Or(at.String(), "the root") + "\n" + fix, SchemaPath: l.Path.Pointer()}
	}
	h.add(at, l.Path, f)
}

// find looks for the ways around the locks of l and below it.
func (h *holes) find(l *schema.Location, at *schema.Path) (below bool) {
	if h.full() || !h.locked[l] {
		return false
	}
	if how := keepsValue(l); how != "" {
		h.unsetThenSet(l, at)
		h.redundant(l, at, how)
		return false
	}
	h.optionalParent(l, at)
	h.renamableKey(l, at)
	h.atomicItems(l, at)
	return true
}

// optionalMapKey: a key that may be missing makes items that cannot be told apart; the API server refuses such a v1
// CRD.
func (h *holes) optionalMapKey(l *schema.Location, at *schema.Path) (below bool) {
	if l.Marks.ListType == schema.ListMap {
		for _, name := range l.Marks.ListMapKeys {
			if field := l.KeyField(name); field != nil && !field.Required && field.Default() == nil {
				h.warn(l, at, finding.OptionalMapKey,
					"the map key %q is neither required nor defaulted, and the API server refuses a v1 CRD like "+
						"that: add it to the required properties of the items", name)
			}
		}
	}
	return !h.full()
}

// keepsValue says how a lock of l keeps everything below it as it is while l is set, or "".
func keepsValue(l *schema.Location) string {
	switch {
	case l.Marks.Has(schema.Immutable):
		return "is immutable as a whole"
	case l.Marks.Has(schema.NoModify):
		return "cannot be modified while it is set"
	}
	return ""
}

// redundant: a lock below a value that cannot change adds nothing. A recursive schema has its own lock below itself.
func (h *holes) redundant(top *schema.Location, at *schema.Path, how string) {
	name := at.String()
	top.Descend(at, func(l *schema.Location, at *schema.Path) bool {
		if l == top {
			return true
		}
		if l.Body != top.Body && l.Marks.Locked() && !(l.IsMapKey() && l.Parent().Parent().Marks.KeyLock() != "") {
			h.warn(l, at, finding.RedundantLock, "the lock adds nothing, because %s %s: remove it", name, how)
		}
		return l.Body != top.Body && !h.full()
	})
}

// optionalParent: a container that can be removed takes the locks below it with it.
func (h *holes) optionalParent(l *schema.Location, at *schema.Path) {
	how := canVanish(l)
	if how == "" || l.Marks.Has(schema.NoSet) || l.Marks.Has(schema.NoUnset) || len(l.Properties) == 0 && keepsKeys(l) {
		return
	}
	if fields := h.below(l, at); len(fields) > 0 {
		// Making it required would close the hole too, and make objects invalid that users have.
		h.hole(l, at, finding.OptionalParent, fields, withNoUnset(l),
			"an update can "+how+" and the next one can bring it back with other values of %s; add %s: [%s] to %[1]s",
			nameOf(l), finding.Enumerate(fields), schema.KeyUpdate, schema.NoUnset)
	}
}

// unsetThenSet: NoModify alone forbids a change, not the two changes around it.
func (h *holes) unsetThenSet(l *schema.Location, at *schema.Path) {
	how := canVanish(l)
	if how == "" || !l.Marks.Has(schema.NoModify) || l.Marks.Has(schema.NoSet) || l.Marks.Has(schema.NoUnset) {
		return
	}
	h.hole(l, at, finding.UnsetThenSet, sortedSet(append(h.below(l, at), at.String())), withNoUnset(l),
		"an update can "+how+" and the next one can set another value; add %s to %s",
		nameOf(l), schema.NoUnset, schema.KeyUpdate)
}

// nameOf names what l is the place of.
func nameOf(l *schema.Location) string {
	if l.Role == schema.Property {
		return l.Name
	}
	return "the value"
}

// canVanish says how an update can make the value at l, %s, absent, or "".
func canVanish(l *schema.Location) string {
	switch {
	case l.Marks.Normalize != "":
		return "leave %s empty, which counts as absent,"
	case l.Nullable():
		return "set %s to null"
	case l.Role == schema.Property && !l.Required && l.Default() == nil:
		return "leave out %s"
	}
	return ""
}

// keepsKeys reports whether a key of l cannot be replaced with another one: a key that goes cannot come back, or none
// can go.
func keepsKeys(l *schema.Location) bool {
	return slices.ContainsFunc(l.Marks.Locks, schema.Lock.OnKeys)
}

// renamableKey: values under keys that can be removed and added again are locked only while their key stays.
func (h *holes) renamableKey(l *schema.Location, at *schema.Path) {
	if keepsKeys(l) {
		return
	}
	var fields []string
	switch {
	case l.Values != nil && h.locked[l.Values]:
		fields = h.from(l.Values, at.Values())
	case l.Marks.ListType == schema.ListMap && l.Items != nil && h.locked[l.Items]:
		fields = h.from(l.Items, at.Items())
	}
	if len(fields) > 0 {
		h.hole(l, at, finding.RenamableKey, fields, lockedKeys(l),
			"an update can remove an item and the next can add it back with other values of %s; lock the keys with "+
				"%s: true",
			finding.Enumerate(fields), schema.KeyImmutableKeys)
	}
}

// atomicItems: items of an atomic list are compared by index, so deleting and inserting moves them.
func (h *holes) atomicItems(l *schema.Location, at *schema.Path) {
	if l.Items == nil || !h.locked[l.Items] || l.Marks.ListType == schema.ListMap ||
		l.Marks.ListType == schema.ListSet {
		return
	}
	if fields := h.from(l.Items, at.Items()); len(fields) > 0 {
		h.hole(l, at, finding.AtomicItems, fields, "",
			"the items are locked by index; an update can delete the last ones and the next one can add others with "+
				"other values of "+
				"%s; make the list a %s: map with locked keys, or lock the list",
			finding.Enumerate(fields), schema.KeyListType)
	}
}

// below returns the locked fields below l.
func (h *holes) below(l *schema.Location, at *schema.Path) []string { return h.collect(l, at, true) }

// from returns the locked fields at l and below it, without map keys: a lock on the keys of their list wants them
// locked.
func (h *holes) from(l *schema.Location, at *schema.Path) []string { return h.collect(l, at, false) }

func (h *holes) collect(top *schema.Location, at *schema.Path, skipTop bool) []string {
	var fields []string
	top.Descend(at, func(l *schema.Location, at *schema.Path) bool {
		if skipTop && l == top {
			return true
		}
		if !h.locked[l] || l.IsMapKey() {
			return false
		}
		if l.Marks.Locked() {
			h.steps += at.Depth()
			fields = append(fields, at.String())
		}
		return !l.Marks.Has(schema.Immutable) && !h.full()
	})
	return sortedSet(fields)
}

func sortedSet(fields []string) []string {
	slices.Sort(fields)
	return slices.Compact(fields)
}

// withNoUnset returns the words of l with NoUnset among them, as YAML.
func withNoUnset(l *schema.Location) string {
	var words []string
	for _, word := range schema.Words() {
		if lock := schema.Lock(word); lock == schema.NoUnset || l.Marks.Has(lock) {
			words = append(words, word)
		}
	}
	return fmt.Sprintf("%s: [%s]\n", schema.KeyUpdate, strings.Join(words, ", "))
}

// lockedKeys returns the lock on the keys of l as YAML, with the locks on the key properties that it asks for.
func lockedKeys(l *schema.Location) string {
	text := schema.KeyImmutableKeys + ": true\n"
	var keys strings.Builder
	for _, name := range l.Marks.ListMapKeys {
		if field := l.KeyField(name); field != nil && !field.Marks.Has(schema.Immutable) {
			fmt.Fprintf(&keys, "    %q:\n      %s: true\n", name, schema.KeyImmutable)
		}
	}
	if keys.Len() > 0 {
		text += "items:\n  properties:\n" + keys.String()
	}
	return text
}
