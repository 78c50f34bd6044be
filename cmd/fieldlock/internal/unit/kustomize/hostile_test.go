package kustomize_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// TestHostile renders trees that would keep kustomize busy. Each is refused before kustomize sees it.
func TestHostile(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	cases := []struct {
		name string
		tree fstest.MapFS
		want string
	}{
		{"a thousand levels", levels(1000, "resources: [../%d]\n"), "more than 200 levels deep"},
		{"two to the power of a hundred", levels(100, "resources: [../%d]\ncomponents: [../%[1]d]\n"), "more than 10000 times"},
		{"aliases of aliases in a kustomization", fstest.MapFS{
			"0/kustomization.yaml": {Data: []byte(bomb("commonLabels"))},
		}, "excessive aliasing"},
		{"aliases of aliases in a patch", fstest.MapFS{
			"0/kustomization.yaml": {Data: []byte("patchesStrategicMerge:\n- |-\n  " + strings.ReplaceAll(object+bomb("data"), "\n", "\n  "))},
		}, "more than 1000000 nodes"},
		{"aliases of aliases in a plugin", fstest.MapFS{
			"0/kustomization.yaml": {Data: []byte("generators: [g.yaml]\n")},
			"0/g.yaml":             {Data: []byte("apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata:\n  name: a\n" + bomb("files"))},
		}, "more than 1000000 nodes"},
		{"a kustomization of 9 MB", fstest.MapFS{
			"0/kustomization.yaml": {Data: []byte("namePrefix: x # " + strings.Repeat("x", 9<<20))},
		}, "are read"},
		{"a file that is a directory", fstest.MapFS{
			"0/kustomization.yaml": {Data: []byte("patches: [{path: d}]\n")}, "0/d/x": {},
		}, "is a directory"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := kustomize.Files(c.tree, "0", kustomize.Options{})
			var invalid *rendered.Invalid
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if _, again := kustomize.Build(context.Background(), c.tree, "0", kustomize.Options{}); fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("Build: %v, Files: %v", again, err)
			}
		})
	}
}

// levels returns n kustomizations, each of which includes the next one.
func levels(n int, content string) fstest.MapFS {
	tree := fstest.MapFS{fmt.Sprintf("%d/kustomization.yaml", n): {Data: []byte("namePrefix: x\n")}}
	for i := range n {
		tree[fmt.Sprintf("%d/kustomization.yaml", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf(content, i+1))}
	}
	return tree
}

// bomb returns a field with aliases that stand for 10^10 values.
func bomb(field string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n  a0: &a0 x\n", field)
	for i := range 10 {
		alias := fmt.Sprintf("*a%d", i)
		fmt.Fprintf(&text, "  a%d: &a%d [%s]\n", i+1, i+1, strings.Join(strings.Fields(strings.Repeat(alias+" ", 10)), ", "))
	}
	return text.String()
}

func TestFind(t *testing.T) {
	file := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	found, err := kustomize.Find(fstest.MapFS{
		"kustomization.yaml":           file("resources: [apps/a, ./missing, https://x.example/y]\n"),
		"apps/a/kustomization.yml":     file("resources: [../../base/]\ncomponents: [../../part]\ntransformers: [../../t]\n"),
		"apps/b/Kustomization":         file("bases: [../../base]\n"),
		"base/kustomization.yaml":      file("namePrefix: x\n"),
		"part/kustomization.yaml":      file("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x\n"),
		"alone/kustomization.yaml":     file("kind: Component\nnamePrefix: x\n"),
		"t/kustomization.yaml":         file("resources: [t.yaml]\n"),
		"flux/kustomization.yaml":      file("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"),
		"broken/kustomization.yaml":    file("a: [\n"),
		"dir/kustomization.yaml/x":     file(""),
		".git/x/kustomization.yaml":    file("namePrefix: x\n"),
		"self/kustomization.yaml":      file("resources: [.]\n"),
		"template/kustomization.yaml":  file("resources: [{{ x }}]\n"),
		"unknown/kustomization.yaml":   file("resource: [x]\n"),
		"base/nested/kustomization.md": file(""),
	}, kustomize.Options{Parsed: &kustomize.Parsed{}})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, k := range found {
		fmt.Fprintf(&got, "%s unit=%v included=%v\n", k.File, k.Unit(), k.Included)
	}
	want := `kustomization.yaml unit=true included=false
alone/kustomization.yaml unit=false included=false
apps/a/kustomization.yml unit=false included=true
apps/b/Kustomization unit=true included=false
base/kustomization.yaml unit=false included=true
broken/kustomization.yaml unit=true included=false
part/kustomization.yaml unit=false included=true
self/kustomization.yaml unit=true included=false
t/kustomization.yaml unit=false included=true
template/kustomization.yaml unit=true included=false
unknown/kustomization.yaml unit=true included=false
`
	if got.String() != want {
		t.Errorf("got:\n%swant:\n%s", got.String(), want)
	}
}
