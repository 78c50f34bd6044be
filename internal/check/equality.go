package check

import (
	"hash/maphash"
	"reflect"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/listindex"
	"github.com/fieldlock/fieldlock/internal/normalizer"
)

// Value is the value at a location in one of the two objects. OK is false where it is absent, which differs from null.
type Value struct {
	Data any
	OK   bool
}

// set reports whether v is neither absent nor null: a container that exists, or a value for x-fieldlock-update.
func (v Value) set() bool { return v.OK && !jsonvalue.IsNull(v.Data) }

// kind returns the kind of v, Null where it is absent.
func (v Value) kind() jsonvalue.Kind {
	if !v.OK {
		return jsonvalue.Null
	}
	return jsonvalue.KindOf(v.Data)
}

// member returns the member key of an object.
func member(object map[string]any, key string) Value {
	data, ok := object[key]
	return Value{data, ok}
}

// present returns an item or member that exists.
func present(data any) Value { return Value{data, true} }

func allObjects(list []any) bool {
	for _, item := range list {
		if jsonvalue.KindOf(item) != jsonvalue.Object {
			return false
		}
	}
	return true
}

// Identity tells containers apart: the address of an object, or the address and length of a list.
type Identity struct {
	address uintptr
	length  int
}

// IdentityOf returns the Identity of a container. ok is false for scalars, and for empty lists, which share an address.
func IdentityOf(v any) (id Identity, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		return Identity{address: reflect.ValueOf(v).Pointer()}, v != nil
	case []any:
		return Identity{reflect.ValueOf(v).Pointer(), len(v)}, len(v) > 0
	}
	return Identity{}, false
}

// IsContainer reports whether differences can be below v.
func IsContainer(v any) bool {
	k := jsonvalue.KindOf(v)
	return k == jsonvalue.Object || k == jsonvalue.List
}

// Equality says when two values of one location are equal, as the documentation of package immutability defines it: as
// JSON, but for sets, normalized properties and, where order is ignored, lists of list-type map. The part that fits the
// kind of the value applies. The nil Equality is plain JSON equality.
type Equality struct {
	Object *ObjectEquality // nil: as JSON
	List   *ListEquality   // nil: as JSON

	// unordered is set if there are lists without order below, so that comparing two values can mean hashing them.
	unordered bool
}

// ObjectEquality compares objects that have members with an equality of their own.
type ObjectEquality struct {
	Properties map[string]Member // those with an equality or normalization, and all of them if Values is not nil
	Values     *Equality         // of the other keys
	Normalized bool              // a member may count as absent
}

// Member says how the values of a property compare and which of them count as absent.
type Member struct {
	Equality *Equality
	Presence normalizer.Property
}

// ListKind says how lists compare.
type ListKind uint8

// The kinds.
const (
	Ordered ListKind = iota // item by item
	AsSet                   // as multisets
	ByKey                   // by key, without order
)

// ListEquality compares lists.
type ListEquality struct {
	Kind  ListKind
	Items *Equality
	Keys  listindex.Keys // of ByKey
}

func (o *ObjectEquality) member(key string) Member {
	if m, ok := o.Properties[key]; ok {
		return m
	}
	return Member{Equality: o.Values}
}

// Same reports whether a and b are equal under e. Most values are equal as JSON, and then under every equality, so Same
// uses e only for the others.
func (m *Memo) Same(e *Equality, a, b any) bool {
	if equal, ok := m.known(e, a, b); ok {
		return equal
	}
	if _, unequal := m.known(nil, a, b); !unequal {
		if m.equalJSON(a, b) {
			return true
		}
		if m.nested {
			m.markUnequal(a, b)
		}
	}
	return e != nil && m.Equal(e, a, b)
}

// markUnequal reports whether a and b differ as JSON. It remembers all pairs of containers on the way to their first
// difference, so that a lock on one of them need not look for it again.
func (m *Memo) markUnequal(a, b any) bool {
	differ := m.unequal(a, b)
	if differ {
		m.remember(nil, a, b, false)
	}
	return differ
}

func (m *Memo) unequal(a, b any) bool {
	m.work++
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && len(x) == len(y) && x != nil && y != nil {
			for key, value := range x {
				if other, ok := y[key]; !ok || m.markUnequal(value, other) {
					return true
				}
			}
			return false
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) && x != nil && y != nil {
			for i := range x {
				if m.markUnequal(x[i], y[i]) {
					return true
				}
			}
			return false
		}
	}
	return !jsonvalue.Equal(a, b)
}

// equalJSON is jsonvalue.Equal, counted.
func (m *Memo) equalJSON(a, b any) bool {
	if m.looksAt != nil {
		m.work += m.looksAt(a, b)
	}
	return jsonvalue.Equal(a, b)
}

