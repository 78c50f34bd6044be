package operators

import (
	"testing"

	"github.com/fieldlock/fieldlock/internal/kind"
)

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
	row := kind.Row{Since: "1.9", Until: "1.10"}
	for version, want := range map[string]bool{"1.8.4": false, "1.9.0": true, "1.10.7": true, "1.11.0": false} {
		if has(version, &row) != want {
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
