package flux_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
)

func ExampleParseKustomization() {
	k, err := flux.ParseKustomization(map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1",
		"kind":       "Kustomization",
		"metadata":   map[string]any{"name": "apps", "namespace": "flux-system"},
		"spec": map[string]any{
			"path": "./apps", "prune": true,
			"sourceRef": map[string]any{"kind": "GitRepository", "name": "cluster"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(k.Path, k.Prune, k.Source)
	// Output: apps true {GitRepository flux-system cluster}
}

func ExampleKustomization_Build() {
	tree := fstest.MapFS{"apps/web.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata:\n  name: ${NAME:=web}\n")}}
	k, err := flux.ParseKustomization(map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1",
		"kind":       "Kustomization",
		"metadata":   map[string]any{"name": "apps", "namespace": "flux-system"},
		"spec": map[string]any{
			"path": "apps", "targetNamespace": "live",
			"postBuild": map[string]any{"substitute": map[string]any{"OTHER": "x"}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := k.Build(context.Background(), tree, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", objects[0].YAML)
	// Output:
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   name: web
	//   namespace: live
}

// TestKustomizations runs the cases of testdata/kustomizations. The comment of a case says why it exists. Its file unit is the
// object; those below vars/ are what variables come from; want/files has what Files returns, want/objects what Build prints,
// with the file and the unknown places of each object in a comment, and want/error the error instead. All other files are
// the tree.
func TestKustomizations(t *testing.T) {
	cases, err := filepath.Glob("testdata/kustomizations/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runCase(t, archive)
		})
	}
}

func runCase(t *testing.T, archive *txtar.Archive) {
	tree, want := fstest.MapFS{}, map[string]string{}
	var unit map[string]any
	vars := map[string]map[string]any{}
	for _, f := range archive.Files {
		switch {
		case f.Name == "unit":
			unit = decode(t, f.Data)
		case strings.HasPrefix(f.Name, "vars/"):
			object := decode(t, f.Data)
			metadata := object["metadata"].(map[string]any)
			vars[fmt.Sprint(object["kind"], metadata["namespace"], metadata["name"])] = object
		case strings.HasPrefix(f.Name, "want/"):
			want[f.Name] = string(f.Data)
		default:
			tree[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	lookup := func(kind, namespace, name string) (map[string]any, bool) {
		object, ok := vars[fmt.Sprint(kind, namespace, name)]
		return object, ok
	}
	files, objects, err := render(unit, tree, lookup)
	if got := fmt.Sprintln(err); err != nil && got != want["want/error"] || err == nil && want["want/error"] != "" {
		t.Errorf("error %swant  %s", got, want["want/error"])
	}
	if want["want/files"] != "" && files != want["want/files"] {
		t.Errorf("files:\n%swant:\n%s", files, want["want/files"])
	}
	if objects != want["want/objects"] {
		t.Errorf("objects:\n%swant:\n%s", objects, want["want/objects"])
	}
}

// render returns the files that a unit reads and the objects that it renders from these files alone.
func render(unit map[string]any, tree fstest.MapFS, lookup flux.Lookup) (files, objects string, err error) {
	k, err := flux.ParseKustomization(unit)
	if err != nil {
		return "", "", err
	}
	names, err := k.Files(tree)
	if err != nil {
		return "", "", err
	}
	read := fstest.MapFS{}
	for _, name := range names {
		read[name] = tree[name]
	}
	found, err := k.Build(context.Background(), read, lookup)
	var text strings.Builder
	for _, o := range found {
		text.WriteString("---")
		if o.Unknown != nil {
			unknown, _ := json.Marshal(o.Unknown)
			fmt.Fprintf(&text, " unknown: %s", unknown)
		}
		fmt.Fprintf(&text, "\n%s", o.YAML)
	}
	return strings.Join(names, "\n") + "\n", text.String(), err
}

func decode(t *testing.T, content []byte) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
