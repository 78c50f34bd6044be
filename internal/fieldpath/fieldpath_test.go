package fieldpath

import (
	"reflect"
	"strings"
	"testing"
)

// TestSplit: names with dots stand in brackets.
func TestSplit(t *testing.T) {
	for path, want := range map[string]string{
		"spec.racks[*].storage":             "spec|racks|[*]|storage",
		"metadata.annotations[a.b/c]":       "metadata|annotations|a.b/c",
		"spec.limits{*}":                    "spec|limits|{*}",
		"spec.a[*][*].b":                    "spec|a|[*]|[*]|b",
		"metadata.labels[a.example/x].y[*]": "metadata|labels|a.example/x|y|[*]",
	} {
		var got []string
		for _, s := range Split(path) {
			got = append(got, string(s))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestAt: indices lead into lists, names in brackets may have dots.
func TestAt(t *testing.T) {
	obj := map[string]any{"a": []any{map[string]any{"b": 1}}, "c": map[string]any{"d.e": nil, "7": 7}}
	for path, want := range map[string]any{"a[0].b": 1, "c[d.e]": nil, "c[7]": 7, "": obj} {
		if got, ok := At(obj, path); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %t", path, got, ok)
		}
	}
	for _, path := range []string{"a[1]", "a[-1]", "a[x].b", "a[0].c", "c.d.e", "a[0].b.c", "a.0", "a[0]x"} {
		if got, ok := At(obj, path); ok {
			t.Errorf("%s: %v, want nothing", path, got)
		}
	}
}

// TestWithout: what is at the path goes, what holds nothing else goes with it, and the value stays as it is.
func TestWithout(t *testing.T) {
	type object = map[string]any
	value := func() any {
		return object{"a": object{"b": 1}, "l": []any{object{"x": 1, "y": 2}, object{"x": 1}}, "m": object{"p": object{"q": 1}, "r": object{"q": 1, "s": 2}}}
	}
	for path, want := range map[string]any{
		"a.b":     object{"l": value().(object)["l"], "m": value().(object)["m"]},
		"a.c":     value(),
		"l[*]":    value(),
		"l[*].x":  object{"a": object{"b": 1}, "l": []any{object{"y": 2}, object{}}, "m": value().(object)["m"]},
		"m{*}.q":  object{"a": object{"b": 1}, "l": value().(object)["l"], "m": object{"r": object{"s": 2}}},
		"m{*}":    object{"a": object{"b": 1}, "l": value().(object)["l"]},
		"a.b.c.d": value(),
	} {
		in := value()
		if got := Without(in, Split(path)); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(in, value()) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
