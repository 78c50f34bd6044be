package typed

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
)

// structure compares structs, field by field.
type structure struct{ fields []fieldComparer }

// fieldComparer compares one field, or several that are one piece of memory.
type fieldComparer struct {
	kind    fieldKind
	lenient bool // nil and empty are the same, of a slice or map
	offset  uintptr
	size    uintptr
	inner   comparer     // of other
	zero    reflect.Type // of a field that is left out when it is zero, which fields that are not written decide too
}

type fieldKind uint8

const (
	fieldMemory fieldKind = iota
	fieldWord
	fieldText
	fieldOther
)

func (s *structure) equal(a, b unsafe.Pointer, depth int) bool {
	for i := range s.fields {
		f := &s.fields[i]
		x, y := unsafe.Add(a, f.offset), unsafe.Add(b, f.offset)
		switch f.kind {
		case fieldText:
			if *(*string)(x) != *(*string)(y) {
				return false
			}
		case fieldWord:
			if *(*uint64)(x) != *(*uint64)(y) {
				return false
			}
		case fieldMemory:
			if !sameBytes(x, y, f.size) {
				return false
			}
		default:
			if !f.equal(x, y, depth) {
				return false
			}
		}
	}
	return true
}

// equal compares the values of the field, at a and b.
func (f *fieldComparer) equal(a, b unsafe.Pointer, depth int) bool {
	if f.zero != nil && reflect.NewAt(f.zero, a).Elem().IsZero() != reflect.NewAt(f.zero, b).Elem().IsZero() {
		return false
	}
	return f.inner.equal(a, b, depth) || f.lenient && lengthAt(a, f.size) == 0 && lengthAt(b, f.size) == 0
}

// field returns the comparer for the value of a field.
func (c comparers) field(t reflect.Type, f jsonField, m check.Member, exact bool, path string) (fieldComparer, error) {
	asksItself := f.asksItself()
	if asksItself {
		m.Equality = nil
	}
	inner, err := c.of(t, m.Equality, exact || asksItself, path)
	out := fieldComparer{kind: fieldOther, size: t.Size(), inner: inner}
	if err == nil && !exact {
		out.lenient = lenient(t, f, m)
		if f.omitZero && !asksItself && (t.Kind() == reflect.Struct || t.Kind() == reflect.Array) {
			out.zero = t
		}
	}
	return out, err
}

// addFields adds the fields of t, which is at an offset of the outermost struct. All that encoding/json may write
// counts, also what it leaves out because another field hides it.
func (c comparers) addFields(s *structure, t reflect.Type, offset uintptr, e *check.Equality, exact bool,
	path string) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		f, embedded, written := readField(sf)
		if !written && !exact {
			continue
		}
		at := offset + sf.Offset
		below := path + "." + sf.Name
		switch {
		case exact:
			f = jsonField{}
		case embedded != nil && sf.Type.Kind() == reflect.Struct:
			if err := c.addFields(s, embedded, at, e, false, below); err != nil {
				return err
			}
			continue
		}
		member := memberOf(e, f.name)
		if embedded != nil { // a pointer, whose members belong to the outer object
			member, f = check.Member{Equality: e}, jsonField{}
		}
		field, err := c.field(sf.Type, f, member, exact, below)
		if err != nil {
			return err
		}
		field.offset = at
		s.add(field)
	}
	return nil
}

// memberOf returns how the values of a property compare.
func memberOf(e *check.Equality, name string) check.Member {
	if e == nil || e.Object == nil {
		return check.Member{}
	}
	if m, ok := e.Object.Properties[name]; ok {
		return m
	}
	return check.Member{Equality: e.Object.Values}
}

// lenient reports whether nil and empty count as the same in a field: both left out, or both normalized away.
func lenient(t reflect.Type, f jsonField, m check.Member) bool {
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
		return false
	}
	return f.omitEmpty || !writesItself(t) && m.Presence.Absent(nil) && m.Presence.Absent(emptyOf(t))
}

