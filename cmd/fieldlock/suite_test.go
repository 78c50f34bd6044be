package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// TestSuites runs every case of testdata/suites through the command. Those that need an option of the Go API, or JSON
// that the command refuses because a member stands twice, are not for it.
func TestSuites(t *testing.T) {
	suites, err := suite.Load(os.DirFS("../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, s := range suites {
		if s.MapListOrder == schema.OrderIgnored {
			continue
		}
		dir := t.TempDir()
		crd, err := yaml.Marshal(s.CRD())
		if err != nil {
			t.Fatal(err)
		}
		crdFile := write(t, dir, "crd.yaml", crd)
		for _, c := range s.Cases {
			if strings.HasPrefix(c.Name, "doubled member") {
				continue
			}
			ran++
			t.Run(s.String()+"/"+c.Name, func(t *testing.T) {
				args := []string{"check", "-o", "json", "--no-builtin", "--schema", crdFile}
				if !s.Defaults {
					args = append(args, "--no-defaults")
				}
				args = append(args, write(t, dir, "old.json", whole(t, c.OldDocument())), write(t, dir, "new.json", whole(t, c.NewDocument())))
				var out, errs bytes.Buffer
				status := run(args, streams{strings.NewReader(""), &out, &errs})
				if want := min(len(c.Violations), 1); status != want {
					t.Fatalf("exit status %d, want %d: %s", status, want, &errs)
				}
				if wrong := c.Mismatch(printed(t, out.Bytes())); wrong != "" {
					t.Errorf("%s (%s)", wrong, c.Reason)
				}
			})
		}
	}
	if ran < 100 {
		t.Errorf("only %d cases ran", ran)
	}
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// whole gives an object of a suite what every object has, without another change to its text.
func whole(t *testing.T, object []byte) []byte {
	t.Helper()
	head := `{"apiVersion": "` + suite.Group + "/" + suite.Version + `", "kind": "` + suite.Kind + `", "metadata": {"name": "a"}`
	body := bytes.TrimSpace(object)
	if bytes.Equal(body, []byte("{}")) {
		return []byte(head + "}")
	}
	return append([]byte(head+","), body[1:]...)
}

// printed reads the violations that check -o json prints.
func printed(t *testing.T, data []byte) []suite.Violation {
	t.Helper()
	var report struct {
		Allowed    bool
		Checked    int
		Violations []struct {
			suite.Violation
			Differences []struct{ Path string }
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if report.Checked != 1 || report.Allowed != (len(report.Violations) == 0) {
		t.Errorf("checked %d, allowed %t, %d violations", report.Checked, report.Allowed, len(report.Violations))
	}
	var list []suite.Violation
	for _, v := range report.Violations {
		out := v.Violation
		for _, d := range v.Differences {
			out.Differences = append(out.Differences, d.Path)
		}
		list = append(list, out)
	}
	return list
}

// TestLintRows runs every row of testdata/lint through the command, as the schema of a CRD. What lint says of the CRD
// as a whole is not theirs.
func TestLintRows(t *testing.T) {
	for file, severity := range map[string]string{"lint/errors.yaml": "error", "lint/warnings.yaml": "warning"} {
		rows, err := suite.LoadLint(os.DirFS("../../testdata"), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Redact != nil {
				continue // an option of the Go API
			}
			if bytes.Contains(row.Schema, []byte(`"type":[`)) {
				continue // a list of types: OpenAPI v3.1 has it, a CRD does not
			}
			t.Run(file+"/"+row.Name, func(t *testing.T) {
				crd, err := yaml.Marshal((&suite.Suite{Schema: row.Schema}).CRD())
				if err != nil {
					t.Fatal(err)
				}
				ran := runCommand("", "lint", "-o", "json", write(t, t.TempDir(), "crd.yaml", crd))
				if want := severity == "error" && len(row.Findings) > 0; (ran.status == exitRefused) != want || ran.status == exitUnread {
					t.Fatalf("exit status %d: %s", ran.status, ran.err)
				}
				var report struct {
					Findings []struct{ Rule, Path, Severity string }
				}
				if err := json.Unmarshal([]byte(ran.out), &report); err != nil {
					t.Fatal(err)
				}
				var got, want []string
				for _, f := range report.Findings {
					if f.Severity == severity && f.Rule != "not-structural" {
						got = append(got, f.Rule+" "+f.Path)
					}
				}
				for _, f := range row.Findings {
					want = append(want, f.Rule+" "+f.Path)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("got %q, want %q (%s)", got, want, row.Reason)
				}
			})
		}
	}
}
