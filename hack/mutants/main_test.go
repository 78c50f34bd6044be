package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWeave: every sort of mutant is found, and all of them together compile. A wrong one would look as if a test had
// noticed it.
func TestWeave(t *testing.T) {
	*number = 1000
	for _, row := range []struct {
		name, file, path string
	}{
		{"a package of the library", "accept.go", "internal/accept"},
		{"a package of the command, which is another module", "tree.go", "cmd/fieldlock/internal/git"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if strings.HasPrefix(row.path, "cmd/") && os.Getenv("GOWORK") == "off" {
				t.Skip("the command's module needs the workspace")
			}
			dir := t.TempDir()
			*files = row.file
			mutants, packages := weave(dir, []string{"../../" + row.path})
			if len(packages) != 1 || !strings.HasSuffix(packages[0], "/"+row.path) {
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
		})
	}
}

// TestApart: git, run by a test in the wrong folder, finds neither the repository nor the user's configuration.
func TestApart(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = folder, apart(home, folder, "")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("rev-parse", "--show-toplevel"); err == nil {
		t.Errorf("git finds %s", out)
	}
	if out, err := run("config", "--global", "user.name", "a mutant"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if written, err := os.ReadFile(filepath.Join(home, ".gitconfig")); err != nil || !strings.Contains(string(written), "a mutant") {
		t.Errorf("the configuration is not in the home of the tests: %q, %v", written, err)
	}
}