// Equal reports whether a and b are equal under e.
func (m *Memo) Equal(e *Equality, a, b any) bool {
	if e == nil {
		return m.equalJSON(a, b)
	}
	switch va := a.(type) {
	case map[string]any:
		if vb, ok := b.(map[string]any); ok && e.Object != nil && va != nil && vb != nil {
			if equal, ok := m.known(e, a, b); ok {
				return equal
			}
			return m.remember(e, a, b, m.equalObjects(e.Object, va, vb))
		}
	case []any:
		if vb, ok := b.([]any); ok && e.List != nil && va != nil && vb != nil {
			if equal, ok := m.known(e, a, b); ok {
				return equal
			}
			return m.remember(e, a, b, m.equalLists(e.List, va, vb))
		}
	}
	return m.equalJSON(a, b)
}

func (m *Memo) equalObjects(o *ObjectEquality, a, b map[string]any) bool {
	m.work++
	if !o.Normalized && len(a) != len(b) {
		return false
	}
	present := 0
	for key, va := range a {
		member := o.member(key)
		if m.Absent(member.Presence, va) {
			continue
		}
		vb, ok := b[key]
		if !ok || !m.Equal(member.Equality, va, vb) {
			return false
		}
		present++
	}
	return present == m.count(o, b)
}

// count returns how many members of v do not count as absent.
func (m *Memo) count(o *ObjectEquality, v map[string]any) int {
	n := len(v)
	if o.Normalized {
		for key, value := range v {
			if m.Absent(o.member(key).Presence, value) {
				n--
			}
		}
	}
	return n
}

func (m *Memo) equalLists(l *ListEquality, a, b []any) bool {
	m.work++
	if len(a) != len(b) {
		return false
	}
	switch l.Kind {
	case AsSet:
		i := m.sameItems(l.Items, a, b)
		return i == len(a) || listindex.EqualSets(a[i:], b[i:], m.items(l.Items))
	case ByKey:
		return m.equalByKey(l, a, b)
	}
	for i := range a {
		if !m.Equal(l.Items, a[i], b[i]) {
			return false
		}
	}
	return true
}

// changed returns the indices of the items that only one of two sets has, counted with multiplicity.
func (m *Memo) changed(items *Equality, newList, oldList []any) (added, removed []int) {
	i := m.sameItems(items, newList, oldList)
	if i == len(newList) && i == len(oldList) {
		return nil, nil
	}
	return listindex.Changed(newList, oldList, i, m.items(items))
}

// sameItems returns how many items at the beginning of two sets are equal in order. Items that have lists without order
// in them are compared only if their hashes are equal: in sets of sets a comparison that fails would otherwise be
// repeated at each level.
func (m *Memo) sameItems(items *Equality, a, b []any) int {
	i := 0
	for i < len(a) && i < len(b) && m.likely(items, a[i], b[i]) && m.Equal(items, a[i], b[i]) {
		i++
	}
	return i
}

// likely reports whether a and b may be equal under e, as far as their hashes tell.
func (m *Memo) likely(e *Equality, a, b any) bool {
	return e == nil || !e.unordered || m.Hash(e, a) == m.Hash(e, b)
}

// equalByKey compares lists of the same length by key. Items that share a key are compared one by one, in order; lists
// with items that are not objects are compared in order.
func (m *Memo) equalByKey(l *ListEquality, a, b []any) bool {
	// Items with the same keys at the same index belong together, so what is compared here is compared once. In lists
	// within lists, a second comparison would double the cost at each level.
	i := 0
	for i < len(a) && l.Keys.Equal(a[i], b[i]) {
		if !m.Equal(l.Items, a[i], b[i]) {
			return false
		}
		i++
	}
	if i == len(a) {
		return true
	}
	if !allObjects(a) { // an item of b that is not an object equals none of them
		return false
	}
	index := listindex.NewIndex(a[i:], &l.Keys)
	defer index.Free()
	at, _ := index.Take(b[i:], make([]int, 0, len(b)-i))
	for j, item := range b[i:] {
		if at[j] < 0 || !m.Equal(l.Items, a[i+at[j]], item) {
			return false
		}
	}
	return true
}

// items returns the equality of list items for package listindex.
func (m *Memo) items(e *Equality) listindex.Equality {
	if e == nil {
		return listindex.JSON{}
	}
	return &itemEquality{m, e}
}

type itemEquality struct {
	memo     *Memo
	equality *Equality
}

func (i *itemEquality) Equal(a, b any) bool { return i.memo.Equal(i.equality, a, b) }

// Hash ignores the seed: what the memo remembers has one of its own, which is random too.
func (i *itemEquality) Hash(_ maphash.Seed, v any) uint64 { return i.memo.Hash(i.equality, v) }
