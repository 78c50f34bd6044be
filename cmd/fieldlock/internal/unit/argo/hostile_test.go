package argo_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/argo"
)

// TestHostile: what would cost too much, or makes no sense, is an error at once.
func TestHostile(t *testing.T) {
	tree := fstest.MapFS{
		"shop/Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")},
		"dir/x.yaml":      {Data: []byte("{kind: X}")},
	}
	long := strings.Repeat("{a,", 1000)
	many := make([]any, 1001)
	for i := range many {
		many[i] = "**/x.yaml"
	}
	for name, c := range map[string]struct {
		source map[string]any
		want   string
	}{
		"files of values": {map[string]any{"path": "shop", "helm": map[string]any{"valueFiles": many}}, "1001 files of values"},
		"a pattern of values": {
			map[string]any{"path": "shop", "helm": map[string]any{"valueFiles": []any{long + "*"}}}, "more than 1000 characters",
		},
		"a pattern of manifests": {map[string]any{"path": "dir", "directory": map[string]any{"include": long}}, "more than 1000 characters"},
		"a number as a path":     {map[string]any{"path": 1}, "not an Application"},
		"a broken pattern": {
			map[string]any{"path": "dir", "directory": map[string]any{"recurse": true, "include": "[a"}}, "include: ",
		},
		"changes of a kustomization that is not there": {
			map[string]any{"path": "dir", "kustomize": map[string]any{"namePrefix": "x"}}, "there is no kustomization file",
		},
	} {
		app, err := argo.ParseApplication(map[string]any{
			"metadata": map[string]any{"name": "app"}, "spec": map[string]any{"source": c.source},
		})
		if err == nil {
			app.Sources[0].InTree = true
			_, err = app.Render(t.Context(), tree, 0, argo.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}

// TestHostileSets: the same for ApplicationSets.
func TestHostileSets(t *testing.T) {
	nested := map[string]any{"list": map[string]any{"elements": []any{map[string]any{"a": "b"}}}}
	for range 10 {
		nested = map[string]any{"matrix": map[string]any{"generators": []any{nested, nested}}}
	}
	list := map[string]any{"list": map[string]any{"elements": []any{map[string]any{"a": "b"}}}}
	for name, c := range map[string]struct {
		spec map[string]any
		want string
	}{
		"generators in each other": {map[string]any{"generators": []any{nested}}, "more than 8 generators"},
		"a long text": {
			map[string]any{
				"goTemplate": true, "generators": []any{list},
				"template": map[string]any{"metadata": map[string]any{"name": `{{ range until 100000 }}{{ repeat 1000 "x" }}{{ end }}`}},
			}, "too long",
		},
		"an option that does not exist": {
			map[string]any{
				"goTemplate": true, "goTemplateOptions": []any{"missingkey=never"}, "generators": []any{list},
				"template": map[string]any{"metadata": map[string]any{"name": "{{ .a }}"}},
			}, "missingkey=never",
		},
		"a template that includes itself": {
			map[string]any{
				"goTemplate": true, "generators": []any{list},
				"template": map[string]any{"metadata": map[string]any{"name": `{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`}},
			}, "maximum template depth",
		},
	} {
		_, err := argo.Generate(map[string]any{"metadata": map[string]any{"name": "set"}, "spec": c.spec},
			func(_, _ string) (fs.FS, error) { return fstest.MapFS{}, nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}
