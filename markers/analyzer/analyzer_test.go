package analyzer_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/fieldlock/fieldlock/markers/analyzer"
)

// TestAnalyzer: the diagnostics and what the suggested fixes make of the packages in testdata.
func TestAnalyzer(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), analyzer.Analyzer, "shop", "marks", "storage", "zero")
}

// TestRealTypes: there is nothing to say about types with right markers: kinds, lists, protobuf tags, types of other
// packages.
func TestRealTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("it type-checks a part of Kubernetes")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, root, analyzer.Analyzer, "./markers/testdata/api/...", "k8s.io/api/apps/v1", "k8s.io/api/resource/v1")
}