// emptyOf returns what an empty slice or map is written as.
func emptyOf(t reflect.Type) any {
	switch {
	case t.Kind() == reflect.Map:
		return map[string]any{}
	case writtenAsText(t):
		return ""
	}
	return []any{}
}

// writtenAsText reports whether encoding/json writes a list as a text: bytes, unless a method writes each of them.
func writtenAsText(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !writesItself(t.Elem())
}

// add adds a field. Neighbours in memory become one.
func (s *structure) add(f fieldComparer) {
	switch inner := f.inner.(type) {
	case text:
		f.kind = fieldText
	case memory:
		f.kind = fieldMemory
		if n := len(s.fields) - 1; n >= 0 && (s.fields[n].kind == fieldMemory || s.fields[n].kind == fieldWord) &&
			s.fields[n].offset+s.fields[n].size == f.offset {
			s.fields[n].size += uintptr(inner)
			s.fields[n].kind = fieldMemory
			return
		}
		if inner == 8 {
			f.kind = fieldWord
		}
	}
	s.fields = append(s.fields, f)
}

// jsonField is a field of a struct that encoding/json writes as a member.
type jsonField struct {
	name  string // of the member
	index []int  // as for reflect.Type.FieldByIndex
	typ   reflect.Type

	omitEmpty bool
	omitZero  bool
	quoted    bool // a scalar that is written as a string
	tagged    bool // the name comes from the tag
}

// asksItself reports whether omitzero asks the value whether it is left out: the parts of it that are written do not
// decide that.
func (f *jsonField) asksItself() bool {
	if !f.omitZero {
		return false
	}
	t := f.typ
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	_, ok := t.MethodByName("IsZero")
	return ok
}

// jsonFields lists what encoding/json writes of a struct, by its rules: the fields of embedded structs count as fields
// of the outer one, unless a field with the same name is nearer; of several at the same depth the one with a tag
// counts, and if that does not decide, none does.
func jsonFields(t reflect.Type) []jsonField {
	type level struct {
		typ   reflect.Type
		index []int
	}
	var all []jsonField
	current, next := []level{}, []level{{typ: t}}
	seen := map[reflect.Type]bool{}
	var count, nextCount map[reflect.Type]int
	for len(next) > 0 {
		current, next = next, current[:0]
		count, nextCount = nextCount, map[reflect.Type]int{}
		for _, l := range current {
			if seen[l.typ] {
				continue
			}
			seen[l.typ] = true
			for i := range l.typ.NumField() {
				f, embedded, ok := readField(l.typ.Field(i))
				if !ok {
					continue
				}
				f.index = append(slices.Clone(l.index), i)
				if embedded == nil {
					all = append(all, f)
					if count[l.typ] > 1 { // embedded twice at one depth: the two hide each other
						all = append(all, f)
					}
					continue
				}
				if nextCount[embedded]++; nextCount[embedded] == 1 {
					next = append(next, level{embedded, f.index})
				}
			}
		}
	}
	return dominant(all)
}

// readField reads the tag of a field. ok is false where the field is not written; embedded is set for a struct whose
// fields count as fields of the outer one.
func readField(sf reflect.StructField) (f jsonField, embedded reflect.Type, ok bool) {
	inner := sf.Type
	if inner.Name() == "" && inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if !sf.IsExported() && !(sf.Anonymous && inner.Kind() == reflect.Struct) {
		return f, nil, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return f, nil, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	f = jsonField{name: name, typ: sf.Type, tagged: name != ""}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			f.quoted = isScalar(inner.Kind())
		}
	}
	if name == "" && sf.Anonymous && inner.Kind() == reflect.Struct {
		return f, inner, true
	}
	if name == "" {
		f.name = sf.Name
	}
	return f, nil, true
}

func isScalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// validName reports whether encoding/json takes the name in a tag.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

