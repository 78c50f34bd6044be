package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/witness"
)

// goProject is a project with a CRD that controller-gen made from its Go types.
var goProject = map[string]string{
	"api/v1/types.go": `// +groupName=example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cache is a cache.
type Cache struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	// +optional
	Spec   CacheSpec   ` + "`json:\"spec,omitempty\"`" + `
	Status CacheStatus ` + "`json:\"status,omitempty\"`" + `
}

// CacheSpec is what the user wants.
type CacheSpec struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	// +optional
	Engine *string ` + "`json:\"engine,omitempty\"`" + ` // two updates get around this rule

	// +optional
	Store Store ` + "`json:\"store,omitempty\"`" + `
}

// CacheStatus is what the controller has seen.
type CacheStatus struct {
	Store Store ` + "`json:\"store,omitempty\"`" + `
}

// Store is what the spec wants and the status reports.
type Store struct {
	// +optional
	Class string ` + "`json:\"class,omitempty\"`" + `
}
`,
	"crd/caches.yaml": caches("", `
              engine:
                type: string
                x-kubernetes-validations:
                - rule: self == oldSelf
              store:
                type: object
                properties:
                  class:
                    type: string
                    x-kubernetes-validations:
                    - rule: self == oldSelf
`, `
          status:
            type: object
            properties:
              store:
                type: object
                properties:
                  class: {type: string}
`),
}

// inProject writes files with the requirements of the library into a new directory, and goes there.
func inProject(t *testing.T, files map[string]string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs go list")
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	mod := strings.Replace(read("go.mod"), "module github.com/fieldlock/fieldlock\n", "module example.com/shop\n", 1)
	dir := writeFiles(t, files)
	writeFile(t, filepath.Join(dir, "go.mod"), mod)
	writeFile(t, filepath.Join(dir, "go.sum"), read("go.sum"))
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Chdir(dir)
}

