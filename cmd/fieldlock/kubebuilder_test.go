package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"

// TestKubebuilder: the three lines of the Makefile that docs/crds.md has, with the newest controller-gen. What it
// generates gets the rules of all markers; that is up to date in every way to ask for it, and after the next
// controller-gen the same again.
func TestKubebuilder(t *testing.T) {
	onlyInCI(t)
	const api = "./testdata/kubebuilder/api/..."
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.example.com_widgets.yaml")
	manifests := func() string {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "go", "run", controllerGen, "crd", "paths="+api, "output:crd:dir="+dir).CombinedOutput(); err != nil {
			t.Fatalf("controller-gen: %v\n%s", err, out)
		}
		if c := runCommand("", "markers", "--cel", "--crds", dir, api); c.status != exitClean || !strings.Contains(c.out, " written") {
			t.Fatalf("markers --cel: status %d\n%s%s", c.status, c.out, c.err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	text := manifests()
	validCRD(t, text)
	for _, want := range []string{
		"rule: self == oldSelf", "rule: '!has(oldSelf.zone) || has(self.zone)'", "rule: '!has(oldSelf.steps) || has(self.steps)'",
		"[0, 1, 2, 3, 4, 5, 6, 7].all(i, ", "size(self.ports + oldSelf.ports) == size(oldSelf.ports)",
		`"/properties/spec/properties/zone":{"x-fieldlock-update":["NoUnset","NoModify"]}`, `"/properties/spec/properties/engine":{"x-kubernetes-immutable":true}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the CRD lacks %s:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "oldSelf.zone"); n != 1 {
		t.Errorf("%d rules on zone, want controller-gen's alone:\n%s", n, text)
	}
	checks := [][]string{{"markers", "--cel", "--check", "--crds", dir, api}, {"markers", "--check", "--crds", dir, api}, {"export", "cel", "--check", "--strict", dir}}
	for _, args := range checks {
		if c := runCommand("", args...); c.status != exitClean || !strings.Contains(c.out, "up to date") {
			t.Errorf("%v: status %d\n%s%s", args, c.status, c.out, c.err)
		}
	}
	if again := manifests(); again != text {
		t.Errorf("the next run writes\n%s\nafter\n%s", again, text)
	}
	dropped := strings.Replace(text, "has(oldSelf.steps)", "true", 1)
	if err := os.WriteFile(file, []byte(dropped), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{exitRefused, exitClean, exitRefused} { // the marks alone are still in the annotation
		if c := runCommand("", checks[i]...); c.status != want {
			t.Errorf("without a rule, %v: status %d, want %d\n%s%s", checks[i], c.status, want, c.out, c.err)
		}
	}
}

// TestLintFixGoAsControllerGen: what lint --fix --go writes into a CRD is what controller-gen then makes of the Go
// source, byte by byte.
func TestLintFixGoAsControllerGen(t *testing.T) {
	onlyInCI(t)
	files := map[string]string{"api/v1/types.go": `// +groupName=example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true

// Cache is a cache.
type Cache struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec CacheSpec ` + "`json:\"spec,omitempty\"`" + `
}

// CacheSpec is what the user wants.
// +kubebuilder:validation:XValidation:rule="self.name != 'x'",message="x is taken"
type CacheSpec struct {
	Name string ` + "`json:\"name\"`" + `

	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	// +optional
	Force bool ` + "`json:\"force,omitempty\"`" + `

	// +optional
	Storage *Storage ` + "`json:\"storage,omitempty\"`" + `

	// +kubebuilder:default={}
	Strategy Strategy ` + "`json:\"strategy,omitempty\"`" + `

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the tags stay"
	// +optional
	Tags []string ` + "`json:\"tags,omitempty\"`" + `
}

// Storage is where data is.
type Storage struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	// +kubebuilder:validation:MinLength=1
	// +optional
	PersistentVolumeClaimName string ` + "`json:\"persistentVolumeClaimName,omitempty\"`" + `

	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	// +optional
	Class *string ` + "`json:\"class,omitempty\"`" + `
}

// Strategy is how pods are replaced.
type Strategy struct {
	// +kubebuilder:validation:XValidation:rule="!(self != 'External' && oldSelf == 'External')"
	// +kubebuilder:validation:Enum=Rolling;External
	// +optional
	Type *string ` + "`json:\"type,omitempty\"`" + `
}
`}
	inProject(t, files)
	generate := func() string {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "go", "run", controllerGen, "crd", "paths=./api/...", "output:crd:dir=crd").CombinedOutput(); err != nil {
			t.Fatalf("controller-gen: %v\n%s", err, out)
		}
		data, err := os.ReadFile("crd/example.com_caches.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := generate()
	ran := runCommand("", "lint", "--fix", "--go", "./api/...", "crd")
	fixed, err := os.ReadFile("crd/example.com_caches.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(fixed) == before || ran.status != exitClean || !strings.Contains(string(fixed), "size(oldSelf.tags)") || !strings.Contains(string(fixed), "has(self.storage)") {
		t.Fatalf("status %d\n%s%s\n%s", ran.status, ran.out, ran.err, fixed)
	}
	if diff := cmp.Diff(string(fixed), generate()); diff != "" {
		t.Errorf("controller-gen writes something else (-lint --fix +controller-gen):\n%s", diff)
	}
}
