package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestVettool: go vet runs this program on Go packages, and -fix makes the suggested fixes.
func TestVettool(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go vet")
	}
	const types = `package v1

// Spec imports nothing, because go vet runs the program on each import too.
type Spec struct {
	// +optional
	Store *Store ` + "`json:\"store,omitempty\"`" + `
}

// Store is where data lives.
type Store struct {
	// +imutable
	Class string ` + "`json:\"class\"`" + `
}
`
	t.Chdir(writeFiles(t, map[string]string{"types.go": types, "go.mod": "module example.com/shop\n\ngo 1.25\n"}))
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "") // with -trimpath, go vet repeats findings of another folder, with the paths of that folder
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, flag, want string }{
		{"a misspelled marker", "", "types.go:11:2: +imutable: unknown marker: write +immutable"},
		{"the fix of the marker", "-fix", ""},
		{"now there is a hole", "", "types.go:6:2: an update can remove store and the next one can bring it back with other values of store.class"},
		{"the fix of the hole", "-fix", ""},
		{"nothing is left", "", ""},
	} {
		args := []string{"vet", "-vettool=" + self}
		if step.flag != "" {
			args = append(args, step.flag)
		}
		out, err := exec.Command("go", append(args, ".")...).CombinedOutput()
		if (err == nil) != (step.want == "") || !strings.Contains(string(out), step.want) {
			t.Errorf("%s: %v, %s", step.name, err, out)
		}
	}
	fixed, err := os.ReadFile("types.go")
	want := strings.NewReplacer("+imutable", "+immutable", "\t// +optional\n", "\t// +optional\n\t// +k8s:update=NoUnset\n").Replace(types)
	if err != nil || string(fixed) != want {
		t.Errorf("%v\n%s", err, fixed)
	}
}
