package manifest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// tree writes files into a new directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	crd    = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-immutable: true}}}}}]}\n"
	document = `{"openapi": "3.0.0", "components": {"schemas": {
		"Gadget": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Gadget"}], "properties": {
			"spec": {"type": "object", "x-kubernetes-immutable": true}}},
		"Box": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Box"}], "properties": {"spec": {"$ref": "#/components/schemas/BoxSpec"}}},
		"BoxSpec": {"type": "object", "x-kubernetes-validations": [{"rule": "self == oldSelf"}], "properties": {"a": {"type": "string"}}},
		"Free": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Free"}]},
		"Broken": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Broken"}], "properties": {"a": {"type": "string", "x-fieldlock-update": ["NoAddItem"]}}}}}}`
	values = `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"type": "string", "x-kubernetes-immutable": true}}}`
)

// TestRead: which files of a directory are read, in which order, and what they are called.
func TestRead(t *testing.T) {
	dir := tree(t, map[string]string{
		"b.yaml": object, "a.yml": object + "---\n" + object, "c.JSON": `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}`, "d.txt": object, "e": object,
		"sub/x.yaml": object, ".hidden/x.yaml": object, "sub-b.yaml": object, ".dotted.yaml": object, ".fieldlock.yaml": "accept: []\n", "sub/deep/y.json": "{", "notes.yaml": "- 1\n",
	})
	for target, path := range map[string]string{"../b.yaml": "sub/link.yaml", "sub": "again", "..": "sub/up", "none.yaml": "dangling.yaml", "/dev/null": "device.yaml", "/dev/zero": "device.txt", "none": "gone.txt", "circle.txt": "circle.txt", "b.yaml/x": "below.txt"} {
		if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	var steps atomic.Int64
	r := &manifest.Reader{Step: func() { steps.Add(1) }}
	files, err := r.Read(dir, filepath.Join(dir, "d.txt"), filepath.Join(dir, "b.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		name, below := strings.CutPrefix(f.Name, filepath.ToSlash(dir)+"/")
		line := fmt.Sprintf("%s %q %d", name, f.Path, len(f.Documents))
		if f.Err != nil {
			line += " error"
		}
		if f.Unrelated {
			line += " unrelated"
		}
		if !below || f.Found != (f.Path != "") {
			line += " wrong"
		}
		got = append(got, line)
	}
	want := []string{
		`.dotted.yaml ".dotted.yaml" 1`, `.fieldlock.yaml ".fieldlock.yaml" 0`, `a.yml "a.yml" 2`, `again/deep/y.json "again/deep/y.json" 0 unrelated`, `again/link.yaml "again/link.yaml" 1`, `again/x.yaml "again/x.yaml" 1`,
		`b.yaml "b.yaml" 1`, `c.JSON "c.JSON" 1`, `dangling.yaml "dangling.yaml" 0 error`, `device.yaml "device.yaml" 0 error`, `notes.yaml "notes.yaml" 0`, `sub-b.yaml "sub-b.yaml" 1`, `sub/deep/y.json "sub/deep/y.json" 0 unrelated`, `sub/link.yaml "sub/link.yaml" 1`, `sub/x.yaml "sub/x.yaml" 1`,
		`d.txt "" 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name, "device.yaml") && !strings.Contains(f.Err.Error(), "device.yaml: cannot be read: it is not a regular file") {
			t.Errorf("a device: %v", f.Err)
		}
	}
	if int(steps.Load()) != len(files) {
		t.Errorf("%d steps for %d files", steps.Load(), len(files))
	}
	found, err := manifest.Find(dir)
	if err != nil || len(found) != len(files)-1 {
		t.Errorf("%d files are found, and %d are read: %v", len(found), len(files), err)
	}
	for i, f := range found {
		if f.Name != files[i].Name || f.Path != files[i].Path || f.Found != files[i].Found {
			t.Errorf("%s is found as %s (%s)", files[i].Name, f.Name, f.Path)
		}
	}
	names, err := manifest.List(filepath.Join(dir, "sub", "deep"))
	if err != nil || len(names) != 1 || !strings.HasSuffix(names[0], "y.json") {
		t.Errorf("the files of a directory: %q, %v", names, err)
	}
	if names, err := manifest.List(filepath.Join(dir, "b.yaml")); err != nil || !slices.Equal(names, []string{filepath.Join(dir, "b.yaml")}) {
		t.Errorf("one file: %q, %v", names, err)
	}
	if _, err := manifest.List(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "none: cannot be read") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := manifest.List(dir); err == nil || !strings.Contains(err.Error(), "dangling.yaml: cannot be read") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

// TestHidden: what Read leaves out, as far as it has a name.
func TestHidden(t *testing.T) {
	dir := tree(t, map[string]string{".d/x.yaml": object, "b/.d/e/y.yaml": object, ".d/other.yaml": "a: b\n", ".d/n.txt": object, ".git/z.yaml": object, "b/v.yaml": object, "w.yaml": object, ".w.yaml": object})
	var got []string
	for _, f := range (&manifest.Reader{}).Hidden(dir, []string{"nobody", "name: a"}) {
		got = append(got, fmt.Sprint(f.Path, " ", len(f.Documents)))
	}
	if want := []string{".d/x.yaml 1", "b/.d/e/y.yaml 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if files := (&manifest.Reader{}).Hidden(filepath.Join(dir, "w.yaml"), []string{"a"}); files != nil {
		t.Errorf("below a file: %v", files)
	}
	if files := (&manifest.Reader{}).Hidden(filepath.Join(dir, "none"), []string{"a"}); files != nil {
		t.Errorf("below nothing: %v", files)
	}
}

// TestLinksEnd: links to directories with links make too many files to read, which is one mistake.
func TestLinksEnd(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		at := filepath.Join(dir, fmt.Sprint("d", i))
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c.yaml"} {
			if err := os.Symlink(fmt.Sprint("../d", i+1), filepath.Join(at, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := (&manifest.Reader{}).Read(filepath.Join(dir, "d0"))
	mistakes := 0
	for _, f := range files {
		if f.Err != nil && strings.Contains(f.Err.Error(), "it is one of more than 10000 links") {
			mistakes++
		}
	}
	if err != nil || mistakes != 1 {
		t.Errorf("%d files, %d mistakes, %v", len(files), mistakes, err)
	}
	dir = tree(t, map[string]string{"to/x.txt": object})
	for i := range 10_000 { // no link too many: the last one counts
		if err := os.Symlink("to/x.txt", filepath.Join(dir, map[bool]string{false: fmt.Sprint(i), true: "z.yaml"}[i == 9_999])); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := (&manifest.Reader{}).Read(dir); err != nil || len(files) != 1 || len(files[0].Documents) != 1 {
		t.Errorf("as many links as may be: %d files, %v", len(files), err)
	}
}

// TestReadErrors: an argument that cannot be used is an error, and says what can be given.
func TestReadErrors(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": object, "empty/a.txt": object})
	for _, c := range []struct {
		name  string
		stdin io.Reader
		args  []string
		want  string
	}{
		{"a file that is not there", nil, []string{dir + "/none.yaml"}, "none.yaml: cannot be read: no such file or directory; give a file, a directory, or - for standard input"},
		{"a directory without objects", nil, []string{dir + "/empty"}, "empty: the directory has no file that ends in .yaml, .yml or .json"},
		{"standard input twice", strings.NewReader(object), []string{"-", "-"}, "standard input is named twice; it can be read once, give a file for the other"},
		{"broken standard input", iotest.ErrReader(errors.New("broken")), []string{"-"}, "standard input cannot be read: broken"},
	} {
		_, err := (&manifest.Reader{Stdin: c.stdin}).Read(c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	files, err := (&manifest.Reader{Stdin: strings.NewReader(object)}).Read("-", dir+"/a.yaml", dir+"/a.yaml")
	if err != nil || len(files) != 2 || files[0].Name != manifest.Stdin || len(files[0].Documents) != 1 || files[0].Found || files[1].Name != filepath.ToSlash(dir)+"/a.yaml" {
		t.Errorf("standard input and a file that is named twice: %v, %v", files, err)
	}
	if name, data, err := (&manifest.Reader{}).Bytes(dir + "/a.yaml"); err != nil || name != filepath.ToSlash(dir)+"/a.yaml" || string(data) != object {
		t.Errorf("the bytes of a file: %s, %q, %v", name, data, err)
	}
	if _, _, err := (&manifest.Reader{}).Bytes(dir); err == nil || !strings.Contains(err.Error(), "it is a directory; give one of its files") {
		t.Errorf("the bytes of a directory: %v", err)
	}
}

// TestSchemas: the schemas that arguments name: CRDs, OpenAPI documents and JSON Schemas; each argument has one at
// least.
func TestSchemas(t *testing.T) {
	dir := tree(t, map[string]string{"crd.yaml": crd, "api.json": document, "values.schema.json": values, "x/object.yaml": object, "broken/crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {group: a}\n",
		"odd#name/crd.yaml": crd, "both/crd.yaml": crd, "both/api.json": document, "both/object.yaml": object,
		"half.yaml": strings.ReplaceAll(document, "\n", "") + "\n---\na: [\n", "empty.yaml": "",
		"circle.json": `{"openapi": "3.0.0", "components": {"schemas": {"Node": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Node"}],
			"properties": {"next": {"$ref": "#/components/schemas/Node"}, "v": {"type": "string", "x-kubernetes-immutable": true}}}}}}`,
		"policy.yaml": "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n",
		"twice.yaml":  "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nkind: Widget\nmetadata: {name: a}\nmetadata: {name: b}\n"})
	for _, c := range []struct {
		name, stdin, args string
		kinds             []string // of the schemas, all as CRDs
		errs              string   // the mistakes, in part
		err               string
	}{
		{"a CRD", "", "crd.yaml", []string{"widgets.example.com example.com/v1 Widget"}, "", ""},
		{"a policy, which is none for these verbs", "", "policy.yaml", nil, "policy.yaml: there is no CustomResourceDefinition in it; only check reads policies", ""},
		{"a CRD and a policy", "", "crd.yaml policy.yaml", []string{"widgets.example.com example.com/v1 Widget"}, "", ""},
		{"twice", "", "crd.yaml crd.yaml", []string{"widgets.example.com example.com/v1 Widget"}, "", ""},
		{"by its directory too", "", "both both/crd.yaml", []string{"widgets.example.com example.com/v1 Widget", "gadgets.example.com example.com/v1 Gadget", "boxs /v1 Box"}, "Broken: ", ""},
		{"an OpenAPI document: only kinds with locks or rules", "", "api.json", []string{"gadgets.example.com example.com/v1 Gadget", "boxs /v1 Box"}, "example.com/v1 Broken: ", ""},
		{"a JSON Schema, which is called after its file", "", "values.schema.json", []string{"values /schema values"}, "", ""},
		{"two arguments", "", "values.schema.json crd.yaml", []string{"widgets.example.com example.com/v1 Widget", "values /schema values"}, "", ""},
		{"two documents", "", "api.json values.schema.json", []string{"gadgets.example.com example.com/v1 Gadget", "boxs /v1 Box", "values /schema values"}, "example.com/v1 Broken: ", ""},
		{"standard input", crd, "-", []string{"widgets.example.com example.com/v1 Widget"}, "", ""},
		{"standard input without a schema", object, "-", nil, "", "stdin: there is no CustomResourceDefinition in it"},
		{"no schema", "", "x", nil, "", "x: there is no CustomResourceDefinition in it; give the YAML or JSON of a CRD"},
		{"a broken CRD", "", "broken crd.yaml", []string{"widgets.example.com example.com/v1 Widget"}, "broken/crd.yaml:", ""},
		{"an empty file", "", "empty.yaml", nil, "", "empty.yaml: there is no CustomResourceDefinition in it"},
		{"a schema that refers to itself", "", "circle.json", nil, "example.com/v1 Node: ", ""},
		{"two kinds", "", "twice.yaml", nil, "", `twice.yaml:3: document 1: the mapping has the key "kind" twice`},
		{"a schema of a document", "", "api.json#BoxSpec", []string{"BoxSpec /schema BoxSpec"}, "", ""},
		{"a document, and a schema of it", "", "api.json api.json#BoxSpec", []string{"gadgets.example.com example.com/v1 Gadget", "boxs /v1 Box", "BoxSpec /schema BoxSpec"}, "example.com/v1 Broken: ", ""},
		{"a schema of a document on standard input", document, "-#BoxSpec", []string{"BoxSpec /schema BoxSpec"}, "", ""},
		{"a schema that the document lacks", "", "api.json#None", nil, "", `api.json: it has no schema "None" in components.schemas, definitions or $defs; its kinds are Broken, Free, Gadget, Box`},
		{"a directory with a # in its name", "", "odd#name", []string{"widgets.example.com example.com/v1 Widget"}, "", ""},
		{"no file", "", "none", nil, "", "none: cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var args []string
			for _, arg := range strings.Fields(c.args) {
				if !strings.HasPrefix(arg, "-") {
					arg = filepath.Join(dir, arg)
				}
				args = append(args, arg)
			}
			crds, errs, err := (&manifest.Reader{Stdin: strings.NewReader(c.stdin)}).Kinds(args...)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if len(errs) > 1 || (len(errs) == 0) != (c.errs == "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), c.errs) {
				t.Errorf("mistakes %v, want %q", errs, c.errs)
			}
			var got []string
			for _, k := range crds {
				got = append(got, k.Name+" "+k.Group+"/"+k.Versions[0].Name+" "+k.Kind)
				if locks := k.Versions[0].Schema; locks == nil || !k.Versions[0].Served || !k.Versions[0].Storage {
					t.Errorf("%s has no schema, or is not served or stored", k.Name)
				}
			}
			if diff := cmp.Diff(c.kinds, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, errs, err := (&manifest.Reader{}).Kinds(filepath.Join(dir, "half.yaml")); err != nil || len(errs) == 0 || !strings.Contains(errs[0].Error(), "half.yaml:3: document 2: the YAML is malformed") {
		t.Errorf("a broken document behind an OpenAPI document: %v, %v", errs, err)
	}
	crds, errs, err := (&manifest.Reader{Stdin: strings.NewReader(crd)}).Kinds(filepath.Join(dir, "crd.yaml"), "-", filepath.Join(dir, "broken"))
	if err != nil || len(crds) != 2 || len(errs) != 1 {
		t.Errorf("standard input counts besides: %d, %v, %v", len(crds), errs, err)
	}
}

// TestCompile: every version of a CRD has its checks, or a mistake at the line of the schema.
func TestCompile(t *testing.T) {
	const two = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-immutable: true}}}}}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-fieldlock-update: [NoAddItem, NoModify]}
          status: {type: string, x-fieldlock-update: [Never]}
`
	crds, errs, err := (&manifest.Reader{Stdin: strings.NewReader(two)}).Kinds("-")
	if err != nil || len(errs) > 0 || len(crds) != 1 {
		t.Fatal(crds, errs, err)
	}
	validators, errs := crds[0].Compile()
	newObj, oldObj := map[string]any{"spec": map[string]any{"a": "x"}}, map[string]any{"spec": map[string]any{"a": "y"}}
	versions := crds[0].Versions
	if v := validators[versions[0]]; v == nil || len(v.ValidateUpdate(newObj, oldObj)) != 1 {
		t.Errorf("v1 refuses nothing: %v", v)
	}
	if v, has := validators[versions[1]]; v != nil || !has {
		t.Errorf("v2 has mistakes and is compiled: %v, %t", v, has)
	}
	for i, want := range []string{"stdin:17: CustomResourceDefinition widgets.example.com, version v2: spec: NoAddItem", "stdin:18: CustomResourceDefinition widgets.example.com, version v2: status: x-fieldlock-update"} {
		if len(errs) != 2 || !strings.HasPrefix(errs[i].Error(), want) {
			t.Errorf("got %q, want %s", errs, want)
		}
	}
}

// TestKindPositions: a field of a kind is found in the document where it is written, be it by a $ref.
func TestKindPositions(t *testing.T) {
	dir := tree(t, map[string]string{"api.json": document})
	crds, _, err := (&manifest.Reader{}).Kinds(filepath.Join(dir, "api.json"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, c := range crds {
		schema := []any{"spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec"}
		lines[c.Kind] = c.Document.Position(schema...).Line
		lines[c.Kind+" itself"] = c.Document.Position("spec", "names").Line
	}
	if diff := cmp.Diff(map[string]int{"Gadget": 3, "Gadget itself": 2, "Box": 4, "Box itself": 4}, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNames: how the name of a file is given to a command, and which names others can open.
func TestNames(t *testing.T) {
	for name, want := range map[string]struct {
		argument string
		isFile   bool
	}{
		"a.yaml": {"a.yaml", true}, "my file.yaml": {"'my file.yaml'", true}, manifest.Stdin: {"-", false}, "$(helm template a)": {"<(helm template a)", false}, "$(echo (a))": {"<(echo (a))", false},
		manifest.Cluster: {"'the cluster'", false}, "https://example.com/a.yaml": {"https://example.com/a.yaml", false}, "": {"''", false},
	} {
		if got := manifest.Argument(name); got != want.argument || manifest.IsFile(name) != want.isFile {
			t.Errorf("%q: %s, a file: %v", name, got, manifest.IsFile(name))
		}
	}
}
