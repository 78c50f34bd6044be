package immutability

import (
	"maps"
	"slices"

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

// differ collects the differences between two values under a shape, up to a limit.
type differ struct {
	found []Difference
	more  int
	limit int
}

func (d *differ) add(path *field.Path, v *veil, new, old side) {
	if len(d.found) == d.limit {
		d.more++
		return
	}
	d.found = append(d.found, Difference{
		Path: path, Old: v.cover(old.value), New: v.cover(new.value), HasOld: old.ok, HasNew: new.ok,
	})
}

// walk adds the differences between new and old, which is none when they are equal under s.
func (d *differ) walk(path *field.Path, s shape, v *veil, new, old side) {
	if !new.ok || !old.ok {
		if new.ok != old.ok {
			d.add(path, v, new, old)
		}
		return
	}
	if same(s, new.value, old.value) {
		return
	}
	c, _ := s.(*compound)
	if c == nil {
		c = &compound{}
	}
	switch is := new.value.(type) {
	case map[string]any:
		if was, ok := old.value.(map[string]any); ok && is != nil && was != nil {
			d.object(path, c.object, v, is, was)
			return
		}
	case []any:
		if was, ok := old.value.([]any); ok && is != nil && was != nil {
			d.list(path, c.list, v, is, was)
			return
		}
	}
	d.add(path, v, new, old)
}

func (d *differ) object(path *field.Path, s *objectShape, v *veil, new, old map[string]any) {
	if s == nil {
		s = &objectShape{}
	}
	union := maps.Clone(new)
	maps.Copy(union, old)
	for _, key := range slices.Sorted(maps.Keys(union)) {
		m := s.member(key)
		is, was := sideOf(new, key), sideOf(old, key)
		if is.ok && m.presence.Absent(is.value) {
			is = side{}
		}
		if was.ok && m.presence.Absent(was.value) {
			was = side{}
		}
		d.walk(path.Child(key), m.shape, v.member(key), is, was)
	}
}

func (d *differ) list(path *field.Path, s shape, v *veil, new, old []any) {
	switch s := s.(type) {
	case *setShape:
		eq := shapeOrJSON(s.items)
		for _, i := range listtype.Added(new, old, eq) {
			d.add(path.Index(i), v.item(), side{new[i], true}, side{})
		}
		for _, i := range listtype.Added(old, new, eq) {
			d.add(path, v.item(), side{}, side{old[i], true})
		}
	case *mapListShape:
		d.keyed(path, s, v, new, old)
	case *listShape:
		d.ordered(path, s.items, v, new, old)
	default:
		d.ordered(path, nil, v, new, old)
	}
}

func (d *differ) ordered(path *field.Path, items shape, v *veil, new, old []any) {
	for i := range max(len(new), len(old)) {
		var is, was side
		if i < len(new) {
			is = side{new[i], true}
		}
		if i < len(old) {
			was = side{old[i], true}
		}
		d.walk(path.Index(i), items, v.item(), is, was)
	}
}

func (d *differ) keyed(path *field.Path, s *mapListShape, v *veil, new, old []any) {
	if !allObjects(new) || !allObjects(old) || !listtype.Unique(new, s.keys) || !listtype.Unique(old, s.keys) {
		d.ordered(path, s.items, v, new, old)
		return
	}
	news, olds := listtype.NewIndex(new, s.keys), listtype.NewIndex(old, s.keys)
	for i, item := range new {
		var was side
		if j := olds.First(item); j >= 0 {
			was = side{old[j], true}
		}
		d.walk(path.Index(i), s.items, v.item(), side{item, true}, was)
	}
	for _, item := range old {
		if news.First(item) < 0 {
			d.add(path, v.item(), side{}, side{item, true})
		}
	}
}

// isContainer reports whether what differs can be below v.
func isContainer(v any) bool {
	k := jsonvalue.KindOf(v)
	return k == jsonvalue.Object || k == jsonvalue.List
}
