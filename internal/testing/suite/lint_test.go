package suite_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// TestLint checks every row of testdata/lint: errors fail Compile and no more, warnings do not.
func TestLint(t *testing.T) {
	for file, severity := range map[string]immutability.Severity{"lint/errors.yaml": immutability.SeverityError, "lint/warnings.yaml": immutability.SeverityWarning} {
		rows, err := suite.LoadLint(os.DirFS("../../../testdata"), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			t.Run(file+"/"+row.Name, func(t *testing.T) { lintRow(t, row, severity) })
		}
	}
}

func lintRow(t *testing.T, row suite.LintRow, severity immutability.Severity) {
	schema, err := (&suite.Suite{Schema: row.Schema}).Spec()
	if err != nil {
		t.Fatal(err)
	}
	var got []immutability.Finding
	for _, f := range immutability.Lint(schema, immutability.WithRedacted(row.Redact...)) {
		if f.Severity == severity {
			got = append(got, f)
		} else if severity == immutability.SeverityWarning {
			t.Errorf("unexpected error: %+v", f)
		}
	}
	if !slices.EqualFunc(got, row.Findings, func(f immutability.Finding, want suite.Finding) bool {
		return f.Rule == want.Rule && f.Path == want.Path && strings.HasSuffix(f.Message, want.Ends) && (want.Fields == nil || slices.Equal(f.Fields, want.Fields))
	}) {
		t.Errorf("got %+v, want %+v (%s)", got, row.Findings, row.Reason)
	}
	for _, f := range got {
		if len(f.Message) < 20 {
			t.Errorf("%s: the message %q does not say what was found and what would be right", f.Rule, f.Message)
		}
		if closable := f.Rule == finding.OptionalParent || f.Rule == finding.UnsetThenSet || f.Rule == finding.RenamableKey; closable != (f.Fix != nil) {
			t.Errorf("%s: the fix is %+v", f.Rule, f.Fix)
		} else if closable {
			closes(t, row, schema, f)
		}
	}
	_, err = immutability.Compile(schema, immutability.WithRedacted(row.Redact...))
	var schemaError *immutability.SchemaError
	if fails := severity == immutability.SeverityError && len(row.Findings) > 0; fails != errors.As(err, &schemaError) {
		t.Errorf("Compile: %v", err)
	}
}

// closes checks that the schema of a row, with the fix of a finding, has all locks that it had, no errors and no such
// finding any more.
func closes(t *testing.T, row suite.LintRow, before *spec.Schema, f immutability.Finding) {
	var schema, fix map[string]any
	if err := json.Unmarshal(row.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(f.Fix.Text), &fix); err != nil {
		t.Fatalf("%s: %v", f.Fix.Text, err)
	}
	node, _ := rawschema.Node(schema, f.Fix.SchemaPath)
	if node == nil {
		t.Fatalf("the schema has no %s", f.Fix.SchemaPath)
	}
	merge(node, fix)
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := (&suite.Suite{Schema: text}).Spec()
	if err != nil {
		t.Fatal(err)
	}
	after := immutability.MustCompile(fixed).Locks()
	for _, l := range immutability.MustCompile(before).Locks() {
		if !slices.ContainsFunc(after, func(field immutability.LockedField) bool {
			return field.SchemaPath == l.SchemaPath && !slices.ContainsFunc(l.Locks, func(lock immutability.Lock) bool { return !slices.Contains(field.Locks, lock) })
		}) {
			t.Errorf("the fix of %s drops a lock of %s:\n%s", f.Rule, l.Path, f.Fix.Text)
		}
	}
	for _, g := range immutability.Lint(fixed) {
		if g.Severity == immutability.SeverityError || g.Rule == f.Rule && g.Path == f.Path {
			t.Errorf("with the fix of %s at %s:\n%s%s: %s", f.Rule, f.Path, f.Fix.Text, g.Path, g.Message)
		}
	}
}

// merge adds what from has to object.
func merge(object, from map[string]any) {
	for key, value := range from {
		below, ok := object[key].(map[string]any)
		if child, isObject := value.(map[string]any); ok && isObject {
			merge(below, child)
		} else {
			object[key] = value
		}
	}
}
