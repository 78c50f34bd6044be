package compare

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComparePaths(t *testing.T) {
	want := []string{"spec", "spec.a", "spec.a.b", "spec.a[2]", "spec.a[10]", "spec.a[10].b", "spec.b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePaths)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
