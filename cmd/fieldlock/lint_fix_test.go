package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestLintFix: the holes that a rule closes without harm are gone, every other byte stays, and an API server accepts
// the result. A second run changes nothing.
func TestLintFix(t *testing.T) {
	before := "# the comment stays\n" + caches("", `
              engine:   # two updates get around this rule
                type: string
                x-kubernetes-validations:
                - rule: self == oldSelf
`, "")
	dir := writeFiles(t, map[string]string{"crd.yaml": before})
	file := filepath.Join(dir, "crd.yaml")
	if ran := runCommand("", "lint", "--strict", file); ran.status != exitRefused || !strings.Contains(ran.out, "engine") {
		t.Fatalf("before the fix: status %d\n%s", ran.status, ran.out)
	}
	ran := runCommand("", "lint", "--strict", "--fix", file)
	if ran.status != exitClean || !strings.Contains(ran.err, "fixed: ") {
		t.Fatalf("--fix: status %d\n%s%s", ran.status, ran.out, ran.err)
	}
	fixed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(fixed)
	for _, line := range strings.SplitAfter(before, "\n") {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the line %q is gone:\n%s", line, fixed)
		}
		rest = after
	}
	var object apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(fixed, &object); err != nil {
		t.Fatal(err)
	}
	for _, mistake := range schemaMistakes(t, &object) {
		t.Errorf("an API server would refuse the CRD: %v", mistake)
	}
	runCommand("", "lint", "--fix", file)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(fixed) {
		t.Errorf("a second run changes the file: %v\n%s", err, again)
	}
	if ran := runCommand(before, "lint", "--fix", "-"); ran.status != exitUnread || !strings.Contains(ran.err, "--fix writes files") {
		t.Errorf("standard input: status %d, %s", ran.status, ran.err)
	}
}

// TestLintFixCopiesRules: a rule that one served version has and another lacks is copied to it, with its message, and
// only where the other version has the fields that the rule reads.
func TestLintFixCopiesRules(t *testing.T) {
	const versionText = `  - name: NAME
    served: SERVED
    storage: STORAGE
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [engine]
            properties:
              engine:   # of NAME
                type: string
                maxLength: 9
RULES`
	const rules = `                x-kubernetes-validations:
                - rule: self == oldSelf
                  message: the engine stays
`
	version := func(name, served, storage, rules string) string {
		return strings.NewReplacer("NAME", name, "SERVED", served, "STORAGE", storage, "RULES", rules).Replace(versionText)
	}
	cases := []struct {
		name, before, after, reason string
	}{
		{"copied", cachesHead + version("v1", "true", "false", "") + version("v2", "true", "true", rules),
			cachesHead + version("v1", "true", "false", strings.Replace(rules, "rule: self == oldSelf\n                  message: the engine stays", "message: the engine stays\n                  rule: self == oldSelf", 1)) + version("v2", "true", "true", rules),
			"v1 has the field"},
		{"dropped", cachesHead + version("v1", "true", "false", rules) + version("v2", "true", "true", ""),
			cachesHead + version("v1", "true", "false", rules) + version("v2", "true", "true", ""),
			"the author may have dropped the rule from the newer version on purpose"},
		{"not served", cachesHead + version("v1", "true", "true", rules) + version("v2", "false", "false", ""),
			cachesHead + version("v1", "true", "true", rules) + version("v2", "false", "false", ""),
			"nobody writes through v2"},
		{"no field", cachesHead + version("v1", "true", "true", rules) + strings.ReplaceAll(version("v2", "true", "false", ""), "engine", "motor"),
			cachesHead + version("v1", "true", "true", rules) + strings.ReplaceAll(version("v2", "true", "false", ""), "engine", "motor"),
			"a rule on a field that v2 lacks means nothing there"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(writeFiles(t, map[string]string{"crd.yaml": c.before}), "crd.yaml")
			ran := runCommand("", "lint", "--fix", file)
			fixed, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(fixed) != c.after {
				t.Errorf("got\n%s\nwant\n%s(%s)\n%s%s", fixed, c.after, c.reason, ran.out, ran.err)
			}
			if c.after != c.before && strings.Contains(ran.out, "version-without-rule") {
				t.Errorf("the hole is still there:\n%s", ran.out)
			}
			validCRD(t, string(fixed))
		})
	}
}