// TestLintGo: findings name the field in Go and the place of the marker.
func TestLintGo(t *testing.T) {
	inProject(t, goProject)
	var found struct {
		Findings []struct {
			Rule, Path    string
			Go, MarkersAt *struct {
				File, Name string
				Line       int
			}
		}
	}
	ran := runCommand("", "lint", "--go", "./api/...", "-o", "json", "crd")
	if err := json.Unmarshal([]byte(ran.out), &found); err != nil {
		t.Fatalf("%v\n%s%s", err, ran.out, ran.err)
	}
	got := map[string]string{}
	for _, f := range found.Findings {
		if f.Go == nil || f.MarkersAt == nil || f.Go.File != "api/v1/types.go" || f.Go.Line == 0 || f.MarkersAt.Line == 0 {
			t.Errorf("%+v", f)
			continue
		}
		got[f.Rule+" "+f.Path] = f.Go.Name + ", " + f.MarkersAt.Name
	}
	want := map[string]string{
		"cel-unset-then-set spec.engine":      "CacheSpec.Engine, Cache.Spec",
		"cel-unset-then-set spec.store.class": "Store.Class, CacheSpec.Store",
		"cel-optional-parent spec.store":      "CacheSpec.Store, Cache.Spec",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	for _, flags := range [][]string{nil, {"--explain"}} {
		ran := runCommand("", append([]string{"lint", "--go", "./api/...", "crd"}, flags...)...)
		for _, text := range []string{"in Go: api/v1/types.go:20 (CacheSpec.Engine)", "in Go, on the field spec or its type, api/v1/types.go:12 (Cache.Spec):"} {
			if !strings.Contains(ran.out, text) {
				t.Errorf("%v: no %q in\n%s", flags, text, ran.out)
			}
		}
	}
	if ran := runCommand("", "lint", "--go", "./none", "crd"); ran.status != exitUnread || !strings.Contains(ran.err, "none") {
		t.Errorf("a package that is not there: status %d, %s", ran.status, ran.err)
	}
}

// TestLintFixGo: --fix --go writes the same rules into the CRD and into the Go source, and nothing else, once.
func TestLintFixGo(t *testing.T) {
	inProject(t, goProject)
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	ran := runCommand("", "lint", "--fix", "--go", "./api/...", "--strict", "crd")
	if ran.status != exitClean {
		t.Fatalf("status %d\n%s%s", ran.status, ran.out, ran.err)
	}
	goText, crdText := read("api/v1/types.go"), read("crd/caches.yaml")
	var added []string
	rest := strings.Split(goProject["api/v1/types.go"], "\n")
	for _, line := range strings.Split(goText, "\n") {
		if len(rest) > 0 && line == rest[0] {
			rest = rest[1:]
			continue
		}
		added = append(added, strings.TrimSpace(line))
	}
	slices.Sort(added)
	want := []string{
		"//",
		`// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.class) && size(oldSelf.class) > 0) || (has(self.class) && size(self.class) > 0)",message="class may not be removed"`,
		`// +kubebuilder:validation:XValidation:rule="!has(oldSelf.engine) || has(self.engine)",message="engine may not be removed"`,
		`// +kubebuilder:validation:XValidation:rule="!has(oldSelf.store) || !has(oldSelf.store.class) || size(oldSelf.store.class) == 0 || has(self.store)",message="store may not be removed while it has class"`,
	}
	if diff := cmp.Diff(want, added); diff != "" || len(rest) > 0 {
		t.Errorf("lines added to the Go source (-want +got), %d lost:\n%s", len(rest), diff)
	}
	// The type Store is the status's too: the rule is on the field.
	if field := "class may not be removed\"\n\tStore Store `json:\"store,omitempty\"`\n}\n\n// CacheStatus"; !strings.Contains(goText, field) {
		t.Errorf("the rule of class is not on the field of the spec:\n%s", goText)
	}
	for _, line := range want[1:] {
		rule := strings.TrimPrefix(line, `// +kubebuilder:validation:XValidation:rule="`)
		if rule, _, _ = strings.Cut(rule, `"`); !strings.Contains(crdText, rule) {
			t.Errorf("the CRD lacks the rule %s", rule)
		}
	}
	again := runCommand("", "lint", "--fix", "--go", "./api/...", "crd")
	if again.status != exitClean || read("api/v1/types.go") != goText || read("crd/caches.yaml") != crdText {
		t.Errorf("a second run changes the files, status %d\n%s", again.status, again.err)
	}
	// What controller-gen makes before the next fix is what it made before: the rules are not written twice.
	writeFile(t, "crd/caches.yaml", goProject["crd/caches.yaml"])
	if runCommand("", "lint", "--fix", "--go", "./api/...", "crd"); read("api/v1/types.go") != goText || read("crd/caches.yaml") != crdText {
		t.Errorf("the rules are written twice:\n%s", read("api/v1/types.go"))
	}
}

// TestLintFixGoFields: what the Go source says about a field decides about its fix. The description of the CRD says
// nothing. Without --go, the syntax around a CRD that controller-gen wrote tells the types, and no comments.
func TestLintFixGoFields(t *testing.T) {
	const locked = "type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}\n"
	cases := []struct {
		field, comment, goType, tag string
		rule                        string // "" if the fix is left to the author
		allowed, refused            []string
	}{
		{"pointer", "", "*string", ",omitempty", "!has(oldSelf.pointer) || has(self.pointer)", nil, []string{"\"\"", "a"}},
		{"omitted", "", "string", ",omitempty", "!(has(oldSelf.omitted) && size(oldSelf.omitted) > 0) || (has(self.omitted) && size(self.omitted) > 0)", []string{"\"\""}, []string{"a"}},
		{"written", "", "string", "", "!(has(oldSelf.written) && size(oldSelf.written) > 0) || (has(self.written) && size(self.written) > 0)", []string{"\"\""}, []string{"a"}},
		{"marked", "// +deprecated", "*string", ",omitempty", "", []string{"a"}, nil},
		{"former", "// Former is the old name of omitted.\n\t//\n\t// Deprecated: use omitted.", "*string", ",omitempty", "", []string{"a"}, nil},
		{"apart", "// Deprecated: use omitted.\n", "*string", ",omitempty", "", []string{"a"}, nil},
		{"cleared", "// Cleared can be removed when the cache is empty.", "*string", ",omitempty", "", []string{"a"}, nil},
	}
	fields, properties := "", ""
	for _, c := range cases {
		fields += fmt.Sprintf("\t%s\n\t// +optional\n\t%s %s `json:\"%s%s\"`\n\n", c.comment, strings.ToUpper(c.field[:1])+c.field[1:], c.goType, c.field, c.tag)
		properties += "              " + c.field + ": {" + locked
	}
	files := maps.Clone(goProject)
	before, _, _ := strings.Cut(goProject["api/v1/types.go"], "// CacheSpec is")
	files["api/v1/types.go"] = before + "type CacheSpec struct {\n" + fields + "}\n\n// CacheStatus is empty.\ntype CacheStatus struct{}\n"
	files["crd/caches.yaml"] = caches("", properties, "")
	inProject(t, files)
	ran := runCommand("", "lint", "--fix", "--go", "./api/...", "crd")
	crds := readCRDs(t, "crd/caches.yaml")
	if len(crds) != 1 {
		t.Fatalf("%d CRDs\n%s%s", len(crds), ran.out, ran.err)
	}
	kind := witness.FromCRD(crds[0], nil)
	text, err := os.ReadFile("crd/caches.yaml")
	if err != nil {
		t.Fatal(err)
	}
	unfolded := strings.Join(strings.Fields(string(text)), " ")
	base, ok := kind.Valid(kind.Versions[0])
	if !ok {
		t.Fatal("no valid object was found")
	}
	for _, c := range cases {
		if has := strings.Contains(unfolded, "has(oldSelf."+c.field+")"); has != (c.rule != "") || !strings.Contains(unfolded, c.rule) {
			t.Errorf("%s: want the rule %q in\n%s%s", c.field, c.rule, text, ran.err)
		}
		removal := func(value string) bool {
			oldObj := merged(base, map[string]any{"spec": map[string]any{c.field: strings.Trim(value, "\"")}})
			refused, mistakes, err := kind.Update(merged(oldObj, map[string]any{"spec": map[string]any{c.field: nil}}), oldObj)
			if err != nil || len(mistakes) > 0 {
				t.Fatalf("%s: %v %v", c.field, mistakes, err)
			}
			return len(refused) == 0
		}
		for _, value := range c.allowed {
			if !removal(value) {
				t.Errorf("%s: %s may not be removed", c.field, value)
			}
		}
		for _, value := range c.refused {
			if removal(value) {
				t.Errorf("%s: %s may be removed", c.field, value)
			}
		}
	}
}

// TestLintFixGoSyntax: without --go, the Go source around a CRD that controller-gen wrote tells which fields clients leave
// out, and which objects they write unasked.
func TestLintFixGoSyntax(t *testing.T) {
	const lock = "x-kubernetes-validations: [{rule: self == oldSelf}]"
	crd := caches("", `
              pointer: {type: boolean, `+lock+`}
              omitted: {type: string, `+lock+`}
              written: {type: object, properties: {a: {type: string}}, `+lock+`}
              filled: {type: object, required: [name], properties: {name: {type: string, `+lock+`}}}
              zeroed: {type: object, properties: {a: {type: string}}, `+lock+`}
`, "")
	generated := strings.Replace(crd, "metadata: {", "metadata: {annotations: {controller-gen.kubebuilder.io/version: v0.20.1}, ", 1)
	t.Chdir(writeFiles(t, map[string]string{
		"go.mod": "module example.com/shop\n",
		"api/v1/types.go": `package v1

type Cache struct {
	Spec CacheSpec ` + "`json:\"spec\"`" + `
}

type CacheSpec struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Pointer *bool ` + "`json:\"pointer,omitempty\"`" + `
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Omitted string ` + "`json:\"omitted,omitempty\"`" + `
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Written Struct ` + "`json:\"written,omitempty\"`" + `
	Filled  Named  ` + "`json:\"filled,omitempty\"`" + `
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Zeroed Struct ` + "`json:\"zeroed,omitzero\"`" + `
}

type Struct struct {
	A string ` + "`json:\"a\"`" + `
}

type Named struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Name string ` + "`json:\"name\"`" + `
}
`,
		"generated.yaml": generated,
		"by-hand.yaml":   crd,
	}))
	for _, c := range []struct {
		file  string
		rules []string
		left  []string
	}{
		{"generated.yaml", []string{
			"!has(oldSelf.pointer) || has(self.pointer)",
			"!(has(oldSelf.omitted) && size(oldSelf.omitted) > 0) || (has(self.omitted) && size(self.omitted) > 0)",
			"!has(oldSelf.filled) || size(oldSelf.filled.name) == 0 || has(self.filled)",
			"!has(oldSelf.zeroed) || has(self.zeroed)",
		}, []string{"unless intended: Go clients write spec.written where nobody has set it"}},
		{"by-hand.yaml", []string{
			"!has(oldSelf.omitted) || has(self.omitted)",
			"!has(oldSelf.written) || has(self.written)",
			"!has(oldSelf.filled) || has(self.filled)",
			"!has(oldSelf.zeroed) || has(self.zeroed)",
		}, []string{"or if Go clients have pointer with omitempty and without a pointer"}},
	} {
		ran := runCommand("", "lint", "--fix", c.file)
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(data)), " ")
		if got := strings.Count(text, "may not be removed"); got != len(c.rules) {
			t.Errorf("%s has %d new rules, want %d:\n%s", c.file, got, len(c.rules), data)
		}
		for _, rule := range c.rules {
			if !strings.Contains(text, "rule: '"+rule+"'") {
				t.Errorf("%s has no rule %s:\n%s%s", c.file, rule, data, ran.err)
			}
		}
		for _, left := range c.left {
			if !strings.Contains(ran.out, left) {
				t.Errorf("%s: no %q in\n%s", c.file, left, ran.out)
			}
		}
	}
}

