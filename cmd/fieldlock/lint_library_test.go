package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/lint"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// TestLintAsLibrary: lint.CRD finds what the command finds, in the CRDs of the suites and in CRDs of other projects.
func TestLintAsLibrary(t *testing.T) {
	type finding struct{ Version, Path, SchemaPath, Severity, Rule, Message string }
	total := 0
	compare := func(t *testing.T, text []byte) {
		t.Helper()
		crds, err := crd.Read("crd.yaml", text)
		if err != nil || len(crds) != 1 {
			t.Fatalf("%d CRDs: %v", len(crds), err)
		}
		found, err := lint.CRD(crds[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		library := []finding{}
		for _, f := range found {
			library = append(library, finding{f.Version, f.Path, f.SchemaPath, string(f.Severity), f.Rule, f.Message})
		}
		command := runCommand("", "lint", "-o", "json", write(t, t.TempDir(), "crd.yaml", text))
		var report struct{ Findings []finding }
		if err := json.Unmarshal([]byte(command.out), &report); err != nil {
			t.Fatalf("%v\n%s%s", err, command.out, command.err)
		}
		if diff := cmp.Diff(append([]finding{}, report.Findings...), library); diff != "" {
			t.Errorf("the command (-), lint.CRD (+):\n%s", diff)
		}
		total += len(library)
	}
	suites, err := suite.Load(os.DirFS("../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		text, err := yaml.Marshal(s.CRD())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.String(), func(t *testing.T) { compare(t, text) })
	}
	for _, file := range realcrds.Files(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) < 60_000 {
			t.Run(filepath.Base(file), func(t *testing.T) { compare(t, text) })
		}
	}
	if total < 40 {
		t.Errorf("%d findings are too few to compare", total)
	}
}