// TestLintFixCopiesBesideGo: a rule that is copied to another version is kept there, although the Go source of that
// version has no marker yet.
func TestLintFixCopiesBesideGo(t *testing.T) {
	const spec = "              engine: {type: string}\n"
	older := caches("", spec, "")
	newer := strings.Replace(caches("", strings.Replace(spec, "string", "string, x-kubernetes-validations: [{rule: self == oldSelf}]", 1), ""), "name: v1", "name: v2", 1)
	_, version, _ := strings.Cut(newer, "  versions:\n")
	text := strings.Replace(strings.Replace(older, "storage: true", "storage: false", 1)+version, "metadata: {", "metadata: {annotations: {controller-gen.kubebuilder.io/version: v0.20.1}, ", 1)
	const types = "package VERSION\n\ntype Cache struct {\n\tSpec Spec `json:\"spec\"`\n}\n\ntype Spec struct {\n\t// MARKER\n\tEngine *string `json:\"engine,omitempty\"`\n}\n"
	dir := writeFiles(t, map[string]string{
		"go.mod":          "module example.com/shop\n",
		"api/v1/types.go": strings.NewReplacer("VERSION", "v1", "MARKER", "Engine.").Replace(types),
		"api/v2/types.go": strings.NewReplacer("VERSION", "v2", "MARKER", `+kubebuilder:validation:XValidation:rule="self == oldSelf"`).Replace(types),
		"crd.yaml":        text,
	})
	file := filepath.Join(dir, "crd.yaml")
	ran := runCommand("", "lint", "--strict", "--fix", file)
	fixed, err := os.ReadFile(file)
	if err != nil || ran.status != exitClean || strings.Count(string(fixed), "self == oldSelf") != 2 || strings.Count(string(fixed), "has(oldSelf.engine)") != 2 {
		t.Errorf("status %d, %v\n%s%s\n%s", ran.status, err, ran.out, ran.err, fixed)
	}
}

// TestLintFixCopies: each copy of a CRD is reported in its own file and fixed there.
func TestLintFixCopies(t *testing.T) {
	text := caches("", "              engine: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}\n", "")
	dir := writeFiles(t, map[string]string{"bases/crd.yaml": text, "chart/crd.yaml": "# a copy\n" + text})
	ran := runCommand("", "lint", dir)
	for _, want := range []string{"bases/crd.yaml)", "chart/crd.yaml)", "0 errors, 2 warnings in 2 CRDs"} {
		if !strings.Contains(ran.out, want) {
			t.Errorf("no %q in\n%s", want, ran.out)
		}
	}
	if ran = runCommand("", "lint", "--strict", "--fix", dir); ran.status != exitClean {
		t.Errorf("status %d\n%s%s", ran.status, ran.out, ran.err)
	}
	for _, name := range []string{"bases/crd.yaml", "chart/crd.yaml"} {
		if fixed, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Count(string(fixed), "has(oldSelf.engine)") != 1 {
			t.Errorf("%s: %v\n%s", name, err, fixed)
		}
	}
}

// TestLintFixStatus: what only controllers write, through the status subresource, is reported and not fixed.
func TestLintFixStatus(t *testing.T) {
	const status = "          status:\n            type: object\n            properties: {id: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}\n"
	for _, c := range []struct {
		name, subresources string
		fixed              bool
	}{
		{"with the subresource", "    subresources: {status: {}}\n", false},
		{"without it", "", true},
	} {
		file := filepath.Join(writeFiles(t, map[string]string{"crd.yaml": caches(c.subresources, "              engine: {type: string}\n", status)}), "crd.yaml")
		ran := runCommand("", "lint", "--fix", file)
		fixed, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(fixed), "has(oldSelf.id)") != c.fixed || strings.Contains(ran.out, "status.id") == c.fixed {
			t.Errorf("%s: %v\n%s%s\n%s", c.name, err, ran.out, ran.err, fixed)
		}
	}
}

