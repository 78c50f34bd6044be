package markers

import (
	"go/types"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// place is where a value stands.
type place string

const (
	inField  place = "a field"
	inItems  place = "the items of a list"
	inValues place = "the values of a map"
)

// bears reports the marks on u that its Go type cannot bear.
func (b *builder) bears(u *use, at place) {
	own := u.marks.at(0)
	if u.shape.elem == nil {
		for depth := 1; depth < len(u.marks); depth++ {
			b.refuse(levels{u.marks[depth]}, "+k8s:eachVal marks the items of a list or the values of a map, and this is a "+string(u.shape.form)+": put the marker on it without +k8s:eachVal")
		}
	} else if len(u.marks) > 1 {
		inside := inItems
		if u.shape.form == mapForm {
			inside = inValues
		}
		b.bears(u.inner(b.problems), inside)
	}
	if m, ok := own.get(extension.Normalize); ok && at != inField {
		b.problems.of(m, "it stands on %s, which cannot be absent: put it on a field", at)
	}
	b.oneLock(own)
	b.mapKeysExist(u, own)
	b.keysFit(u, own)
	b.setItemsAreFree(u, own)
}

// oneLock: the four locks exclude each other; words may stand beside a key lock only.
func (b *builder) oneLock(own marks) {
	immutable, isImmutable := own.get(extension.Immutable)
	keys, isKeys := own.get(extension.ImmutableKeys)
	update, isUpdate := own.get(extension.Update)
	switch {
	case isImmutable && isKeys:
		b.problems.of(keys, "%s in line %d locks the whole value: one of the two has to go", immutable.text, immutable.pos.Line)
	case isImmutable && isUpdate:
		b.problems.of(update, "%s in line %d locks the whole value: one of the two has to go", immutable.text, immutable.pos.Line)
	}
}

// fitTopology takes away the topology that the type of u cannot have, so that it is not written. In the packages asked for
// that is a problem.
func (b *builder) fitTopology(u *use) {
	own := u.marks.at(0)
	drop := func(m mark, format string, args ...any) {
		u.marks = u.marks.without(0, m.key)
		if !m.foreign {
			b.problems.of(m, format, args...)
		}
	}
	listType, _ := own.get(extension.ListType)
	if listType.key != "" && u.shape.form != listForm {
		drop(listType, "it stands on lists, and this is a %s: remove it", u.shape.form)
	}
	if m, ok := own.get(extension.MapType); ok && (u.shape.form == listForm || u.shape.form == scalarForm) {
		drop(m, "it stands on maps and structs, and this is a %s: remove it", u.shape.form)
	}
	if m, ok := own.get(extension.ListMapKeys); ok && listType.value != extension.ListMap {
		// Declarative validation also takes +k8s:listMapKey for +k8s:unique=map on an atomic list.
		m.foreign = m.foreign || strings.HasPrefix(m.text, "+k8s:")
		drop(m, "it names a key of a keyed list: put +listType=map beside it")
	}
}

// mapKeysExist: a keyed list names its keys, which are scalar properties of its items.
func (b *builder) mapKeysExist(u *use, own marks) {
	listType, _ := own.get(extension.ListType)
	if listType.value != extension.ListMap || listType.foreign {
		return
	}
	mapKeys, ok := own.get(extension.ListMapKeys)
	if !ok {
		b.problems.of(listType, "it needs the key of the list: put +listMapKey=name beside it, with the name of a property of the items")
		return
	}
	for _, name := range mapKeys.value.([]string) {
		if f := u.inner(b.problems).shape.property(name); f == nil || f.shape.form != scalarForm {
			b.problems.of(mapKeys, "the items have no property %q with a scalar value, which a key of the list has to be", name)
		}
	}
}

// keysFit: locks of keys need keys, and under them the keys of a keyed list are locked themselves.
func (b *builder) keysFit(u *use, own marks) {
	listType, _ := own.get(extension.ListType)
	mapType, _ := own.get(extension.MapType)
	isMap := u.shape.form == mapForm && mapType.value != extension.MapAtomic
	isKeyed := u.shape.form == listForm && listType.value == extension.ListMap
	isSet := u.shape.form == listForm && listType.value == extension.ListSet

	if m, ok := own.get(extension.ImmutableKeys); ok {
		switch {
		case isSet:
			b.problems.of(m, "the items of a set are its keys: write +immutable")
		case !isMap && !isKeyed:
			b.problems.of(m, "it needs keys, which a map and a list with +listType=map and +listMapKey have: make it one of these, or write +immutable")
		case isKeyed:
			mapKeys, _ := own.get(extension.ListMapKeys)
			names, _ := mapKeys.value.([]string)
			for _, name := range names {
				f := u.inner(b.problems).shape.property(name)
				if f == nil {
					continue // reported by mapKeysExist
				}
				if _, locked := f.marks.at(0).get(extension.Immutable); !locked {
					b.problems.of(m, "the key %s of the list is free: put +immutable on field %s too", name, f.goName)
				}
			}
		}
	}
	if m, ok := own.get(extension.Update); ok && !isMap && !isKeyed && !isSet {
		words := m.value.([]string)
		if slices.Contains(words, extension.NoAddItem) || slices.Contains(words, extension.NoRemoveItem) {
			b.problems.of(m, "items are added to and removed from a map and a list with +listType=map or set: make it one of these, or choose among NoSet, NoUnset and NoModify")
		}
	}
}

// setItemsAreFree: the items of a set are never compared in pairs, so that a lock on or below them has no effect.
func (b *builder) setItemsAreFree(u *use, own marks) {
	listType, _ := own.get(extension.ListType)
	if u.shape.form != listForm || listType.value != extension.ListSet {
		return
	}
	if m, ok := u.inner(b.problems).firstBelow(marks.lock); ok {
		b.problems.of(m, "it stands on or below the items of the set that line %d of %s declares, which are added and removed but never changed: lock the set itself",
			listType.pos.Line, b.problems.relative(listType.pos.Filename))
	}
}

// property returns the field with this JSON name, nil where there is none.
func (s *shape) property(name string) *field {
	i := slices.IndexFunc(s.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return s.fields[i]
}

// firstBelow returns the first mark that pick chooses, on u or anywhere below it.
func (u *use) firstBelow(pick func(marks) (mark, bool)) (mark, bool) {
	seen := map[*shape]bool{}
	var visit func(u *use) (mark, bool)
	visit = func(u *use) (mark, bool) {
		for _, level := range u.marks {
			if m, ok := pick(level); ok {
				return m, true
			}
		}
		if seen[u.shape] {
			return mark{}, false
		}
		seen[u.shape] = true
		for _, f := range u.shape.fields {
			if m, ok := visit(f.use); ok {
				return m, true
			}
		}
		if u.shape.elem != nil {
			return visit(u.shape.elem)
		}
		return mark{}, false
	}
	return visit(u)
}

// isNamed reports whether t is the named type of that package.
func isNamed(t types.Type, path, name string) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
