package markers

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// site is where a value is used.
type site string

const (
	inField  site = "a field"
	inItems  site = "the items of a list"
	inValues site = "the values of a map"
)

// fit reports the marks on u that its Go type cannot have.
func (p *problems) fit(u *use, at site) {
	own := u.marks.at(0)
	if u.typ.elem == nil {
		for depth := 1; depth < len(u.marks); depth++ {
			p.refuse(levels{u.marks[depth]}, "+k8s:eachVal marks the items of a list or the values of a map, and this "+
				"is a "+string(u.typ.form)+": put the marker on it without +k8s:eachVal")
		}
	} else if len(u.marks) > 1 {
		inside := inItems
		if u.typ.form == mapForm {
			inside = inValues
		}
		p.fit(u.inner(p), inside)
	}
	if m, ok := own.get(schema.KeyNormalize); ok && at != inField {
		p.of(m, "it is on %s, which cannot be absent: put it on a field", at)
	}
	p.oneLock(own)
	p.mapKeysExist(u, own)
	p.keysFit(u, own)
	p.setItemsAreFree(u, own)
}

// oneLock reports locks on one value that conflict.
func (p *problems) oneLock(own marks) {
	for i, m := range own {
		for _, other := range own[:i] {
			if schema.ConflictingKeys(m.key, other.key) {
				first, second := m, other
				if first.key != schema.KeyImmutable {
					first, second = other, m
				}
				p.of(second, "%s in line %d locks the whole value: remove one", first.text, first.pos.Line)
			}
		}
	}
}

// fitTopology takes away the topology that the type of u cannot have, so that it is not written. In the packages asked
// for that is a problem too.
func (p *problems) fitTopology(u *use) {
	own := u.marks.at(0)
	drop := func(m mark, format string, args ...any) {
		u.marks = u.marks.without(0, m.key)
		if !m.foreign {
			p.of(m, format, args...)
		}
	}
	listType, _ := own.get(schema.KeyListType)
	if listType.key != "" && u.typ.form != listForm {
		drop(listType, "it belongs on lists, and this is a %s: remove it", u.typ.form)
	}
	if m, ok := own.get(schema.KeyMapType); ok && (u.typ.form == listForm || u.typ.form == scalarForm) {
		drop(m, "it belongs on maps and structs, and this is a %s: remove it", u.typ.form)
	}
	if m, ok := own.get(schema.KeyListMapKeys); ok && listType.value != schema.ListMap {
		// Declarative validation also takes +k8s:listMapKey for +k8s:unique=map on an atomic list.
		m.foreign = m.foreign || strings.HasPrefix(m.text, "+k8s:")
		drop(m, "it names a key of a keyed list: add +listType=map")
	}
}

// mapKeysExist reports a keyed list that does not name its keys, or whose items lack them as scalar properties.
func (p *problems) mapKeysExist(u *use, own marks) {
	listType, _ := own.get(schema.KeyListType)
	if listType.value != schema.ListMap || listType.foreign {
		return
	}
	mapKeys, ok := own.get(schema.KeyListMapKeys)
	if !ok {
		p.of(listType, "it needs the key of the list: add +listMapKey=name, with the name of a property of the items")
		return
	}
	for _, name := range mapKeys.value.([]string) {
		items := u.inner(p).typ
		f := items.property(name)
		if f == nil && p.lenient {
			f = items.untagged(name)
		}
		if f == nil || f.typ.form != scalarForm {
			p.of(mapKeys, "the items have no property %q with a scalar value, which a key of the list must be", name)
		}
	}
}

// untagged returns the field without a JSON name whose name is like this one, as the internal types of an API server
// have it.
func (s *goType) untagged(name string) *field {
	i := slices.IndexFunc(s.fields, func(f *field) bool {
		return f.name == f.goName && strings.EqualFold(f.name, name)
	})
	if i < 0 {
		return nil
	}
	return s.fields[i]
}

// container tells which keys the values of u have.
func (u *use) container(own marks) schema.Container {
	listType, _ := own.get(schema.KeyListType)
	mapType, _ := own.get(schema.KeyMapType)
	switch {
	case u.typ.form == mapForm && mapType.value == schema.MapAtomic:
		return schema.AtomicMap
	case u.typ.form == mapForm:
		return schema.Map
	case u.typ.form == listForm && listType.value == schema.ListMap:
		return schema.MapList
	case u.typ.form == listForm && listType.value == schema.ListSet:
		return schema.SetList
	case u.typ.form == listForm:
		return schema.AtomicList
	}
	return schema.NoKeys
}

