package yamldoc_test

import (
	"testing"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestWithin: which paths are below others.
func TestWithin(t *testing.T) {
	for _, row := range []struct {
		path, parent string
		want         bool
	}{{"spec.a", "spec", true}, {"spec", "spec", true}, {"spec.a[0]", "spec.a", true}, {"spec.ab", "spec.a", false}, {"spec", "spec.a", false}} {
		if got := yamldoc.Within(row.path, row.parent); got != row.want {
			t.Errorf("%s within %s: %t", row.path, row.parent, got)
		}
	}
}
