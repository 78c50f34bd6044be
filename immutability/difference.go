package immutability

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/listtype"
)

// Difference is one place below a violation at which the two sides differ.
type Difference struct {
	// Path is the place, with indices of the new list; what was removed from a set, or from a list that is compared by
	// key, has the path of the list.
	Path *field.Path
	// Old and New are the values; HasOld and HasNew are false where there is none.
	Old, New       any
	HasOld, HasNew bool
}

// differ finds where two values differ under a shape. Each visits both values once, and finds nothing where they are
// equal.
func differ(s shape, v *veil, new, old side) *found {
	if !new.ok || !old.ok {
		if new.ok == old.ok {
			return nil
		}
		return differs(v, new, old)
	}
	c, _ := s.(*compound)
	if c == nil {
		c = &compound{}
	}
	switch is := new.value.(type) {
	case map[string]any:
		if was, ok := old.value.(map[string]any); ok && is != nil && was != nil {
			return differInObject(c.object, v, is, was)
		}
	case []any:
		if was, ok := old.value.([]any); ok && is != nil && was != nil {
			return differInList(c.list, v, is, was)
		}
	}
	if jsonvalue.Equal(new.value, old.value) {
		return nil
	}
	return differs(v, new, old)
}

// differs is a difference at the location itself.
func differs(v *veil, new, old side) *found {
	return breaks(breach{place: &place{veil: v}, new: new, old: old})
}

func differInObject(s *objectShape, v *veil, new, old map[string]any) *found {
	if s == nil {
		s = &objectShape{}
	}
	var f *found
	present := func(m member, object map[string]any, key string) side {
		is := sideOf(object, key)
		if is.ok && m.presence.Absent(is.value) {
			return side{}
		}
		return is
	}
	member := func(key string) {
		m := s.member(key)
		f = f.add(differ(m.shape, v.member(key), present(m, new, key), present(m, old, key)), step{at: atProperty, name: key})
	}
	for key := range new {
		member(key)
	}
	for key := range old {
		if _, both := new[key]; !both {
			member(key)
		}
	}
	return f
}

func differInList(s shape, v *veil, new, old []any) *found {
	switch s := s.(type) {
	case *setShape:
		eq := shapeOrJSON(s.items)
		var f *found
		for _, i := range listtype.Added(new, old, eq) {
			f = f.add(differs(v.item(), side{new[i], true}, side{}), step{at: atItems, index: i})
		}
		for _, i := range listtype.Added(old, new, eq) {
			f = f.and(differs(v.item(), side{}, side{old[i], true}))
		}
		return f
	case *mapListShape:
		return differByKey(s, v, new, old)
	case *listShape:
		return differInOrder(s.items, v, new, old)
	}
	return differInOrder(nil, v, new, old)
}

func differInOrder(items shape, v *veil, new, old []any) *found {
	var f *found
	for i := range max(len(new), len(old)) {
		var is, was side
		if i < len(new) {
			is = side{new[i], true}
		}
		if i < len(old) {
			was = side{old[i], true}
		}
		f = f.add(differ(items, v.item(), is, was), step{at: atItems, index: i})
	}
	return f
}

func differByKey(s *mapListShape, v *veil, new, old []any) *found {
	if s.Equal(new, old) {
		return nil
	}
	if !allObjects(new) || !allObjects(old) || !listtype.Unique(new, s.keys) || !listtype.Unique(old, s.keys) {
		return differInOrder(s.items, v, new, old)
	}
	news, olds := listtype.NewIndex(new, s.keys), listtype.NewIndex(old, s.keys)
	var f *found
	for i, item := range new {
		var was side
		if j := olds.First(item); j >= 0 {
			was = side{old[j], true}
		}
		f = f.add(differ(s.items, v.item(), side{item, true}, was), step{at: atItems, index: i})
	}
	for _, item := range old {
		if news.First(item) < 0 {
			f = f.and(differs(v.item(), side{}, side{item, true}))
		}
	}
	return f
}

// differences returns what differs below the location of b, nil where b itself is all that differs.
func (b *breach) differences() *found {
	if !b.deep || !isContainer(b.new.value) || !isContainer(b.old.value) {
		return nil
	}
	f := differ(b.place.shape, b.place.veil, b.new, b.old)
	if f == nil || len(f.below) == 0 {
		return nil
	}
	return f
}

// isContainer reports whether what differs can be below v.
func isContainer(v any) bool {
	k := jsonvalue.KindOf(v)
	return k == jsonvalue.Object || k == jsonvalue.List
}
