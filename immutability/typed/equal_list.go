package typed

import (
	"hash/maphash"
	"reflect"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
)

// header is a slice in memory.
type header struct {
	data unsafe.Pointer
	len  int
	_    int
}

// slice compares slices item by item. A nil slice is null, not empty.
type slice struct {
	elem comparer
	size uintptr
}

// bytesSlice compares slices of which the bytes decide.
type bytesSlice struct{ size uintptr }

func (c comparers) ofSlice(key comparerKey, path string) (comparer, error) {
	item := key.typ.Elem()
	s := &slice{size: item.Size()}
	c[key] = s
	elem, err := c.of(item, itemsOf(key.equality), key.exact, path+"[]")
	if err != nil {
		return nil, err
	}
	s.elem = elem
	var done comparer = s
	switch elem.(type) {
	case memory:
		done = &bytesSlice{item.Size()}
	case text:
		done = textSlice{}
	}
	if e := key.equality; e != nil && e.List != nil && e.List.Kind == check.AsSet && e.List.Items == nil {
		if hash := hashOf(item); hash != nil {
			_, texts := done.(textSlice)
			done = &set{texts: texts, inOrder: done, items: scalars{hash: hash, elem: elem, size: item.Size()}}
		}
	}
	c[key] = done
	return done, nil
}

func (s *slice) equal(a, b unsafe.Pointer, depth int) bool {
	x, y := (*header)(a), (*header)(b)
	if x.len != y.len || (x.data == nil) != (y.data == nil) || depth >= maxDepth {
		return false
	}
	if x.data == y.data {
		return true
	}
	if fields, ok := s.elem.(*structure); ok {
		for i := range x.len {
			if at := uintptr(i) * s.size; !fields.equal(unsafe.Add(x.data, at), unsafe.Add(y.data, at), depth+1) {
				return false
			}
		}
		return true
	}
	for i := range x.len {
		if at := uintptr(i) * s.size; !s.elem.equal(unsafe.Add(x.data, at), unsafe.Add(y.data, at), depth+1) {
			return false
		}
	}
	return true
}

func (s *bytesSlice) equal(a, b unsafe.Pointer, _ int) bool {
	x, y := (*header)(a), (*header)(b)
	if x.len != y.len || (x.data == nil) != (y.data == nil) {
		return false
	}
	return x.len == 0 || x.data == y.data ||
		unsafe.String((*byte)(x.data), uintptr(x.len)*s.size) == unsafe.String((*byte)(y.data), uintptr(y.len)*s.size)
}

// textSlice compares slices of strings.
type textSlice struct{}

func (textSlice) equal(a, b unsafe.Pointer, _ int) bool {
	x, y := *(*[]string)(a), *(*[]string)(b)
	return (x == nil) == (y == nil) && slices.Equal(x, y)
}

// scalars reads the items of a list of strings, booleans or whole numbers.
type scalars struct {
	hash func(seed maphash.Seed, p unsafe.Pointer) (hash uint64, ok bool)
	elem comparer
	size uintptr
}

// hashOf returns the hash of values of t, nil for a type without one. ok is false for a text that encoding/json changes:
// two of them may be written alike.
func hashOf(t reflect.Type) func(seed maphash.Seed, p unsafe.Pointer) (hash uint64, ok bool) {
	if writesItself(t) {
		return nil
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return hashText
	case k >= reflect.Bool && k <= reflect.Uintptr:
		size := t.Size()
		return func(seed maphash.Seed, p unsafe.Pointer) (uint64, bool) {
			return maphash.Bytes(seed, unsafe.Slice((*byte)(p), size)), true
		}
	}
	return nil
}

func hashText(seed maphash.Seed, p unsafe.Pointer) (uint64, bool) {
	s := *(*string)(p)
	return maphash.String(seed, s), utf8.ValidString(s)
}

// set compares lists as sets with multiplicity.
type set struct {
	texts   bool // inOrder compares strings
	inOrder comparer
	items   scalars
}

func (s *set) equal(a, b unsafe.Pointer, depth int) bool {
	x, y := (*header)(a), (*header)(b)
	if s.texts {
		if textSlice.equal(textSlice{}, a, b, depth) {
			return true
		}
	} else if s.inOrder.equal(a, b, depth) {
		return true
	}
	return x.len == y.len && (x.data == nil) == (y.data == nil) && s.items.subset(x, y)
}

// subset reports whether every item of part is in whole, at least as often.
func (s *scalars) subset(part, whole *header) bool {
	at := func(l *header, i int) unsafe.Pointer { return unsafe.Add(l.data, uintptr(i)*s.size) }
	if part.len > whole.len {
		return false
	}
	if _, texts := s.elem.(text); texts && whole.len <= few {
		at, _ := match(column{part, s.size, 0}, column{whole, s.size, 0}, false)
		for i := range part.len {
			if at[i] < 0 {
				return false
			}
		}
		return true
	}
	ix := newIndex(whole.len)
	defer ix.free()
	for i := range whole.len {
		hash, ok := s.hash(ix.seed, at(whole, i))
		if !ok {
			return false
		}
		first := ix.add(hash, i, func(j int) bool { return s.elem.equal(at(whole, i), at(whole, j), 0) })
		if first < 0 {
			first = i
		}
		ix.counts[first]++
	}
	for i := range part.len {
		hash, ok := s.hash(ix.seed, at(part, i))
		if !ok {
			return false
		}
		first := ix.find(hash, func(j int) bool { return s.elem.equal(at(part, i), at(whole, j), 0) })
		if first < 0 || ix.counts[first] == 0 {
			return false
		}
		ix.counts[first]--
	}
	return true
}
