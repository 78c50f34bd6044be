package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden runs what the README shows on the examples. Every row is a file in testdata/golden, with the exit status
// in its last line.
func TestGolden(t *testing.T) {
	golden, err := filepath.Abs("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	const examples = "testdata/examples/"
	check := []string{"check", "--schema", examples + "crd.yaml", examples + "old.yaml", examples + "new.yaml"}
	lint := []string{"lint", examples + "crd.yaml"}
	locks := []string{"locks", examples + "crd.yaml"}
	with := func(args []string, more ...string) []string { return append(args[:len(args):len(args)], more...) }
	rows := map[string][]string{
		"check.txt":            check,
		"check.json":           with(check, "-o", "json"),
		"check.github":         with(check, "-o", "github"),
		"check.sarif":          with(check, "-o", "sarif"),
		"check-clean.txt":      {"check", "--schema", examples + "crd.yaml", examples + "old.yaml", examples + "old.yaml"},
		"check-clean.json":     {"check", "--schema", examples + "crd.yaml", examples + "old.yaml", examples + "old.yaml", "-o", "json"},
		"check-clean.sarif":    {"check", "--schema", examples + "crd.yaml", examples + "old.yaml", examples + "old.yaml", "-o", "sarif"},
		"check-strict.txt":     with(check, "--strict"),
		"lint.txt":             lint,
		"lint.json":            with(lint, "-o", "json"),
		"lint.github":          with(lint, "-o", "github"),
		"lint.sarif":           with(lint, "-o", "sarif"),
		"lint-strict.txt":      with(lint, "--strict"),
		"lint-explain.txt":     with(lint, "--explain"),
		"lint-explain.json":    with(lint, "--explain", "-o", "json"),
		"locks.txt":            locks,
		"locks.json":           with(locks, "-o", "json"),
		"locks.md":             with(locks, "--markdown"),
		"locks-operators.txt":  {"locks", "clusterresourceset", "kafkatopic", "sealedsecret", "order.acme.cert-manager.io"},
		"locks-operators.json": {"locks", "clusterresourceset", "kafkatopic", "-o", "json"},
		"help-check.txt":       {"check", "--help"},
		"help-lint.txt":        {"lint", "--help"},
		"help-locks.txt":       {"locks", "--help"},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			c := runCommand("", rows[name]...)
			got := fmt.Sprintf("%s%sexit status %d\n", c.out, c.err, c.status)
			path := filepath.Join(golden, name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the output differs from %s (-want +got; -update writes it anew):\n%s", path, diff)
			}
		})
	}
}
