package fieldpath

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestParse: names with dots stand in brackets.
func TestParse(t *testing.T) {
	for path, want := range map[string]string{
		"spec.racks[*].storage":             "spec|racks|[*]|storage",
		"metadata.annotations[a.b/c]":       "metadata|annotations|a.b/c",
		"spec.limits{*}":                    "spec|limits|{*}",
		"spec.a[*][*].b":                    "spec|a|[*]|[*]|b",
		"metadata.labels[a.example/x].y[*]": "metadata|labels|a.example/x|y|[*]",
		"data.a{b":                          "data|a{b",
		"data.{":                            "data|{",
		"data[a{b].c":                       "data|a{b|c",
		"data[a":                            "data|a",
		"a..b":                              "a||b",
		`a["b]\"c"].d`:                      `a|b]"c|d`,
		`a["b`:                              `a|"b`,
	} {
		var got []string
		for _, step := range Parse(path) {
			got = append(got, Name(step))
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

// TestString: what is printed reads back, so names that would not are quoted.
func TestString(t *testing.T) {
	for want, p := range map[string]Path{
		"spec.nodes[2].zone": {"spec", "nodes", 2, "zone"},
		`["a.b"][""]["c/d"]["e["]["f]"]["g h"]["i\""]["j\nk"]`: {"a.b", "", "c/d", "e[", "f]", "g h", `i"`, "j\nk"},
		"[0].a":          {0, "a"},
		"":               nil,
		"spec.l[*].m{*}": {"spec", "l", EachItem, "m", EachValue},
		`data["a{b"]`:    {"data", "a{b"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%v: %s, want %s", []any(p), got, want)
		}
	}
	if got := slices.Collect(Path{"a", 1, "b.c"}.Prefixes()); !slices.Equal(got, []string{"", "a", "a[1]", `a[1]["b.c"]`}) {
		t.Error(got)
	}
}

// FuzzParse: every text is read to its end, and what is printed reads back, whatever the names are.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"a{b", "{*}", "[*]", "a.b", "", "2", "]", "[\"", "a\\", "\xff", "."} {
		f.Add(name, "spec", 1)
	}
	f.Fuzz(func(t *testing.T, first, second string, index int) {
		for _, p := range []Path{
			{first, second, index & 0xffff},
			{index & 0xffff, first, EachItem, second},
			{"data", EachValue, second, first},
		} {
			if got := Parse(p.String()); !slices.Equal(got, p) {
				t.Errorf("%#v is printed as %s, which reads as %#v", p, p, got)
			}
		}
		Parse(first + second)
		object := map[string]any{"data": map[string]any{first: map[string]any{second: 1}}}
		Resolve(first+second, object)
		if first == "" || strings.ContainsAny(first+second, ".[]") {
			return // field.Path prints several paths alike
		}
		if got := Resolve(field.NewPath("data").Key(first).Key(second).String(), object); !slices.Equal(got, Path{"data", first, second}) {
			t.Errorf("%q, %q: resolved as %#v", first, second, got)
		}
	})
}

// TestResolve: the members of an object decide where a name ends, those of the second state where the first does not
// have the path.
func TestResolve(t *testing.T) {
	newObj := map[string]any{"a": []any{map[string]any{"b.c": map[string]any{"d": 1}}}, "l": map[string]any{"x.y/z": 1, "1": 1, "[q]": 1}}
	oldObj := map[string]any{"a": []any{map[string]any{"b": map[string]any{"c": map[string]any{"e": 1}}}}, "gone.1": map[string]any{"x": 1}}
	for path, want := range map[string]Path{
		"":             nil,
		"a[0].b.c.d":   {"a", 0, "b.c", "d"},
		"a[0].b.c.e":   {"a", 0, "b", "c", "e"},
		"a[0].b.c.f.g": {"a", 0, "b.c", "f", "g"},
		"a[1].b[2]":    {"a", 1, "b", 2},
		"a[x]":         {"a", "x"},
		"l[x.y/z]":     {"l", "x.y/z"},
		"l[1]":         {"l", "1"},
		"l[2]":         {"l", 2},
		"l[q]":         {"l", "[q]"},
		"gone.1.x":     {"gone.1", "x"},
		"other[a.b].c": {"other", "a.b", "c"},
	} {
		if got := Resolve(path, newObj, oldObj); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, []any(got), []any(want))
		}
	}
}

// TestResolveLongName: a name with many places where it could end costs no more than its length for each member.
func TestResolveLongName(t *testing.T) {
	name := strings.Repeat("a.", 1<<20)
	object := map[string]any{"data": map[string]any{name: "1", "a": "2"}}
	if got := Resolve("data["+name+"]", object); !slices.Equal(got, Path{"data", name}) {
		t.Errorf("%d steps, want 2", len(got))
	}
	if _, ok := Find(object, "data["+name+"b]"); ok {
		t.Error("a name was found that the object does not have")
	}
}

// TestWithin: which paths are below others, as text and as values.
func TestWithin(t *testing.T) {
	for _, row := range []struct {
		path, parent string
		want         bool
	}{{"spec.a", "spec", true}, {"spec", "spec", true}, {"spec.a[0]", "spec.a", true}, {"spec.ab", "spec.a", false}, {"spec", "spec.a", false}} {
		if got := Within(row.path, row.parent); got != row.want {
			t.Errorf("%s within %s: %t", row.path, row.parent, got)
		}
		if got := Parse(row.path).Within(Parse(row.parent)); got != row.want {
			t.Errorf("%s within %s as values: %t", row.path, row.parent, got)
		}
	}
}
