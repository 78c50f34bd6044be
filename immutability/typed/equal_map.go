package typed

import (
	"fmt"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
)

// mapping compares maps of one type.
type mapping interface {
	length(p unsafe.Pointer) int
	// equal reports whether both maps have the same keys, with values that elem calls equal.
	equal(a, b unsafe.Pointer, elem comparer, depth int) bool
	// keeps reports whether l allows the keys that only the new map has, and keeps the values under the others. both is
	// their number.
	keeps(l *mapKeys, newVal, oldVal unsafe.Pointer, depth int) (both int, kept bool)
	// clear reports whether every key that only the first map has is written as it is, so that it is another name than
	// those of the other map.
	clear(p, other unsafe.Pointer) bool
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

func (r reflected) equal(a, b unsafe.Pointer, elem comparer, depth int) bool {
	other := r.at(b)
	for iter := r.at(a).MapRange(); iter.Next(); {
		there := address(other.MapIndex(iter.Key()))
		if there == nil || !elem.equal(address(iter.Value()), there, depth) {
			return false
		}
	}
	return true
}

func (r reflected) keeps(l *mapKeys, newVal, oldVal unsafe.Pointer, depth int) (both int, kept bool) {
	old := r.at(oldVal)
	for iter := r.at(newVal).MapRange(); iter.Next(); {
		was := address(old.MapIndex(iter.Key()))
		if was == nil {
			if !l.mayAdd(iter.Key().String()) {
				return both, false
			}
			continue
		}
		both++
		if l.values != nil && !l.values.keeps(address(iter.Value()), was, depth) {
			return both, false
		}
	}
	return both, true
}

func (r reflected) clear(p, other unsafe.Pointer) bool {
	there := r.at(other)
	for iter := r.at(p).MapRange(); iter.Next(); {
		if !there.MapIndex(iter.Key()).IsValid() && !utf8.ValidString(iter.Key().String()) {
			return false
		}
	}
	return true
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
	return m.mapping.equal(a, b, m.elem, depth+1)
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