// keysFit reports locks on keys where there are none, and a keyed list under immutable keys whose key fields are free.
func (p *problems) keysFit(u *use, own marks) {
	container := u.container(own)
	read, _ := schema.ReadMarks(own.extensions())
	for _, lock := range read.Locks {
		m, _ := own.get(lock.Key())
		switch {
		case lock.AllowedOn(container):
			if lock == schema.ImmutableKeys && container == schema.MapList {
				p.keyFieldsLocked(u, own, m)
			}
		case lock == schema.ImmutableKeys && container == schema.SetList:
			p.of(m, "the items of a set are its keys: write +immutable")
		case lock == schema.ImmutableKeys:
			p.of(m, "it needs keys, which a map and a list with +listType=map and +listMapKey have: make it one of "+
				"these, or write +immutable")
		default:
			p.of(m, "items are added to and removed from a map and a list with +listType=map or set: make it one of "+
				"these, or choose among NoSet, NoUnset and NoModify")
			return
		}
	}
}

// keyFieldsLocked reports the key fields of a keyed list that are not locked themselves; m locks the keys.
func (p *problems) keyFieldsLocked(u *use, own marks, m mark) {
	mapKeys, _ := own.get(schema.KeyListMapKeys)
	names, _ := mapKeys.value.([]string)
	for _, name := range names {
		f := u.inner(p).typ.property(name)
		if f == nil {
			continue // reported by mapKeysExist
		}
		if _, locked := f.marks.at(0).get(schema.KeyImmutable); !locked {
			p.of(m, "the key %s of the list is free: put +immutable on field %s too", name, f.goName)
		}
	}
}

// setItemsAreFree reports locks on or below the items of a set: they are never compared in pairs, so it has no effect.
func (p *problems) setItemsAreFree(u *use, own marks) {
	listType, _ := own.get(schema.KeyListType)
	if u.typ.form != listForm || listType.value != schema.ListSet {
		return
	}
	if m, ok := u.inner(p).firstBelow(marks.lock); ok {
		p.of(m, "it is on or below the items of the set that line %d of %s declares; items of a set are added and "+
			"removed but never changed: lock the set itself",
			listType.pos.Line, p.relative(listType.pos.Filename))
	}
}

// refuse reports fieldlock's marks on what cannot have any. Topology there is for other tools to read.
func (p *problems) refuse(all levels, why string) {
	for _, level := range all {
		for _, m := range level {
			if isOwn(m.key) {
				p.of(m, "%s", why)
			}
		}
	}
}

// roundTrip reports a normalization of f that does not match what Go makes of f when it decodes an object and encodes
// it again, and one that is missing where protobuf needs it. The table in package normalize's documentation is the
// rule.
func (p *problems) roundTrip(f *field) {
	own := f.marks.at(0)
	m, ok := own.get(schema.KeyNormalize)
	if !ok {
		p.protobuf(f, own)
		return
	}
	typ := types.TypeString(f.typ.bare, nil)
	switch {
	case f.pointer:
		p.of(m, "%s is a pointer, which keeps absent and empty apart: remove the marker, or make the field no pointer",
			f.goName)
	case isQuantity(f.typ.bare):
		p.of(m, "an absent quantity is written as \"0\", which is not an empty value of its schema: remove it")
	case isIntOrString(f.typ.bare):
		if m.value != schema.NormalizeZero {
			p.of(m, "an absent IntOrString is written as 0: write +normalize=zero")
		}
	case isTime(f.typ.bare):
		// Absent is written as null, which both modes cover.
	case f.typ.form == unknownForm:
		p.of(m, "how %s is written depends on its value: remove it", typ)
	case f.typ.form == scalarForm:
		if m.value != schema.NormalizeZero {
			p.of(m, "Go does not tell an absent %s from its zero value, and it has no null, {} and []: write "+
				"+normalize=zero", typ)
		}
	case f.typ.form == structForm && !f.omitZero:
		if inner := f.typ.writtenWhenZero(); inner != nil {
			remedy := "omitempty into the json tag of " + inner.goName
			if inner.omitEmpty || inner.typ.form == structForm && !inner.pointer {
				remedy = "omitzero into the json tag of " + inner.goName // omitempty omits no struct and no array
			}
			if !isQuantity(inner.typ.bare) {
				remedy += ", or +normalize=zero on it"
			}
			p.of(m, "an absent %s is written with its field %s, so that it is not empty: put %s",
				f.goName, inner.name, remedy)
		}
	}
}

