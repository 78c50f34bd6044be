package typed

import (
	"encoding"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/listindex"
)

// comparer compares two values of one Go type, at a and b. If it reports true, encoding/json writes both as JSON that
// is equal under the equality that the comparer was built for. False means unknown: the values may still be written
// alike.
type comparer interface {
	equal(a, b unsafe.Pointer, depth int) bool
}

// maxDepth is how many pointers, lists and maps a comparer follows into each other. Values that refer to themselves
// would never end; encoding/json returns an error for them.
const maxDepth = 10_000

// comparerKey is what a comparer is built for.
type comparerKey struct {
	typ      reflect.Type
	equality *check.Equality
	exact    bool // every bit of the value counts, because a method writes it
}

// comparers builds comparers, each once, so that recursive types end.
type comparers map[comparerKey]comparer

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	quantityType  = reflect.TypeFor[resource.Quantity]()
	locationType  = reflect.TypeFor[time.Location]()
)

// writesItself reports whether a method of the type writes its values. Pointers and interfaces have none of their own.
func writesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t) // has the methods of t, too
	return pointer.Implements(jsonMarshaler) || pointer.Implements(textMarshaler)
}

// of returns the comparer for values of t. The path names the field in errors: for a type that has no JSON form.
func (c comparers) of(t reflect.Type, e *check.Equality, exact bool, path string) (comparer, error) {
	if t == quantityType && !exact {
		if q, ok := newQuantity(); ok {
			return q, nil
		}
	}
	if !exact && writesItself(t) {
		exact, e = true, nil
	}
	key := comparerKey{t, e, exact}
	if done, ok := c[key]; ok {
		return done, nil
	}
	switch k := t.Kind(); k {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return memory(t.Size()), nil
	case reflect.String:
		return text{}, nil
	case reflect.Float32:
		return float[float32]{}, nil
	case reflect.Float64:
		return float[float64]{}, nil
	case reflect.Pointer:
		if t.Elem() == locationType { // time.Local fills in its own when it is first used
			return identity(t.Size()), nil
		}
		p := &pointer{}
		c[key] = p
		var err error
		p.elem, err = c.of(t.Elem(), e, exact, path)
		return p, err
	case reflect.Slice:
		return c.ofSlice(key, path)
	case reflect.Array:
		elem, err := c.of(t.Elem(), itemsOf(e), exact, path+"[]")
		return &array{elem, t.Elem().Size(), t.Len()}, err
	case reflect.Map:
		if exact {
			return identity(t.Size()), nil
		}
		return c.ofMap(key, path)
	case reflect.Struct:
		s := &structure{}
		c[key] = s
		err := c.addFields(s, t, 0, e, exact, path)
		return s, err
	case reflect.Interface:
		if !exact && t.NumMethod() == 0 {
			return dynamic{}, nil
		}
		return identity(t.Size()), nil
	default:
		if exact {
			return identity(t.Size()), nil
		}
		return nil, fmt.Errorf("%s: a %s has no JSON form", path, t)
	}
}

func itemsOf(e *check.Equality) *check.Equality {
	if e == nil || e.List == nil {
		return nil
	}
	return e.List.Items
}

// memory compares values that are equal when their bytes are.
type memory uintptr

func (m memory) equal(a, b unsafe.Pointer, _ int) bool { return sameBytes(a, b, uintptr(m)) }

// identity is memory for maps, functions and the like: the same one is equal.
type identity = memory

type text struct{}

func (text) equal(a, b unsafe.Pointer, _ int) bool { return *(*string)(a) == *(*string)(b) }

type float[T float32 | float64] struct{}

// equal tells 0 from -0, of which omitempty leaves out only one. NaN and the infinities have no JSON form: their
// difference with themselves is NaN.
func (float[T]) equal(a, b unsafe.Pointer, _ int) bool {
	x := *(*T)(a)
	return sameBytes(a, b, unsafe.Sizeof(T(0))) && x-x == 0
}

