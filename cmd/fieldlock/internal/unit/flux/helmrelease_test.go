package flux_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

var updateReleases = flag.Bool("update-releases", false, "write what is rendered into the cases of testdata/helmrelease")

// TestHelmRelease renders the HelmRelease of each case. A case is a tree and, in files that are not part of it: release.yaml,
// the HelmRelease; objects.yaml, a list of the ConfigMaps and Secrets of the tree; want, the objects with their files, roles and
// what is unknown, or the error; and files, what rendering reads. The tree is the GitRepository of the name "repo".
func TestHelmRelease(t *testing.T) {
	cases, err := filepath.Glob("testdata/helmrelease/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree, special := fstest.MapFS{}, map[string][]byte{}
			for _, f := range archive.Files {
				switch f.Name {
				case "release.yaml", "objects.yaml", "want", "files":
					special[f.Name] = f.Data
				default:
					tree[f.Name] = &fstest.MapFile{Data: f.Data}
				}
			}
			got := renderRelease(t, tree, special)
			for i, f := range archive.Files {
				if text, ok := got[f.Name]; ok && text != string(f.Data) {
					archive.Files[i].Data = []byte(text)
					if !*updateReleases {
						t.Errorf("%s:\n%s\nwant:\n%s", f.Name, text, f.Data)
					}
				}
			}
			if _, ok := special["want"]; !ok {
				t.Errorf("the case has no want; it is:\n%s", got["want"])
			}
			if *updateReleases {
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func renderRelease(t *testing.T, tree fstest.MapFS, special map[string][]byte) map[string]string {
	var object map[string]any
	var known []map[string]any
	if err := errors.Join(
		yaml.UnmarshalStrict(special["release.yaml"], &object), yaml.UnmarshalStrict(special["objects.yaml"], &known),
	); err != nil {
		t.Fatal(err)
	}
	object["apiVersion"], object["kind"] = "helm.toolkit.fluxcd.io/v2", "HelmRelease"
	h, err := flux.ParseHelmRelease(object)
	if err != nil {
		return map[string]string{"want": fmt.Sprintf("error: %v\n", err)}
	}
	h.InTree = h.Source.Kind == "GitRepository" && h.Source.Name == "repo"
	lookup := func(kind, namespace, name string) (map[string]any, bool) {
		for _, o := range known {
			m := o["metadata"].(map[string]any)
			if o["kind"] == kind && m["namespace"] == namespace && m["name"] == name {
				return o, true
			}
		}
		return nil, false
	}
	got := map[string]string{}
	files, err := h.Files(tree)
	if err == nil {
		got["files"] = strings.Join(append(files, ""), "\n")
	}
	var b strings.Builder
	objects, err := h.Build(t.Context(), tree, lookup, rendered.Cluster{KubeVersion: "1.36"})
	if missing, ok := errors.AsType[*rendered.NotCovered](err); ok {
		fmt.Fprintf(&b, "not covered: %s\n", missing.Reason)
	} else if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	for _, o := range objects {
		fmt.Fprintf(&b, "--- %s %s\n", o.File, o.Role)
		if o.Unknown != nil {
			fmt.Fprintf(&b, "# unknown: %q\n", o.Unknown)
		}
		fmt.Fprintln(&b, strings.TrimSpace(string(o.YAML)))
	}
	got["want"] = b.String()
	return got
}

// TestReleaseNames: a release is named after its namespace and object, and Helm's limit shortens it.
func TestReleaseNames(t *testing.T) {
	source := map[string]any{"kind": "GitRepository", "name": "repo"}
	for _, c := range []struct {
		spec                       map[string]any
		name, namespace, storageIn string
	}{
		{map[string]any{}, "app", "own", "own"},
		{map[string]any{"targetNamespace": "prod"}, "prod-app", "prod", "own"},
		{map[string]any{"targetNamespace": "prod", "releaseName": "r", "storageNamespace": "flux-system"}, "r", "prod", "flux-system"},
		// The hash is that of sha256sum.
		{
			map[string]any{"releaseName": strings.Repeat("a", 54)},
			strings.Repeat("a", 40) + "-a3f01b693925", "own", "own",
		},
		{map[string]any{"releaseName": strings.Repeat("a", 53)}, strings.Repeat("a", 53), "own", "own"},
	} {
		c.spec["chart"] = map[string]any{"spec": map[string]any{"chart": "./charts/../../shop", "sourceRef": source}}
		h, err := flux.ParseHelmRelease(map[string]any{
			"apiVersion": "helm.toolkit.fluxcd.io/v2beta1", "kind": "HelmRelease",
			"metadata": map[string]any{"name": "app", "namespace": "own"}, "spec": c.spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		if h.Release != c.name || h.ReleaseNamespace != c.namespace || h.StorageNamespace != c.storageIn {
			t.Errorf("%v: %s in %s, kept in %s; want %s, %s, %s",
				c.spec, h.Release, h.ReleaseNamespace, h.StorageNamespace, c.name, c.namespace, c.storageIn)
		}
		if want := (flux.Reference{Kind: "GitRepository", Namespace: "own", Name: "repo"}); h.Source != want || h.Chart != "shop" {
			t.Errorf("the chart is %s of %v", h.Chart, h.Source)
		}
	}
}

// TestHelmChart: a release that refers to a HelmChart takes its chart and source from there.
func TestHelmChart(t *testing.T) {
	h, err := flux.ParseHelmRelease(map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "app", "namespace": "own"},
		"spec": map[string]any{"chartRef": map[string]any{"kind": "HelmChart", "name": "shop", "namespace": "charts"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (flux.Reference{Kind: "HelmChart", Namespace: "charts", Name: "shop"}); h.Source != want {
		t.Errorf("the source is %v", h.Source)
	}
	err = h.UseChart(map[string]any{"spec": map[string]any{
		"chart": "./shop", "sourceRef": map[string]any{"kind": "GitRepository", "name": "repo"},
	}})
	want := flux.Reference{Kind: "GitRepository", Namespace: "charts", Name: "repo"}
	if err != nil || h.Source != want || h.Chart != "shop" {
		t.Errorf("the chart is %s of %v, %v", h.Chart, h.Source, err)
	}
}

func ExampleHelmRelease_Build() {
	tree := fstest.MapFS{
		"charts/shop/Chart.yaml":           {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")},
		"charts/shop/templates/color.yaml": {Data: []byte("kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-{{ .Values.color }}}\n")},
	}
	var object map[string]any
	err := yaml.Unmarshal([]byte(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: web}
spec:
  chart: {spec: {chart: ./charts/shop, sourceRef: {kind: GitRepository, name: flux-system}}}
  values: {color: blue}
`), &object)
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := flux.ParseHelmRelease(object)
	if err != nil {
		fmt.Println(err)
		return
	}
	h.InTree = true // since the GitRepository flux-system is this repository
	objects, err := h.Build(context.Background(), tree, nil, rendered.Cluster{})
	for _, o := range objects {
		fmt.Printf("# %s\n%s", o.File, bytes.TrimSuffix(o.YAML, []byte("\n")))
	}
	fmt.Println(err)
	// Output:
	// # charts/shop/templates/color.yaml
	// kind: ConfigMap
	// metadata: {name: shop-blue}
	// <nil>
}
