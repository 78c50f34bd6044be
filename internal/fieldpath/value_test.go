package fieldpath

import (
	"reflect"
	"testing"
)

// TestSetAndRemove: values are read, set and removed at paths, and nothing else changes.
func TestSetAndRemove(t *testing.T) {
	type object = map[string]any
	type list = []any
	value := func() object {
		return object{"a": object{"b": 1}, "l": list{"x", object{"c": "d"}}, "a.b": object{"c": "e"}, "n": nil, "m": object(nil)}
	}
	with := func(name string, member any) object {
		v := value()
		v[name] = member
		return v
	}
	for _, c := range []struct {
		name         string
		p            Path
		got          any // nil for none
		set, removed any // nil where that is not possible
	}{
		{"a property", Path{"a", "b"}, 1, with("a", object{"b": "new"}), with("a", object{})},
		{"a new property", Path{"a", "z"}, nil, with("a", object{"b": 1, "z": "new"}), nil},
		{"a name with a dot", Path{"a.b", "c"}, "e", with("a.b", object{"c": "new"}), with("a.b", object{})},
		{"without its container", Path{"z", "b"}, nil, nil, nil},
		{"in null", Path{"n", "b"}, nil, nil, nil},
		{"in a nil object", Path{"m", "b"}, nil, nil, nil},
		{"in a text", Path{"l", 0, "b"}, nil, nil, nil},
		{"an item", Path{"l", 0}, "x", with("l", list{"new", object{"c": "d"}}), with("l", list{object{"c": "d"}})},
		{"below an item", Path{"l", 1, "c"}, "d", with("l", list{"x", object{"c": "new"}}), with("l", list{"x", object{}})},
		{"an item more", Path{"l", 2}, nil, with("l", list{"x", object{"c": "d"}, "new"}), nil},
		{"an item too many", Path{"l", 3}, nil, nil, nil},
		{"an item before the first", Path{"l", -1}, nil, nil, nil},
		{"a name in a list", Path{"l", "0"}, nil, nil, nil},
		{"an index in an object", Path{"a", 0}, nil, nil, nil},
		{"items", Path{"l", EachItem}, nil, nil, nil},
		{"the whole value", nil, value(), "new", nil},
	} {
		in := value()
		if got, ok := Get(in, c.p...); ok != (c.got != nil) || !reflect.DeepEqual(got, c.got) {
			t.Errorf("%s is %v, %v", c.name, got, ok)
		}
		if got, ok := c.p.Set(in, "new"); ok != (c.set != nil) || ok && !reflect.DeepEqual(got, c.set) {
			t.Errorf("%s is set: %v, %v", c.name, got, ok)
		}
		if got, ok := c.p.Remove(in); ok != (c.removed != nil) || ok && !reflect.DeepEqual(got, c.removed) {
			t.Errorf("%s is removed: %v, %v", c.name, got, ok)
		}
		if !reflect.DeepEqual(in, value()) {
			t.Fatalf("%s: the value itself is now %v", c.name, in)
		}
	}
}

// TestPlaces: a path with EachItem leads to one place for each item that has the rest.
func TestPlaces(t *testing.T) {
	type object = map[string]any
	value := object{"a": object{"b": 1}, "l": []any{object{"c": 1}, "x", object{"c": []any{2, 3}}}, "e": []any{}}
	for _, c := range []struct {
		name string
		p    Path
		want []Path
	}{
		{"without each", Path{"a", "b"}, []Path{{"a", "b"}}},
		{"not there", Path{"a", "z"}, nil},
		{"each item", Path{"l", EachItem}, []Path{{"l", 0}, {"l", 1}, {"l", 2}}},
		{"a member of each item that has it", Path{"l", EachItem, "c"}, []Path{{"l", 0, "c"}, {"l", 2, "c"}}},
		{"lists in lists", Path{"l", EachItem, "c", EachItem}, []Path{{"l", 2, "c", 0}, {"l", 2, "c", 1}}},
		{"an empty list", Path{"e", EachItem}, nil},
		{"an object", Path{"a", EachItem}, nil},
	} {
		if got := c.p.Places(value); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