// zeroValue returns what is surprising about a lock on f: where the Go type does not tell absent from its zero value,
// the JSON does, and so does the lock, unlike +k8s:update in Kubernetes' validation of Go types. It returns "" if
// nothing is: the field is normalized, always there and locked as a whole, or cannot be zero. The rule is in the
// documentation of package normalize.
func (f *field) zeroValue() string {
	own := f.marks.at(0)
	if _, normalized := own.get(schema.KeyNormalize); normalized || f.pointer || f.notZero {
		return ""
	}
	zero := ""
	switch form := f.typ.form; {
	case isQuantity(f.typ.bare), isTime(f.typ.bare), isIntOrString(f.typ.bare), form == structForm, form == unknownForm:
		return ""
	case form == scalarForm:
		zero = "its zero value"
	default:
		zero = "an empty one"
	}
	lock, locked := own.get(schema.KeyImmutable)
	if update, ok := own.get(schema.KeyUpdate); ok {
		if locked {
			return "" // they contradict each other
		}
		words := update.value.([]string)
		lock, locked = update, slices.ContainsFunc(words, func(word string) bool { return !schema.Lock(word).OnKeys() })
	} else {
		locked = locked && !f.required()
	}
	if !locked || lock.foreign {
		return ""
	}
	return fmt.Sprintf("Go does not tell an absent %s from %s, but the JSON does, and %s counts %s as set: add "+
		"+normalize=zero, or make the field a pointer",
		f.name, zero, lock.text, zero)
}

// zeroRule is the rule of problems about zeroValue.
const zeroRule = "zero-value"

// protobuf reports a list or map whose presence is locked, that protobuf stores, and that is not normalized. Other
// packages have to mend it themselves; the lock stays as strict as it is.
func (p *problems) protobuf(f *field, own marks) {
	if p.lenient || !f.tag.protobuf || f.pointer || f.typ.form != listForm && f.typ.form != mapForm {
		return
	}
	m, locked := own.get(schema.KeyImmutable)
	if update, ok := own.get(schema.KeyUpdate); ok {
		words := update.value.([]string)
		m, locked = update, slices.Contains(words, string(schema.NoSet)) ||
			slices.Contains(words, string(schema.NoUnset))
	}
	if locked && !m.foreign {
		p.of(m, "%s has a protobuf tag, and protobuf stores unset, empty and null as one: add +normalize=undefined",
			f.goName)
	}
}

// writtenWhenZero returns a field that the zero value of the struct s is written with and that no mark takes away.
func (s *goType) writtenWhenZero() *field {
	for _, f := range s.fields {
		m, marked := f.marks.at(0).get(schema.KeyNormalize)
		zero := marked && m.value == schema.NormalizeZero
		gone := false // whether it is left out, or a mark takes what is written for absent
		switch {
		case f.omitted():
			gone = true
		case f.pointer: // null, which a mark on a pointer is not allowed to take away
		case isQuantity(f.typ.bare): // "0", which is not the zero value of a string
		case isTime(f.typ.bare): // null
			gone = marked
		case isIntOrString(f.typ.bare): // 0
			gone = zero
		case f.typ.form == structForm && marked:
			if inner := f.typ.writtenWhenZero(); inner != nil {
				return inner
			}
			gone = true
		case f.typ.form == scalarForm:
			gone = zero
		case f.typ.form != structForm:
			gone = marked
		}
		if !gone {
			return f
		}
	}
	return nil
}

// omitted reports whether encoding/json leaves the zero value of f out. With omitempty it does so for false, 0, nil and
// what has no length, but never for a struct, as Quantity, Time and IntOrString are, or an array with items.
func (f *field) omitted() bool {
	if f.omitZero || !f.omitEmpty || f.pointer {
		return f.omitZero || f.omitEmpty
	}
	switch under := f.typ.bare.Underlying().(type) {
	case *types.Struct:
		return false
	case *types.Array:
		return under.Len() == 0
	}
	return true
}

func isQuantity(t types.Type) bool {
	return isNamed(t, quantityPackage, "Quantity")
}

func isIntOrString(t types.Type) bool {
	return isNamed(t, intstrPackage, "IntOrString")
}

func isTime(t types.Type) bool { return isNamed(t, metaV1, "Time") || isNamed(t, metaV1, "MicroTime") }