// dynamic compares values of type any, of the types that JSON is decoded to and other scalars. Values of other types
// are written by the rules of their own types, so nothing is proved of them.
type dynamic struct{}

func (dynamic) equal(a, b unsafe.Pointer, depth int) bool {
	return sameDynamic(*(*any)(a), *(*any)(b), depth)
}

// sameDynamic tells nil from a nil list: a field of type any with omitempty leaves out only the first. Numbers of two
// types can be equal in Go and be written in two ways, as float32(0.1) and float64(float32(0.1)) are.
func sameDynamic(a, b any, depth int) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string, bool, int64, int, int32, int16, int8, uint64, uint, uint32, uint16, uint8, json.Number:
		return x == b
	case float64:
		return x == b && x-x == 0 // an infinity has no JSON form
	case float32:
		return x == b && x-x == 0
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) || (x == nil) != (y == nil) || depth >= maxDepth {
			return false
		}
		for key, value := range x {
			if other, ok := y[key]; !ok || !sameDynamic(value, other, depth+1) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) || (x == nil) != (y == nil) || depth >= maxDepth {
			return false
		}
		for i := range x {
			if !sameDynamic(x[i], y[i], depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// quantity compares the texts that are written. A Quantity remembers its text at the offset remembered, if it has one:
// equal quantities can have several, as "+1" and "1.500" are written as they were read. The methods of a Quantity write
// to it (Cmp turns numbers into inf.Dec, String remembers the text), so they are called on copies.
type quantity struct{ remembered uintptr }

// newQuantity returns no comparer for a Quantity that does not say whether it remembers a text.
func newQuantity() (q quantity, ok bool) {
	text, ok := quantityType.FieldByName("s")
	return quantity{text.Offset}, ok && text.Type.Kind() == reflect.String
}

func (q quantity) equal(a, b unsafe.Pointer, _ int) bool {
	x, y := *(*resource.Quantity)(a), *(*resource.Quantity)(b)
	xText, yText := *(*string)(unsafe.Add(a, q.remembered)), *(*string)(unsafe.Add(b, q.remembered))
	switch {
	case xText == "" && yText == "":
		return x.Format == y.Format && x.Cmp(y) == 0
	case xText == yText:
		return true
	}
	return x.String() == y.String()
}

// pointer compares what two pointers point to; nil is null.
type pointer struct{ elem comparer }

func (p *pointer) equal(a, b unsafe.Pointer, depth int) bool {
	x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
	if x == y {
		return true
	}
	return x != nil && y != nil && depth < maxDepth && p.elem.equal(x, y, depth+1)
}

// array compares arrays.
type array struct {
	elem   comparer
	size   uintptr
	length int
}

func (l *array) equal(a, b unsafe.Pointer, depth int) bool {
	for i := range l.length {
		at := uintptr(i) * l.size
		if !l.elem.equal(unsafe.Add(a, at), unsafe.Add(b, at), depth) {
			return false
		}
	}
	return true
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
	if e := key.equality; e != nil && e.List != nil && e.List.Kind == check.AsSet && e.List.Items == nil &&
		!writtenAsText(key.typ) {
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

// hashOf returns the hash of values of t, nil for a type without one. ok is false for a text that encoding/json
// changes: two of them may be written alike.
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
	t := listindex.NewTable(whole.len)
	defer t.Free()
	for i := range whole.len {
		hash, ok := s.hash(t.Seed, at(whole, i))
		if !ok {
			return false
		}
		t.Put(hash, i, func(j int) bool { return s.elem.equal(at(whole, i), at(whole, j), 0) })
	}
	for i := range part.len {
		hash, ok := s.hash(t.Seed, at(part, i))
		if !ok {
			return false
		}
		if first, _ := t.Take(hash, func(j int) bool { return s.elem.equal(at(part, i), at(whole, j), 0) }); first < 0 {
			return false
		}
	}
	return true
}
