package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
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

// generate has controller-gen write the CRDs of packages into a new folder.
func generate(t *testing.T, packages string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "run", controllerGen, "crd", "paths="+packages, "output:crd:dir="+dir).CombinedOutput()
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
	crds := generate(t, "./...")
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

// TestFixInGo: after lint --fix --go, controller-gen makes the rules that close the holes, and nothing is left to fix.
func TestFixInGo(t *testing.T) {
	fieldlock := fieldlock(t)
	dir, err := os.MkdirTemp(".", "_fix") // in this module, but not among ./...
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const types = "package v1\n\n" +
		"import metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n" +
		"// +kubebuilder:object:root=true\ntype Cache struct {\n\tmetav1.TypeMeta   `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\n" +
		"\t// +optional\n\tSpec CacheSpec `json:\"spec,omitempty\"`\n}\n\n" +
		"// CacheSpec is what the user wants.\ntype CacheSpec struct {\n" +
		"\t// +kubebuilder:validation:XValidation:rule=\"self == oldSelf\"\n\t// +optional\n\tEngine string `json:\"engine,omitempty\"`\n" +
		"\t// +listType=map\n\t// +listMapKey=name\n\t// +kubebuilder:validation:MaxItems=8\n\tNodes []Node `json:\"nodes\"`\n" +
		"\t// +optional\n\tMain Node `json:\"main,omitempty\"`\n}\n\n" +
		"// Node is one of several, or the main one.\ntype Node struct {\n\t// +kubebuilder:validation:MaxLength=16\n\tName string `json:\"name\"`\n" +
		"\t// +kubebuilder:validation:MaxLength=16\n\t// +kubebuilder:validation:XValidation:rule=`self == oldSelf || oldSelf == \"\"`\n\t// +optional\n\tZone string `json:\"zone,omitempty\"`\n}\n"
	source := filepath.Join(dir, "types.go")
	for name, text := range map[string]string{source: types, filepath.Join(dir, "doc.go"): "// +groupName=example.fieldlock.dev\npackage v1\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages := "./" + dir
	crds := generate(t, packages)
	const crd = "example.fieldlock.dev_caches.yaml"
	before := len(rulesIn(t, filepath.Join(crds, crd)))
	if status, out := fieldlock("lint", "--fix", "--go", packages, crds); status != 0 {
		t.Fatalf("lint --fix --go: status %d\n%s", status, out)
	}
	fixed := read(t, source)
	if bytes.Equal(fixed, []byte(types)) {
		t.Fatal("the Go source is as before")
	}
	if formatted, err := format.Source(fixed); err != nil || !bytes.Equal(formatted, fixed) {
		t.Errorf("gofmt would change the source: %v", err)
	}
	again := generate(t, packages)
	written, generated := rulesIn(t, filepath.Join(crds, crd)), rulesIn(t, filepath.Join(again, crd))
	if diff := cmp.Diff(written, generated); diff != "" || len(written) <= before {
		t.Errorf("rules (-written by lint +made by controller-gen):\n%s", diff)
	}
	for _, file := range []string{again, crds} {
		if status, out := fieldlock("lint", "--fix", "--go", packages, file); status != 0 || !bytes.Equal(read(t, source), fixed) {
			t.Errorf("a second run changes the source, status %d\n%s", status, out)
		}
	}
	if diff := cmp.Diff(generated, rulesIn(t, filepath.Join(again, crd))); diff != "" {
		t.Errorf("a second run changes the CRD that controller-gen made:\n%s", diff)
	}
}

// rulesIn returns the CEL rules of a CRD, sorted, each with the names on the way to it.
func rulesIn(t *testing.T, file string) []string {
	t.Helper()
	var crd map[string]any
	if err := yaml.Unmarshal(read(t, file), &crd); err != nil {
		t.Fatal(err)
	}
	var rules []string
	var walk func(value any, at string)
	walk = func(value any, at string) {
		switch value := value.(type) {
		case map[string]any:
			if rule, ok := value["rule"].(string); ok {
				rules = append(rules, at+" "+rule)
			}
			for name, below := range value {
				walk(below, at+"/"+name)
			}
		case []any:
			for _, item := range value {
				walk(item, at)
			}
		}
	}
	walk(crd, "")
	slices.Sort(rules)
	return rules
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
