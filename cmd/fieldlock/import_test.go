package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

func TestImportCEL(t *testing.T) {
	rules := strings.NewReplacer(
		"x-kubernetes-immutable: true\n              zone", "x-kubernetes-validations: [{rule: self == oldSelf}]\n              zone",
		"x-fieldlock-update: [NoUnset, NoModify]", "x-kubernetes-validations: [{rule: self >= oldSelf}, {rule: self == oldSelf}]",
	).Replace(exportedWidgets)
	out, report := onFile(t, exitClean, rules, "import", "cel")
	for _, want := range []string{"# never changes\n                type: string\n                x-kubernetes-immutable: true", "- NoModify", "rule: self >= oldSelf"} {
		if !strings.Contains(out, want) {
			t.Errorf("the CRD lacks %q:\n%s", want, out)
		}
	}
	for _, want := range []string{"lock widgets.example.com v1 spec.class", "left widgets.example.com v1 spec.zone", "none of the forms", "2 of 3 transition rules"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	encoded, _ := onFile(t, exitClean, rules, "import", "cel", "-o", "json")
	var got convert.Import
	if err := json.Unmarshal([]byte(encoded), &got); err != nil || len(got.Documents) != 1 || len(got.Recognized) != 2 || len(got.Left) != 1 {
		t.Errorf("JSON: %v: %s", err, encoded)
	}
}

// TestExportThenImport gives the locks back, at the places and in the words in which they were.
func TestExportThenImport(t *testing.T) {
	exported, _ := onFile(t, exitClean, exportedWidgets, "export", "cel")
	imported, _ := onFile(t, exitClean, exported, "import", "cel")
	again, _ := onFile(t, exitClean, imported, "export", "cel")
	if again != exported {
		t.Errorf("export after export and import differs:\n%s\nwas\n%s", again, exported)
	}
	for _, want := range []string{"x-kubernetes-immutable-keys: true", "- NoUnset"} {
		if !strings.Contains(imported, want) || strings.Contains(imported, "oldSelf") {
			t.Errorf("import does not give %q back:\n%s", want, imported)
		}
	}
}

// TestRealCRDsStayValid imports and exports CRDs of other projects: the result is one that the API server accepts,
// cost budget included.
func TestRealCRDsStayValid(t *testing.T) {
	for _, file := range realcrds.Files(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 60_000 || !strings.Contains(string(data), "oldSelf") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			imported, _ := onFile(t, exitClean, string(data), "import", "cel")
			exported, _ := onFile(t, exitClean, imported, "export", "cel")
			validCRD(t, exported)
		})
	}
}

// TestImportNotes: a normalization that import writes next to a lock is named.
func TestImportNotes(t *testing.T) {
	head, _, _ := strings.Cut(exportedWidgets, "            required: [class]")
	crd := head + `            properties:
              tls: {type: boolean}
            x-kubernetes-validations:
            - rule: "!has(oldSelf.tls) || !oldSelf.tls || (has(self.tls) && self.tls)"
`
	out, report := onFile(t, exitClean, crd, "import", "cel")
	if want := "NoUnset on spec.tls (with x-kubernetes-normalize: zero)"; !strings.Contains(report, want) {
		t.Errorf("the report lacks %q:\n%s", want, report)
	}
	if !strings.Contains(out, `"x-kubernetes-normalize": "zero"`) {
		t.Errorf("no normalization:\n%s", out)
	}
}
