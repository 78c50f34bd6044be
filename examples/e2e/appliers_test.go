package e2e

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fieldlock/fieldlock/internal/testing/applycase"
)

var (
	askAppliers = flag.Bool("appliers", false, "ask the API server through the deployment tools' own code, which takes a quarter of an hour")
	update      = flag.Bool("update", false, "write the answers anew")
)

const (
	appliers     = "../appliers" // the module of the deployment tools
	appliersData = "../../internal/compare/testdata/appliers"
)

// askTools builds the program with the deployment tools' own code, and returns a function that makes the command which
// asks them about all cases. It skips the test unless -appliers is set.
func askTools(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	if !*askAppliers {
		t.Skip("hack/appliers asks the deployment tools")
	}
	program := filepath.Join(t.TempDir(), "appliers")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", appliers, "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := filepath.Abs(appliersData)
	if err != nil {
		t.Fatal(err)
	}
	return func(args ...string) *exec.Cmd {
		args = append(args, "-kubeconfig", writeKubeconfig(t, cluster.config), "-cases", filepath.Join(data, "cases"), "-crds", filepath.Join(data, "crds.yaml"))
		return exec.CommandContext(t.Context(), program, args...)
	}
}

// What check --live says about an update is what the tool then gets. hack/appliers runs this.
func TestLiveAppliers(t *testing.T) {
	tools := askTools(t)
	out, err := tools("-live", buildProgram(t, "../..", "./cmd/fieldlock")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// Each way out that check prints does what it says, by the code of the tool that applies the object. hack/appliers runs
// this.
func TestWaysOut(t *testing.T) {
	tools := askTools(t)
	out, err := tools("-ways", "-kubectl", filepath.Join(cluster.dir, "kubectl")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// Flux, Helm and kubectl get the answers that package compare is held against. hack/appliers runs this.
func TestAppliers(t *testing.T) {
	ask := askTools(t)()
	var stderr bytes.Buffer
	ask.Stderr = &stderr
	out, err := ask.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	file := filepath.Join(appliersData, "answers.yaml")
	if *update {
		if err := os.WriteFile(file, out, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	fresh := writeFile(t, filepath.Join(t.TempDir(), "answers.yaml"), out)
	got, err := applycase.Read(fresh)
	if err != nil {
		t.Fatal(err)
	}
	want, err := applycase.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d cases were answered; the file has %d", len(got), len(want))
	}
	for name, answer := range got {
		sameSide := func(a, b string) bool { return (a == "") == (b == "") } // messages can differ between runs
		if !maps.EqualFunc(answer, want[name], sameSide) {
			t.Errorf("%s: the tools get %q; the file has %q", name, answer, want[name])
		}
	}
}
