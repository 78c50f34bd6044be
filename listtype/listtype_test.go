package listtype_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/fieldlock/fieldlock/listtype"
)

var ports = listtype.Keys{{Name: "port"}, {Name: "protocol", Default: "TCP", HasDefault: true}}

func port(members ...any) map[string]any {
	item := map[string]any{"port": members[0]}
	if len(members) > 1 {
		item["protocol"] = members[1]
	}
	return item
}

func TestKeys(t *testing.T) {
	for _, row := range []struct {
		name, reason     string
		newList, oldList []any
		at               []int
		ok               bool
		duplicates       [][]int // in newList
	}{
		{"moved", "the order does not count", []any{port(int64(2)), port(int64(1))}, []any{port(int64(1)), port(int64(2))}, []int{1, 0}, true, nil},
		{"added", "a new key matches nothing", []any{port(int64(3))}, []any{port(int64(1))}, []int{-1}, true, nil},
		{"default", "a missing field has its default", []any{port(int64(1), "TCP")}, []any{port(int64(1))}, []int{0}, true, nil},
		{"type", `80 is not "80"`, []any{port("80")}, []any{port(int64(80))}, []int{-1}, true, nil},
		{"missing", "missing is not null", []any{map[string]any{}}, []any{port(nil)}, []int{-1}, true, nil},
		{"doubled in both", "which is which is open", []any{port(int64(1)), port(int64(1))}, []any{port(int64(1))}, nil, false, [][]int{{0, 1}}},
		{"doubled in one", "the other list lacks the key", []any{port(int64(1)), port(int64(1))}, nil, []int{-1, -1}, true, [][]int{{0, 1}}},
		{"no objects", "a value is the same only as an equal value", []any{"a", "b"}, []any{"b"}, []int{-1, 0}, true, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			at, ok := ports.Match(row.newList, row.oldList)
			if ok != row.ok || !reflect.DeepEqual(at, row.at) {
				t.Errorf("got %v, %t; want %v, %t (%s)", at, ok, row.at, row.ok, row.reason)
			}
			if got := ports.Duplicates(row.newList); !reflect.DeepEqual(got, row.duplicates) {
				t.Errorf("duplicates %v, want %v (%s)", got, row.duplicates, row.reason)
			}
		})
	}
	if got, want := ports.Tuple(map[string]any{"port": int64(80), "x": true}), port(int64(80), "TCP"); !reflect.DeepEqual(got, want) {
		t.Errorf("tuple %v, want %v", got, want)
	}
}

func TestSets(t *testing.T) {
	if !listtype.EqualSets(nil, []any{}) || listtype.EqualSets([]any{int64(1)}, []any{"1"}) || !listtype.EqualSets([]any{1.0, "a"}, []any{"a", int64(1)}) {
		t.Error("nil is empty, 1 is not \"1\", and 1.0 is 1")
	}
	if !listtype.Unique(nil) || !listtype.Unique([]any{int64(1), "1"}) || listtype.Unique([]any{int64(1), "a", 1.0}) {
		t.Error("only 1 and 1.0 are the same item")
	}
}

func ExampleKeys_Match() {
	newList := []any{map[string]any{"port": int64(443)}, map[string]any{"port": int64(80), "protocol": "TCP"}}
	oldList := []any{map[string]any{"port": int64(80)}}
	keys := listtype.Keys{{Name: "port"}, {Name: "protocol", Default: "TCP", HasDefault: true}}
	fmt.Println(keys.Match(newList, oldList))
	// Output: [-1 0] true
}

func ExampleEqualSets() {
	fmt.Println(listtype.EqualSets([]any{"a", "b"}, []any{"b", "a"}))
	fmt.Println(listtype.EqualSets([]any{"a", "a", "b"}, []any{"a", "b", "b"}))
	// Output:
	// true
	// false
}
