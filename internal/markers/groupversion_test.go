package markers

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestGroupVersion: where controller-gen finds the group and version of a package.
func TestGroupVersion(t *testing.T) {
	const types = "\ntype gv struct{ Group, Version string }\n"
	cases := []struct {
		name, reason, source string
		want                 string // "group/version", "" for no API package
	}{
		{"marker", "the package is the version", "// +groupName=a.example\npackage marker", "a.example/marker"},
		{"versioned", "a marker says the version too", "// +groupName=a.example\n// +versionName=v9\npackage versioned", "a.example/v9"},
		{"quoted", "a value may be quoted", "// +groupName=\"a.example\"\npackage quoted", "a.example/quoted"},
		{"apart", "markers stand anywhere outside declarations", "package apart\n\n// Words.\n// +groupName= a.example\n\nvar x int", "a.example/apart"},
		{"variable", "groupversion_info.go", "package variable" + types + `var GroupVersion = gv{Group: "b.example", Version: "v1"}`, "b.example/v1"},
		{"scheme", "the other name", "package scheme" + types + `var (
			other              = gv{Group: "c.example", Version: "v2"}
			SchemeGroupVersion = gv{Version: "v1", Group: "b.example"}
		)`, "b.example/v1"},
		{"constants", "constants are as good as texts", "package constants" + types + "const group = \"b.\" + \"example\"\n" + `var GroupVersion = gv{Group: group, Version: "v1"}`, "b.example/v1"},
		{"several", "one declaration of two", "package several" + types + `var x, GroupVersion = 1, gv{Group: "b.example", Version: "v1"}`, "b.example/v1"},
		{"both", "the marker says the group, and the variable nothing then", "// +groupName=a.example\npackage both" + types + `var GroupVersion = gv{Group: "b.example", Version: "v1"}`, "a.example/both"},
		{"mixed", "the marker says the version", "// +versionName=v9\npackage mixed" + types + `var GroupVersion = gv{Group: "b.example", Version: "v1"}`, "b.example/v9"},
		{"unversioned", "the package is the version", "package unversioned" + types + `var GroupVersion = gv{Group: "b.example"}`, "b.example/unversioned"},
		{"groupless", "a version alone is no API", "package groupless" + types + `var GroupVersion = gv{Version: "v1"}`, ""},
		{"computed", "what only runs cannot be read", "package computed" + types + "func f() string { return \"b.example\" }\n" + `var GroupVersion = gv{Group: f(), Version: "v1"}`, ""},
		{"called", "nor what a function returns", "package called" + types + "func f() gv { return gv{} }\nvar GroupVersion = f()", ""},
		{"empty", "a variable without a value", "package empty" + types + "var GroupVersion gv", ""},
		{"named", "another variable", "package named" + types + `var Version = gv{Group: "b.example", Version: "v1"}`, ""},
		{"plain", "nothing", "package plain", ""},
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/api\n\ngo 1.24\n")
	for _, c := range cases {
		write(c.name+"/api.go", c.source+"\n")
	}
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: mode}, "./...")
	if err != nil || len(loaded) != len(cases) {
		t.Fatalf("%d packages, %v", len(loaded), err)
	}
	byName := map[string]*packages.Package{}
	for _, pkg := range loaded {
		byName[pkg.Name] = pkg
	}
	for _, c := range cases {
		got := ""
		if group, version, ok := groupVersion(byName[c.name]); ok {
			got = group + "/" + version
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q: %s", c.name, got, c.want, c.reason)
		}
	}
}
