package immutability

import (
	"hash/maphash"
	"slices"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/listtype"
	"github.com/fieldlock/fieldlock/normalize"
)

// shape is the equality of the package comment for the values of one location: JSON equality, but for sets, normalized
// properties and, where order is ignored, lists of list-type map. A nil shape is plain JSON equality.
type shape = listtype.Equality

// same reports whether a and b are equal under s. Values that are equal as JSON are equal under every shape, and mostly
// they are, so that the shape is asked only when they are not.
func same(s shape, a, b any) bool {
	if jsonvalue.Equal(a, b) {
		return true
	}
	return s != nil && s.Equal(a, b)
}

func equalAs(s shape, a, b any) bool {
	if s == nil {
		return jsonvalue.Equal(a, b)
	}
	return s.Equal(a, b)
}

func hashAs(s shape, seed maphash.Seed, v any) uint64 {
	if s == nil {
		return jsonvalue.Hash(seed, v)
	}
	return s.Hash(seed, v)
}

// shapeOrJSON is s for callers that need an Equality.
func shapeOrJSON(s shape) listtype.Equality {
	if s == nil {
		return listtype.JSON{}
	}
	return s
}

// compound is the shape of a location: the part that fits the value's kind applies.
type compound struct {
	object *objectShape
	list   shape // setShape, listShape or mapListShape; nil is ordered JSON
}

func (s *compound) Equal(a, b any) bool {
	switch va := a.(type) {
	case map[string]any:
		if vb, ok := b.(map[string]any); ok && s.object != nil && va != nil && vb != nil {
			return s.object.equal(va, vb)
		}
	case []any:
		if vb, ok := b.([]any); ok && s.list != nil && va != nil && vb != nil {
			return s.list.Equal(va, vb)
		}
	}
	return jsonvalue.Equal(a, b)
}

func (s *compound) Hash(seed maphash.Seed, v any) uint64 {
	switch v := v.(type) {
	case map[string]any:
		if s.object != nil && v != nil {
			return s.object.hash(seed, v)
		}
	case []any:
		if s.list != nil && v != nil {
			return s.list.Hash(seed, v)
		}
	}
	return jsonvalue.Hash(seed, v)
}

// objectShape compares objects of which some members are not plain JSON.
type objectShape struct {
	properties map[string]member // every property that is not plain, and all of them when values is not nil
	values     shape             // of the other keys
	blanks     bool              // whether some member may count as absent
}

// member is a property: how its values compare, and which of them count as absent.
type member struct {
	shape    shape
	presence normalize.Property
}

func (s *objectShape) member(key string) member {
	if m, ok := s.properties[key]; ok {
		return m
	}
	return member{shape: s.values}
}

func (s *objectShape) equal(a, b map[string]any) bool {
	if !s.blanks && len(a) != len(b) {
		return false
	}
	present := 0
	for key, va := range a {
		m := s.member(key)
		if m.presence.Absent(va) {
			continue
		}
		vb, ok := b[key]
		if !ok || m.presence.Absent(vb) || !equalAs(m.shape, va, vb) {
			return false
		}
		present++
	}
	return present == s.count(b)
}

// count returns how many members of v are there.
func (s *objectShape) count(v map[string]any) int {
	n := len(v)
	if s.blanks {
		for key, value := range v {
			if s.member(key).presence.Absent(value) {
				n--
			}
		}
	}
	return n
}

func (s *objectShape) hash(seed maphash.Seed, v map[string]any) uint64 {
	sum := maphash.String(seed, "{")
	for key, value := range v {
		if m := s.member(key); !m.presence.Absent(value) {
			sum += jsonvalue.HashMember(seed, key, hashAs(m.shape, seed, value))
		}
	}
	return jsonvalue.Mix(sum)
}

// setShape compares lists of list-type set as multisets.
type setShape struct{ items shape }

func (s *setShape) Equal(a, b any) bool {
	return listtype.EqualSets(a.([]any), b.([]any), shapeOrJSON(s.items))
}

func (s *setShape) Hash(seed maphash.Seed, v any) uint64 {
	sum := maphash.String(seed, "set")
	for _, item := range v.([]any) {
		sum += jsonvalue.Mix(hashAs(s.items, seed, item))
	}
	return jsonvalue.Mix(sum)
}

// listShape compares ordered lists whose items are not plain JSON.
type listShape struct{ items shape }

