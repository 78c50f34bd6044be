package operators

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kindrow"
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

// TestVersions: a version stands for its patches.
func TestVersions(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"1.9.0", "1.10.0", -1}, {"1.10", "1.9.5", 1}, {"1.14.2", "1.14", 0}, {"1.14", "1.14.2", 0}, {"2.0.0", "1.99", 1}, {"2026-08-21", "2026-09-01", -1}, {"2.1.0-beta.9", "2.1.0-beta.10", -1}, {"2.1.0-9", "2.1.0-10", -1},
	} {
		got := compareVersions(row.a, row.b)
		if (got < 0) != (row.want < 0) || (got > 0) != (row.want > 0) {
			t.Errorf("%s, %s: %d, want %d", row.a, row.b, got, row.want)
		}
	}
	row := rowSource{Row: kindrow.Row{Since: "1.9", Until: "1.10"}}
	for version, want := range map[string]bool{"1.8.4": false, "1.9.0": true, "1.10.7": true, "1.11.0": false} {
		if row.has(version) != want {
			t.Errorf("%s: %t", version, !want)
		}
	}
}

// TestFirstAsked: each kind is found although nothing else has been read.
func TestFirstAsked(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range all.All() {
		c, err := list()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Find(kind.APIVersion, kind.Kind); !ok {
			t.Errorf("%s %s is not found", kind.APIVersion, kind.Kind)
		}
	}
}