// TestLintFixGoLeavesOut: a rule that the Go types would put where nobody has asked for it is written nowhere.
func TestLintFixGoLeavesOut(t *testing.T) {
	files := map[string]string{"crd/caches.yaml": goProject["crd/caches.yaml"]}
	// The spec's field store is now in a struct that the status has too.
	files["api/v1/types.go"] = strings.Replace(goProject["api/v1/types.go"], "Status CacheStatus", "Status CacheSpec", 1)
	inProject(t, files)
	ran := runCommand("", "lint", "--fix", "--go", "./api/...", "crd")
	for _, want := range []string{
		"the fix of cel-unset-then-set at spec.store.class is left out: api/v1/types.go:23 (CacheSpec.Store) is /properties/status/properties/store of example.com/v1 Cache too",
		"fixed: api/v1/types.go",
	} {
		if !strings.Contains(ran.err, want) {
			t.Errorf("no %q in\n%s", want, ran.err)
		}
	}
	for _, name := range []string{"api/v1/types.go", "crd/caches.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(data), "has(oldSelf.class)") || !strings.Contains(string(data), "has(oldSelf.engine)") {
			t.Errorf("%s, %v:\n%s", name, err, data)
		}
	}
}

// TestLintGoLeavesOutApplyConfigurations: ./... finds the builders that client-go's generator makes, which repeat the comments of the API
// types. Nobody edits them.
func TestLintGoLeavesOutApplyConfigurations(t *testing.T) {
	const generated = `// Code generated by applyconfiguration-gen. DO NOT EDIT.

package v1

// CacheApplyConfiguration builds a Cache.
type CacheApplyConfiguration struct {
	// +immutabel
	Engine *string ` + "`json:\"engine,omitempty\"`" + `
}
`
	files := maps.Clone(goProject)
	files["client/applyconfiguration/api/v1/cache.go"] = generated
	files["client/other/cache.go"] = strings.Replace(generated, "package v1", "package other", 1)
	inProject(t, files)
	ran := runCommand("", "lint", "--go", "./...", "crd")
	if !strings.Contains(ran.err, "client/other/cache.go:7: +immutabel") || strings.Contains(ran.err, "applyconfiguration") {
		t.Errorf("status %d\n%s%s", ran.status, ran.err, ran.out)
	}
}
