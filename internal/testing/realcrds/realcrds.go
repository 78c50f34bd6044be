// Package realcrds finds CRDs of other projects for tests: the YAML files in the folders of ../shared/crds, beside this
// module, or of the directory that the environment variable FIELDLOCK_CRDS names.
//
// A plain `go test ./...` reads a sample of them, with -short a smaller one. FIELDLOCK_CRDS=all reads every file; CI
// does so.
package realcrds

import (
	"os"
	"path/filepath"
	"testing"
)

// Every how many files one is in the sample.
const (
	sampled      = 6
	sampledShort = 24
)

const variable = "FIELDLOCK_CRDS"

// All reports whether Files lists every file, so that a test can judge shares of all.
func All() bool { return os.Getenv(variable) != "" }

// Files lists the files by path, and skips the test if there are none.
func Files(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" || dir == "all" {
		dir = beside(t)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if len(files) == 0 {
		t.Skip("the CRDs of other projects are not there")
	}
	if All() {
		return files
	}
	step := sampled
	if testing.Short() {
		step = sampledShort
	}
	var sample []string
	for i := 0; i < len(files); i += step {
		sample = append(sample, files[i])
	}
	return sample
}

// beside returns shared/crds in the nearest directory above the test that has it.
func beside(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		crds := filepath.Join(dir, "shared", "crds")
		if _, err := os.Stat(crds); err == nil {
			return crds
		}
	}
	return ""
}