// dominant returns the fields that are not hidden, sorted by name.
func dominant(all []jsonField) []jsonField {
	slices.SortStableFunc(all, func(a, b jsonField) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		if c := len(a.index) - len(b.index); c != 0 {
			return c
		}
		if a.tagged != b.tagged {
			if a.tagged {
				return -1
			}
			return 1
		}
		return slices.Compare(a.index, b.index)
	})
	out := all[:0]
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].name == all[i].name {
			end++
		}
		if end == i+1 || len(all[i].index) != len(all[i+1].index) || all[i].tagged != all[i+1].tagged {
			out = append(out, all[i])
		}
		i = end
	}
	return out
}

// mapping reads maps of one type.
type mapping interface {
	length(p unsafe.Pointer) int
	// each shows v the keys of the map at p, until v reports false. It returns how many of them the other map has, too,
	// and whether v reported true for all.
	each(p, other unsafe.Pointer, v visitor, depth int) (both int, all bool)
}

// visitor looks at a key of a map: at its value, and at the one in another map, nil where that lacks the key.
type visitor interface {
	visit(key string, value, other unsafe.Pointer, depth int) bool
}

// reflected reads maps of any type, through copies of their values.
type reflected struct{ typ reflect.Type }

func (r reflected) length(p unsafe.Pointer) int { return r.at(p).Len() }

func (r reflected) at(p unsafe.Pointer) reflect.Value { return reflect.NewAt(r.typ, p).Elem() }

// address returns where a copy of v is, nil for the zero Value.
func address(v reflect.Value) unsafe.Pointer {
	if !v.IsValid() {
		return nil
	}
	held := reflect.New(v.Type())
	held.Elem().Set(v)
	return held.UnsafePointer()
}

func (r reflected) each(p, other unsafe.Pointer, v visitor, depth int) (both int, all bool) {
	there := r.at(other)
	for iter := r.at(p).MapRange(); iter.Next(); {
		at := address(there.MapIndex(iter.Key()))
		if at != nil {
			both++
		}
		if !v.visit(iter.Key().String(), address(iter.Value()), at, depth) {
			return both, false
		}
	}
	return both, true
}

// mapComparer compares maps. A nil map is null, not empty.
type mapComparer struct {
	mapping
	elem comparer
}

// textMap is mapComparer for the most usual map.
type textMap struct{}

func (c comparers) ofMap(key comparerKey, path string) (comparer, error) {
	t := key.typ
	switch k := t.Key().Kind(); {
	case k == reflect.String, k >= reflect.Int && k <= reflect.Uintptr, t.Key().Implements(textMarshaler):
	default:
		return nil, fmt.Errorf("%s: a %s has no JSON form: its keys cannot be names", path, t)
	}
	var values *check.Equality
	m := &mapComparer{mapping: mappingOf(t)}
	c[key] = m
	if e := key.equality; e != nil && e.Object != nil && len(e.Object.Properties) == 0 {
		values = e.Object.Values // otherwise each name has its own equality: Go's is the strictest
	}
	elem, err := c.of(t.Elem(), values, false, path+"[]")
	if err != nil {
		return nil, err
	}
	m.elem = elem
	if _, ok := elem.(text); ok && t.Key().Kind() == reflect.String {
		c[key] = textMap{}
	}
	return c[key], nil
}

func (m *mapComparer) equal(a, b unsafe.Pointer, depth int) bool {
	if *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) {
		return true
	}
	if *(*unsafe.Pointer)(a) == nil || *(*unsafe.Pointer)(b) == nil || m.length(a) != m.length(b) || depth >= maxDepth {
		return false
	}
	_, equal := m.each(a, b, m, depth+1)
	return equal
}

func (m *mapComparer) visit(_ string, value, other unsafe.Pointer, depth int) bool {
	return other != nil && m.elem.equal(value, other, depth)
}

func (textMap) equal(a, b unsafe.Pointer, _ int) bool {
	x, y := *(*map[string]string)(a), *(*map[string]string)(b)
	if len(x) != len(y) || (x == nil) != (y == nil) {
		return false
	}
	for key, value := range x {
		if other, ok := y[key]; !ok || other != value {
			return false
		}
	}
	return true
}
