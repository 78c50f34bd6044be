package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write api/crd anew")

const (
	controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"
	crdFile       = "example.fieldlock.dev_databases.yaml"
)

// fieldlock returns a function that runs the command, built from this source tree, and returns exit status and output.
func fieldlock(t *testing.T) func(args ...string) (int, string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "fieldlock")
	build := exec.Command("go", "build", "-o", binary, "./cmd/fieldlock")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "GOWORK=") // the repository's own: the command is a module beside the library
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	return func(args ...string) (int, string) {
		t.Helper()
		out, err := exec.Command(binary, args...).Output()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			return exit.ExitCode(), string(out) + string(exit.Stderr)
		case err != nil:
			t.Fatal(err)
		}
		return 0, string(out)
	}
}

// generate has controller-gen write the CRD into a new folder.
func generate(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "run", controllerGen, "crd", "paths=./...", "output:crd:dir="+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", controllerGen, err, out)
	}
	return dir
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFromMarkersToCheck: Go types → controller-gen → markers → lint → check.
func TestFromMarkersToCheck(t *testing.T) {
	fieldlock := fieldlock(t)
	crds := generate(t)
	file := filepath.Join(crds, crdFile)

	if status, out := fieldlock("markers", "--check", "--crds", crds, "./..."); status != 1 {
		t.Fatalf("markers --check on a fresh CRD: status %d, want 1\n%s", status, out)
	}
	if status, out := fieldlock("markers", "--crds", crds, "./..."); status != 0 {
		t.Fatalf("markers: status %d\n%s", status, out)
	}
	written := read(t, file)
	if status, out := fieldlock("markers", "--crds", crds, "./..."); status != 0 || !bytes.Equal(read(t, file), written) {
		t.Errorf("a second run of markers changes the file, status %d\n%s", status, out)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("crd", crdFile), written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, filepath.Join("crd", crdFile))), string(written)); diff != "" {
		t.Errorf("crd/%s is out of date, run the test with -update (-checked in +written):\n%s", crdFile, diff)
	}

	lintAndCheck(t, fieldlock, crds)
}

// TestCheckedInCRD is the same without controller-gen, so it needs no network.
func TestCheckedInCRD(t *testing.T) {
	fieldlock := fieldlock(t)
	if status, out := fieldlock("markers", "--check", "--crds", "crd", "./..."); status != 0 {
		t.Errorf("markers --check: status %d\n%s", status, out)
	}
	lintAndCheck(t, fieldlock, "crd")
}

func lintAndCheck(t *testing.T, fieldlock func(...string) (int, string), crds string) {
	t.Helper()
	if status, out := fieldlock("lint", crds); status != 0 {
		t.Errorf("lint: status %d\n%s", status, out)
	}
	if status, out := fieldlock("check", "--schema", crds, "objects/old.yaml", "objects/allowed.yaml"); status != 0 {
		t.Errorf("check of an allowed update: status %d\n%s", status, out)
	}
	status, out := fieldlock("check", "-o", "json", "--schema", crds, "objects/old.yaml", "objects/refused.yaml")
	if status != 1 {
		t.Errorf("check of a refused update: status %d, want 1", status)
	}
	var report struct {
		Violations []struct{ Path, Lock string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	for _, v := range report.Violations {
		got = append(got, v.Path+" "+v.Lock)
	}
	want := []string{
		"spec.charset immutable",
		"spec.collation immutable",
		"spec.engine immutable",
		"spec.extensions immutable",
		"spec.nodeSelector immutable",
		"spec.parameters[work_mem] NoModify",
		"spec.region immutable",
		"spec.replicas immutable-keys",    // b is gone
		"spec.replicas[0].zone immutable", // by key
		"spec.replicas[1] immutable-keys", // c is new
		"spec.topology immutable",
		"spec.users NoRemoveItem",
		"spec.volume.class immutable",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
