package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportInPlace: --check shows what -w would write, -w writes it once, and then all is up to date. Files without a
// CRD and CRDs without locks stay as they are.
func TestExportInPlace(t *testing.T) {
	free := widgets("None", "class: {type: string}", "")
	dir := writeFiles(t, map[string]string{
		"crds/locked.yaml": exportedWidgets, "crds/free.yaml": free, "crds/kustomization.yaml": "resources: [locked.yaml]\n", "crds/deep/locked.yaml": exportedWidgets,
	})
	crds := filepath.Join(dir, "crds")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(crds, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	c := runCommand("", "export", "cel", "--check", crds)
	if c.status != exitRefused || read("locked.yaml") != exportedWidgets {
		t.Errorf("--check: status %d, or the file changed:\n%s", c.status, c.err)
	}
	for _, want := range []string{
		"locked.yaml: out of date; run fieldlock export cel -w " + crds, "deep/locked.yaml: out of date", "free.yaml: up to date",
		"@@ line 25 @@\n-                x-kubernetes-immutable: true\n+                x-kubernetes-validations:\n", "not exported widgets.example.com v1: immutable on spec.free\n",
	} {
		if !strings.Contains(c.out, want) {
			t.Errorf("--check lacks %q:\n%s", want, c.out)
		}
	}
	if strings.Contains(c.out, "kustomization") {
		t.Errorf("a file without a CRD is listed:\n%s", c.out)
	}
	if c := runCommand("", "export", "cel", "-w", crds); c.status != exitClean || strings.Count(c.out, "locked.yaml: written, ") != 2 {
		t.Errorf("-w: status %d:\n%s%s", c.status, c.out, c.err)
	}
	alone, _ := onFile(t, exitClean, exportedWidgets, "export", "cel")
	if read("locked.yaml") != alone || read("deep/locked.yaml") != alone || read("free.yaml") != free {
		t.Errorf("-w wrote\n%s\nwant\n%s", read("locked.yaml"), alone)
	}
	for _, flag := range []string{"--check", "-w"} {
		if c := runCommand("", "export", "cel", flag, crds); c.status != exitClean || strings.Count(c.out, ": up to date") != 3 || read("locked.yaml") != alone {
			t.Errorf("a second time, %s: status %d:\n%s%s", flag, c.status, c.out, c.err)
		}
	}
	if c := runCommand("", "export", "cel", "--check", "--strict", crds); c.status != exitRefused {
		t.Errorf("--strict: status %d although locks have no rule:\n%s", c.status, c.out)
	}
}

// TestExportInPlaceJSON: the report has each file with its locks.
func TestExportInPlaceJSON(t *testing.T) {
	dir := writeFiles(t, map[string]string{"crd.yaml": exportedWidgets})
	c := runCommand("", "export", "cel", "--check", "-o", "json", filepath.Join(dir, "crd.yaml"))
	var got struct {
		UpToDate bool
		Files    []struct {
			File                  string
			Changed, Written      bool
			Exported, NotExported []struct{ Path string }
		}
	}
	if err := json.Unmarshal([]byte(c.out), &got); err != nil {
		t.Fatal(err)
	}
	if c.status != exitRefused || got.UpToDate || len(got.Files) != 1 || !got.Files[0].Changed || got.Files[0].Written || len(got.Files[0].Exported) != 5 || len(got.Files[0].NotExported) != 2 {
		t.Errorf("status %d: %s", c.status, c.out)
	}
}

// TestExportInPlaceMistakes: what cannot be written in place is bad usage; a file that cannot be read does not stop the
// others.
func TestExportInPlaceMistakes(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"crds/a.yaml": strings.Replace(exportedWidgets, "x-kubernetes-immutable: true", "x-kubernetes-immutable: false", 1), "crds/b.yaml": exportedWidgets, "note.yaml": "kind: Note\napiVersion: v1\n",
	})
	for _, c := range []struct {
		want string
		args []string
	}{
		{"exclude each other", []string{"-w", "--check", dir}},
		{"a document of its own", []string{"-w", "--webhook-for-rest", "--ca-bundle", "", dir}},
		{"for files and directories", []string{"--check", "-"}},
		{"one file", []string{"-w"}},
		{"no CustomResourceDefinition", []string{"--check", filepath.Join(dir, "note.yaml")}},
		{"cannot be read", []string{"-w", filepath.Join(dir, "none")}},
		{"a.yaml:23: ", []string{"-w", filepath.Join(dir, "crds")}},
	} {
		if got := runCommand("", append([]string{"export", "cel"}, c.args...)...); got.status != exitUnread || !strings.Contains(got.err, c.want) {
			t.Errorf("%v: status %d, %s%s; want %q", c.args, got.status, got.out, got.err, c.want)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "crds/b.yaml"))
	if err != nil || strings.Contains(string(data), "x-kubernetes-immutable: true\n") {
		t.Errorf("the file next to the wrong one was not written: %v\n%s", err, data)
	}
}
