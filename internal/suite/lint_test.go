package suite_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/suite"
)

// TestLint checks every row of testdata/lint: errors fail Compile and no more, warnings do not.
func TestLint(t *testing.T) {
	for file, severity := range map[string]immutability.Severity{"lint/errors.yaml": immutability.SeverityError, "lint/warnings.yaml": immutability.SeverityWarning} {
		rows, err := suite.LoadLint(os.DirFS("../../testdata"), file)
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
	}
	_, err = immutability.Compile(schema, immutability.WithRedacted(row.Redact...))
	var schemaError *immutability.SchemaError
	if fails := severity == immutability.SeverityError && len(row.Findings) > 0; fails != errors.As(err, &schemaError) {
		t.Errorf("Compile: %v", err)
	}
}