// TestLintFixLeavesOthersRules: a rule that a CRD has from a type of another module, from generated code, or as a copy of
// another project's CRD, gets no companion, since the next run of controller-gen or the next copy would remove it. Without the mark of controller-gen, the rules of the
// CRD are written by hand.
func TestLintFixLeavesOthersRules(t *testing.T) {
	const lock = ", x-kubernetes-validations: [{rule: self == oldSelf}]}"
	crd := caches("", `
              engine: {type: string`+lock+`
              former: {type: string`+lock+`
              set:
                type: object
                required: [network]
                properties:
                  network:
                    type: object
                    properties: {name: {type: string`+lock+`}
              made:
                type: object
                properties: {name: {type: string}, kind: {type: string`+lock+`}
`, "")
	generated := strings.Replace(crd, "metadata: {", "metadata: {annotations: {controller-gen.kubebuilder.io/version: v0.20.1}, ", 1)
	files := map[string]string{
		"go.mod": "module example.com/shop\n",
		"api/v1/types.go": `package v1

import "example.org/sets"

type Cache struct {
	Spec CacheSpec ` + "`json:\"spec\"`" + `
}

type CacheSpec struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Engine string   ` + "`json:\"engine,omitempty\"`" + `
	Former string   ` + "`json:\"former,omitempty\"`" + `
	Set    sets.Set ` + "`json:\"set\"`" + `
	Made   Made     ` + "`json:\"made\"`" + `
}
`,
		"api/v1/made.go":                       "// Code generated by a program. DO NOT EDIT.\n\npackage v1\n\ntype Made struct {\n\tName, Kind string `json:\"kind\"`\n}\n",
		"crd/by-hand.yaml":                     crd,
		"crd/generated.yaml":                   generated,
		"crd/copied.yaml":                      strings.ReplaceAll(strings.ReplaceAll(generated, "Cache", "Basket"), "caches", "baskets"),
		"crd/vendored.yaml":                    strings.ReplaceAll(strings.ReplaceAll(crd, "Cache", "Carton"), "caches", "cartons"),
		"vendor/example.org/boxes/v1/types.go": "package v1\n\ntype Carton struct{}\n",
	}
	dir := writeFiles(t, files)
	t.Chdir(dir)
	for _, c := range []struct {
		file        string
		fixes, left int
		says        []string
	}{
		{"crd/by-hand.yaml", 6, 0, nil},
		{"crd/generated.yaml", 1, 5, []string{
			"the Go source has no rule on spec.former, so the CRD is older than its types, or the rule is added to it later",
			"the rule on spec.set.network.name comes from the Go package example.org/sets, whose authors can add the marker",
			"the rule on spec.made.kind comes from generated code, api/v1/made.go",
		}},
		{"crd/copied.yaml", 0, 6, []string{"no Go package beside the CRD declares Basket"}},
		{"crd/vendored.yaml", 0, 6, []string{"Carton is declared in the vendored Go package example.org/boxes/v1"}},
	} {
		ran := runCommand("", "lint", "--fix", c.file)
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if got := strings.Count(text, "may not be removed"); got != c.fixes {
			t.Errorf("%s has %d new rules, want %d:\n%s%s", c.file, got, c.fixes, text, ran.err)
		}
		if got := strings.Count(ran.err, "is left out"); got != c.left {
			t.Errorf("%s: %d fixes are left out, want %d:\n%s", c.file, got, c.left, ran.err)
		}
		for _, want := range c.says {
			if !strings.Contains(ran.err, want) {
				t.Errorf("%s: no %q in\n%s", c.file, want, ran.err)
			}
		}
	}
}
