package helm_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

// TestCharts: libraries and the charts in other charts are not units; a Chart.yaml that cannot be read is one.
func TestCharts(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"Chart.yaml":                           "{apiVersion: v2, name: root, version: 1.0.0}",
		"charts/part/Chart.yaml":               "{apiVersion: v2, name: part, version: 1.0.0}",
		"charts/part/charts/deeper/Chart.yaml": "{apiVersion: v2, name: deeper, version: 1.0.0}",
		"other/charts/unit/Chart.yaml":         "{apiVersion: v2, name: unit, version: 1.0.0, type: application}",
		"other/charts/unit/ci/b-values.yaml":   "",
		"other/charts/unit/ci/a-values.yaml":   "",
		"other/charts/unit/ci/values.txt":      "",
		"other/charts/unit/ci/values-c.yaml":   "",
		"other/charts/unit/values.yaml":        "",
		"other/charts/unit/values-prod.yaml":   "",
		"other/charts/unit/values.dev.yaml":    "",
		"other/charts/unit/test-values.yaml":   "",
		"other/charts/unit/values.schema.json": "",
		"other/library/Chart.yaml":             "{apiVersion: v2, name: library, version: 1.0.0, type: library}",
		"other/broken/Chart.yaml":              "name: {{ .Name }}",
		".git/Chart.yaml":                      "{apiVersion: v2, name: git, version: 1.0.0}",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	charts, err := helm.Charts(tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range charts {
		got = append(got, fmt.Sprint(c.Dir, c.Variants))
	}
	unit := "other/charts/unit/"
	want := []string{".[]", "other/broken[]", "other/charts/unit[" + strings.Join([]string{
		unit + "ci/a-values.yaml", unit + "ci/b-values.yaml", unit + "test-values.yaml", unit + "values-prod.yaml", unit + "values.dev.yaml",
	}, " ") + "]"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestSizes: what is too large is an error before anything is rendered.
func TestSizes(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 101 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	chart := "{apiVersion: v2, name: shop, version: 1.0.0}"
	for name, c := range map[string]struct {
		tree    map[string]string
		release helm.Release
		want    string
	}{
		"values of the chart": {
			map[string]string{"values.yaml": "a: " + strings.Repeat("x", 10<<20)}, helm.Release{}, "values.yaml is larger than 10 MiB",
		},
		"another file of values": {
			map[string]string{"env.yaml": "a: " + strings.Repeat("x", 10<<20)},
			helm.Release{ValuesFiles: []string{"env.yaml"}}, "env.yaml is larger than 10 MiB",
		},
		"an archive that unpacks to more": {map[string]string{"charts/bomb.tgz": bomb.String()}, helm.Release{}, "more than 100 MiB"},
	} {
		tree := fstest.MapFS{"Chart.yaml": &fstest.MapFile{Data: []byte(chart)}}
		for name, text := range c.tree {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, err := helm.Render(tree, ".", c.release); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}
