package celrun_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

func TestComparePaths(t *testing.T) {
	want := []string{"spec", "spec.a", "spec.a.b", "spec.a[/]", "spec.a[2]", "spec.a[2a3]", "spec.a[9]", "spec.a[10]", "spec.a[10].b", "spec.a[90]", "spec.a[:]", "spec.b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, celrun.ComparePaths)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