func (s *listShape) Equal(a, b any) bool {
	return slices.EqualFunc(a.([]any), b.([]any), func(x, y any) bool { return equalAs(s.items, x, y) })
}

func (s *listShape) Hash(seed maphash.Seed, v any) uint64 {
	h := maphash.String(seed, "list")
	for _, item := range v.([]any) {
		h = jsonvalue.Mix(h ^ hashAs(s.items, seed, item))
	}
	return h
}

// mapListShape compares lists of list-type map by key, without their order. Items that share a key are compared one by
// one, in order; lists with items that are no objects are compared in order.
type mapListShape struct {
	keys  listtype.Keys
	items shape
}

func (s *mapListShape) Equal(a, b any) bool {
	la, lb := a.([]any), b.([]any)
	if len(la) != len(lb) {
		return false
	}
	// Items under the same keys in the same places belong together, so that what was compared here is compared once: in
	// lists within lists, twice would be the double at each level.
	i := 0
	for i < len(la) && s.keys.Equal(la[i], lb[i]) {
		if !equalAs(s.items, la[i], lb[i]) {
			return false
		}
		i++
	}
	if i == len(la) {
		return true
	}
	if !allObjects(la) || !allObjects(lb) {
		return false
	}
	la, lb = la[i:], lb[i:]
	if at, ok := listtype.Match(lb, la, &s.keys); ok {
		for j, item := range lb {
			if at[j] < 0 || !equalAs(s.items, la[at[j]], item) {
				return false
			}
		}
		return true
	}
	return s.equalRepeated(la, lb)
}

// equalRepeated is Equal where a key may stand more than once.
func (s *mapListShape) equalRepeated(la, lb []any) bool {
	index := listtype.NewIndex(la, &s.keys)
	nexts := make(map[int]int) // by first position of a key that stands more than once: the position that is due
	for _, item := range lb {
		first := index.First(item)
		if first < 0 {
			return false
		}
		due, again := nexts[first]
		if !again {
			due = first
		}
		if due < 0 || !equalAs(s.items, la[due], item) {
			return false
		}
		nexts[first] = index.Next(due)
	}
	return true
}

func (s *mapListShape) Hash(seed maphash.Seed, v any) uint64 {
	sum := maphash.String(seed, "map")
	for _, item := range v.([]any) {
		sum += jsonvalue.Mix(s.keys.Hash(seed, item)*31 ^ hashAs(s.items, seed, item))
	}
	return jsonvalue.Mix(sum)
}

func allObjects(list []any) bool {
	for _, item := range list {
		if jsonvalue.KindOf(item) != jsonvalue.Object {
			return false
		}
	}
	return true
}

// shaper builds the shapes of locations, each once for each order, so that recursive schemas end.
type shaper struct {
	order  MapListOrder
	odd    map[*location]bool // not plain JSON, or something below it is not
	shapes map[*location]*compound
	// presence says which values of normalized properties count as absent.
	presence map[*location]normalize.Property
}

func newShaper(all []*location, order MapListOrder, presence map[*location]normalize.Property) *shaper {
	return &shaper{
		order: order,
		odd: closure(all, func(l *location) bool {
			return l.marks.ListType == extension.ListSet || l.marks.Normalize != "" ||
				order == Ignored && l.marks.ListType == extension.ListMap
		}),
		shapes:   map[*location]*compound{},
		presence: presence,
	}
}

// shape returns the shape of l; nil l is a value without a schema.
func (s *shaper) shape(l *location) shape {
	if l == nil || !s.odd[l] {
		return nil
	}
	if done, ok := s.shapes[l]; ok {
		return done
	}
	c := &compound{}
	s.shapes[l] = c
	c.object = s.object(l)
	switch items := s.shape(l.items); {
	case l.marks.ListType == extension.ListSet:
		c.list = &setShape{items}
	case l.marks.ListType == extension.ListMap && s.order == Ignored:
		c.list = &mapListShape{keysOf(l), items}
	case items != nil:
		c.list = &listShape{items}
	}
	return c
}

func (s *shaper) object(l *location) *objectShape {
	o := &objectShape{properties: map[string]member{}, values: s.shape(l.values)}
	for _, p := range l.properties {
		m := member{s.shape(p), s.presence[p]}
		marked := p.marks.Normalize != ""
		o.blanks = o.blanks || marked
		if m.shape != nil || marked || o.values != nil {
			o.properties[p.name] = m
		}
	}
	if len(o.properties) == 0 && o.values == nil {
		return nil
	}
	return o
}
