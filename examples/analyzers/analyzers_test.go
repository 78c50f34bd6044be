// Package analyzers has no code but this test of the packages below it.
package analyzers

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	_ "github.com/fieldlock/fieldlock/examples/analyzers/golangci"
	_ "github.com/fieldlock/fieldlock/examples/analyzers/kubeapilinter"
)

// TestPlugins: golangci-lint finds the linter by its name, and kube-api-linter has it among its own; both find what
// there is.
func TestPlugins(t *testing.T) {
	for _, name := range []string{"fieldlock", "kubeapilinter"} {
		create, err := register.GetPlugin(name)
		if err != nil {
			t.Fatal(err)
		}
		plugin, err := create(nil)
		if err != nil {
			t.Fatal(err)
		}
		analyzers, err := plugin.BuildAnalyzers()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(analyzers, func(a *analysis.Analyzer) bool { return a.Name == "fieldlock" })
		if i < 0 || plugin.GetLoadMode() != register.LoadModeTypesInfo {
			t.Errorf("%s has no linter fieldlock with types", name)
			continue
		}
		analysistest.Run(t, analysistest.TestData(), analyzers[i], "api")
	}
}

// TestVettool: the tool runs under go vet.
func TestVettool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "vettool")
	if out, err := exec.Command("go", "build", "-o", tool, "./vettool").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "vet", "-vettool="+tool, "./testdata/src/api").CombinedOutput()
	if err == nil || strings.Count(string(out), "types.go:") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}
