package kind

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// TestAllows: which paths of a merge patch an allow-list lets through.
func TestAllows(t *testing.T) {
	list := []string{"spec.a", "spec.b.*", "spec.c", "spec.c.*"}
	for _, row := range []struct {
		path string
		want bool
	}{
		{"spec.a", true},
		{"spec.a.x", false}, // "a" alone is not what is below it
		{"spec.b", false},   // and "b.*" is not b
		{"spec.b.x", true},
		{"spec.b.x.y", true},
		{"spec.c", true},
		{"spec.c.x", true},
		{"spec", false},
		{"spec.ab", false},
	} {
		if got := allows(list, fieldpath.Parse(row.path)); got != row.want {
			t.Errorf("%s: %t, want %t", row.path, got, row.want)
		}
	}
}

// TestChanges: the paths that a JSON merge patch names.
func TestChanges(t *testing.T) {
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	for _, row := range []struct {
		name           string
		newVal, oldVal any
		want           string
	}{
		{"unchanged", object("a", 1), object("a", 1), ""},
		{"a value", object("a", 2), object("a", 1), "a"},
		{"an object set", object("a", object("b", 1, "c", 2)), object(), "a.b a.c"},
		{"an empty object set", object("a", object()), object(), ""},
		{"an object removed", object(), object("a", object("b", 1)), "a"},
		{"a member removed", object("a", object("b", 1)), object("a", object("b", 1, "c", 2)), "a.c"},
		{"a list is one value", object("a", []any{1, 2}), object("a", []any{1}), "a"},
		{"a value that becomes an object", object("a", object("b", 1)), object("a", 1), "a.b"},
		{"all of it", 1, object("a", 1), ""},
	} {
		var got []string
		for _, path := range changes(row.newVal, row.oldVal, nil) {
			got = append(got, path.String())
		}
		slices.Sort(got)
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
