package typed

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This chapter holds what the package takes for granted about how Go lays out values in memory. Package unsafe promises
// the rest: the offsets of fields that reflect gives, and pointers of one type read as another with the same layout.
//
//   - A slice is a pointer, a length and a capacity, in this order (header).
//   - A value of a type whose kind is fixed in size is its bytes; those of a float do not decide alone (float).
//   - A map is one word, and maps whose keys are strings and whose values have one layout have one layout themselves (layout).
//   - A stack moves when it grows, and takes pointers to its variables along (hide).
//
// TestMemory checks each of them, and TestHide the last, on the version of Go that builds the tests; FuzzPlan and
// TestPlanAgreesWithJSON compare whole objects with what encoding/json writes. A quantity's text is found by the name
// of its field (newQuantity): where the field is gone, quantities have no comparer, and objects are compared as JSON.

// sameBytes compares the bytes of two values.
func sameBytes(a, b unsafe.Pointer, size uintptr) bool {
	switch size {
	case 8:
		return *(*uint64)(a) == *(*uint64)(b)
	case 4:
		return *(*uint32)(a) == *(*uint32)(b)
	case 1:
		return *(*uint8)(a) == *(*uint8)(b)
	}
	return unsafe.String((*byte)(a), size) == unsafe.String((*byte)(b), size)
}

// header is a slice in memory.
type header struct {
	data unsafe.Pointer
	len  int
	_    int
}

// lengthAt returns the length of the slice or map at p. Maps take one word.
func lengthAt(p unsafe.Pointer, size uintptr) int {
	if size == unsafe.Sizeof(uintptr(0)) {
		return len(*(*map[string]struct{})(p))
	}
	return len(*(*[]struct{})(p))
}

// mappingOf returns how to read maps of t. Values whose memory has one of the usual layouts are read in place. For
// others reflection copies each value, which allocates.
func mappingOf(t reflect.Type) mapping {
	if t.Key().Kind() != reflect.String {
		return reflected{t}
	}
	switch elem := t.Elem(); elem.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return layout[uint8]{}
	case reflect.Int16, reflect.Uint16:
		return layout[uint16]{}
	case reflect.Int32, reflect.Uint32:
		return layout[uint32]{}
	case reflect.Int, reflect.Uint, reflect.Int64, reflect.Uint64:
		if elem.Size() == 8 {
			return layout[uint64]{}
		}
	case reflect.String:
		return layout[string]{}
	case reflect.Slice:
		return layout[[]byte]{}
	case reflect.Pointer, reflect.Map:
		return layout[unsafe.Pointer]{}
	case reflect.Interface:
		if elem.NumMethod() == 0 {
			return layout[any]{}
		}
	case reflect.Struct:
		switch elem {
		case quantityType:
			return layout[resource.Quantity]{}
		case reflect.TypeFor[intstr.IntOrString]():
			return layout[intstr.IntOrString]{}
		}
	}
	return reflected{t}
}

// layout reads maps whose keys are strings and whose values are laid out in memory like E. Maps of two types with equal
// layouts are laid out alike: the hash of a key depends on the string alone.
type layout[E any] struct{}

func (layout[E]) length(p unsafe.Pointer) int { return len(*(*map[string]E)(p)) }

func (layout[E]) each(p, other unsafe.Pointer, v visitor, depth int) (both int, all bool) {
	there := *(*map[string]E)(other)
	for key, value := range *(*map[string]E)(p) {
		var at unsafe.Pointer
		otherValue, ok := there[key]
		if ok {
			at = hide(unsafe.Pointer(&otherValue))
			both++
		}
		if !v.visit(key, hide(unsafe.Pointer(&value)), at, depth) {
			return both, false
		}
	}
	return both, true
}

// hide keeps a variable on the stack although its address is passed on: it hides the address from the compiler, which
// cannot see that what is called does not keep it.
func hide(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
