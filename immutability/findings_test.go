package immutability

import (
	"slices"
	"testing"
)

// TestSort: errors first, then by path, rule and message. The rows of testdata/lint test what is found.
func TestSort(t *testing.T) {
	want := []Finding{
		{Severity: SeverityError, Path: "b", Rule: "z", Message: "z"},
		{Severity: SeverityWarning, Path: "a", Rule: "a", Message: "b"},
		{Severity: SeverityWarning, Path: "a", Rule: "b", Message: "a"},
		{Severity: SeverityWarning, Path: "a", Rule: "b", Message: "b"},
		{Severity: SeverityWarning, Path: "b", Rule: "a", Message: "a"},
	}
	for i := range want {
		got := slices.Concat(want[i:], want[:i])
		slices.Reverse(got)
		sorted(got)
		if !slices.EqualFunc(got, want, func(a, b Finding) bool {
			return a.Path == b.Path && a.Rule == b.Rule && a.Message == b.Message && a.Severity == b.Severity
		}) {
			t.Errorf("got %v", got)
		}
	}
}
