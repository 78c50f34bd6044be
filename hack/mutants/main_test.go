package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWeave: every sort of mutant is found, and all of them together compile. A wrong one would look as if a test had
// noticed it.
func TestWeave(t *testing.T) {
	dir := t.TempDir()
	*number, *files = 1000, "list.go"
	mutants, packages := weave(dir, []string{"../../internal/accept"})
	if len(packages) != 1 || !strings.HasSuffix(packages[0], "/internal/accept") {
		t.Errorf("the packages are %q", packages)
	}
	for _, sort := range []string{"negate ", "drop ", "skip the loop", "return the zero value", " → "} {
		found := false
		for _, m := range mutants {
			found = found || strings.Contains(m.change, sort)
		}
		if !found {
			t.Errorf("none of %d mutants is a %q", len(mutants), sort)
		}
	}
	if out, err := exec.Command("go", "build", "-overlay="+filepath.Join(dir, "overlay.json"), packages[0]).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
