package typed

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type (
	mapKey   string
	mapBool  bool
	mapInt   int
	mapText  string
	mapTexts []mapText
)

// TestMemory: what memory.go takes for granted holds in this version of Go. Maps of named types are read as maps of the
// type with the same layout, also when they have grown.
func TestMemory(t *testing.T) {
	list := make([]mapText, 3, 5)
	if h := (*header)(unsafe.Pointer(&list)); unsafe.Sizeof(*h) != unsafe.Sizeof(list) || h.data != unsafe.Pointer(unsafe.SliceData(list)) || h.len != 3 {
		t.Errorf("a slice is %+v", *h)
	}
	if got := lengthAt(unsafe.Pointer(&list), unsafe.Sizeof(list)); got != 3 {
		t.Errorf("a slice of 3 items has length %d", got)
	}
	number := 7
	checkLayout(t, func(i int) mapBool { return i%2 == 0 })
	checkLayout(t, func(i int) int8 { return int8(i) })
	checkLayout(t, func(i int) uint16 { return uint16(i) })
	checkLayout(t, func(i int) int32 { return int32(i) })
	checkLayout(t, func(i int) mapInt { return mapInt(i) })
	checkLayout(t, func(i int) uint64 { return uint64(i) << 32 })
	checkLayout(t, func(i int) mapText { return mapText(fmt.Sprint(i)) })
	checkLayout(t, func(i int) mapTexts { return mapTexts{mapText(fmt.Sprint(i))} })
	checkLayout(t, func(int) *int { return &number })
	checkLayout(t, func(i int) map[mapKey]int { return map[mapKey]int{"a": i} })
	checkLayout(t, func(i int) any { return i })
	checkLayout(t, func(i int) resource.Quantity { return *resource.NewQuantity(int64(i), resource.DecimalSI) })
	checkLayout(t, func(i int) intstr.IntOrString { return intstr.FromInt32(int32(i)) })
}

// checkLayout reads maps of a named type as mappingOf decides, and by reflection.
func checkLayout[E any](t *testing.T, value func(i int) E) {
	t.Helper()
	typ := reflect.TypeFor[map[mapKey]E]()
	fast := mappingOf(typ)
	if _, slow := fast.(reflected); slow {
		t.Errorf("%s is read by reflection", typ)
	}
	for _, n := range []int{0, 1, 8, 9, 1000} {
		m, other := map[mapKey]E{}, map[mapKey]E{}
		for i := range n {
			m[mapKey(fmt.Sprint(i))] = value(i)
			other[mapKey(fmt.Sprint(n-1-i))] = value(n - 1 - i)
		}
		if unsafe.Sizeof(m) != unsafe.Sizeof(uintptr(0)) || lengthAt(unsafe.Pointer(&m), unsafe.Sizeof(m)) != n || fast.length(unsafe.Pointer(&m)) != n {
			t.Errorf("%s: a map of %d has another length", typ, n)
		}
		for _, read := range []mapping{fast, reflected{typ}} {
			seen := 0
			same := (&mapComparer{read, comparerFunc(func(a, b unsafe.Pointer) bool {
				seen++
				return reflect.DeepEqual(*(*E)(a), *(*E)(b))
			})}).equal(unsafe.Pointer(&m), unsafe.Pointer(&other), 0)
			if !same || seen != n {
				t.Errorf("%s by %T: equal %t, %d of %d values read", typ, read, same, seen, n)
			}
		}
		if n > 0 {
			delete(other, "0")
			other["x"] = value(0)
			any := &mapComparer{fast, comparerFunc(func(_, _ unsafe.Pointer) bool { return true })}
			if any.equal(unsafe.Pointer(&m), unsafe.Pointer(&other), 0) {
				t.Errorf("%s: maps with other keys are equal", typ)
			}
		}
	}
}
