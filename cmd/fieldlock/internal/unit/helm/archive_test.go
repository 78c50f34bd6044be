package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

// packed returns a chart as `helm package` packs it.
func packed(t *testing.T, name string, files ...[2]string) []byte {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + f[0], Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchives renders a dependency that is packed, with another one in it: objects of both come from the outer
// archive.
func TestArchives(t *testing.T) {
	inner := packed(t, "inner",
		[2]string{"Chart.yaml", "{apiVersion: v2, name: inner, version: 1.0.0}"},
		[2]string{"crds/x.yaml", "kind: Inner\n"})
	outer := packed(t, "outer",
		[2]string{"Chart.yaml", "{apiVersion: v2, name: outer, version: 2.1.0}"},
		[2]string{"templates/x.yaml", "kind: Outer{{ .Values.size }}\n"},
		[2]string{"charts/inner-1.0.0.tgz", string(inner)})
	tree := fstest.MapFS{
		"shop/Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0, dependencies: " +
			"[{name: outer, version: ^2.0.0, repository: 'https://charts.example.com', alias: other}]}")},
		"shop/values.yaml":            {Data: []byte("other: {size: 1}")},
		"shop/charts/outer-2.1.0.tgz": {Data: outer},
	}
	objects, err := helm.Render(tree, "shop", helm.Release{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.File+": "+strings.TrimSpace(string(o.YAML)))
	}
	want := []string{"shop/charts/outer-2.1.0.tgz: kind: Inner", "shop/charts/outer-2.1.0.tgz: kind: Outer1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	files, err := helm.Files(tree, "shop")
	if want := []string{"shop/Chart.yaml", "shop/charts/outer-2.1.0.tgz", "shop/values.yaml"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("the files are %q, %v", files, err)
	}
}

// TestHostileArchives: names that leave the archive, and an archive that is none, are errors.
func TestHostileArchives(t *testing.T) {
	for name, content := range map[string][]byte{
		"a name that leaves": packed(t, "outer", [2]string{"../../Chart.yaml", "{apiVersion: v2, name: outer, version: 1.0.0}"}),
		"not an archive":     []byte("apiVersion: v2"),
		"cut off":            packed(t, "outer", [2]string{"Chart.yaml", "{apiVersion: v2, name: outer, version: 1.0.0}"})[:40],
	} {
		tree := fstest.MapFS{
			"Chart.yaml":       {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")},
			"charts/outer.tgz": {Data: content},
		}
		if objects, err := helm.Render(tree, ".", helm.Release{}); err == nil {
			t.Errorf("%s: rendered %v", name, objects)
		}
	}
}
