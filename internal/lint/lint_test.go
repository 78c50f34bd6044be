package lint_test

import (
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// TestSort: errors first, then by path, rule and message. The rows of testdata/lint test what is found.
func TestSort(t *testing.T) {
	want := []lint.Entry{
		{Severity: rule.Error, Path: "b", Rule: "z", Message: "z"},
		{Severity: rule.Warning, Path: "a", Rule: "a", Message: "b"},
		{Severity: rule.Warning, Path: "a", Rule: "b", Message: "a"},
		{Severity: rule.Warning, Path: "a", Rule: "b", Message: "b"},
		{Severity: rule.Warning, Path: "b", Rule: "a", Message: "a"},
	}
	for i := range want {
		got := slices.Concat(want[i:], want[:i])
		slices.Reverse(got)
		lint.Sort(got)
		if !slices.EqualFunc(got, want, func(a, b lint.Entry) bool {
			return a.Path == b.Path && a.Rule == b.Rule && a.Message == b.Message && a.Severity == b.Severity
		}) {
			t.Errorf("got %v", got)
		}
	}
}
