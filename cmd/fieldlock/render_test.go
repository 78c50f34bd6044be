package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// deployment is a Deployment without a namespace.
const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" +
	"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}\n"

// tree is a repository with an overlay, a chart, and a file of its own.
func tree() map[string]string {
	return map[string]string{
		"base/kustomization.yaml":             "resources: [web.yaml]\n",
		"base/web.yaml":                       "# the workload\n" + deployment,
		"overlays/prod/kustomization.yaml":    "resources: [../../base]\nnamePrefix: prod-\n",
		"charts/shop/Chart.yaml":              "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"charts/shop/values.yaml":             "color: blue\n",
		"charts/shop/ci/red-values.yaml":      "color: red\n",
		"charts/shop/templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  color: {{ .Values.color }}\n",
		"plain.yaml":                          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n",
	}
}

// TestRender: the units of a repository, and where their objects are written.
func TestRender(t *testing.T) {
	repositoryOf(t, tree(), map[string]string{"overlays/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: live-\n"})
	for _, c := range []struct {
		name, reason string
		args         []string
		want         []string // lines that begin with "# " and names, in this order
	}{
		{"all", "a base is part of the overlay that includes it", nil, []string{
			"# unit: kustomization overlays/prod", "# source: base/web.yaml:2", "name: live-web",
			"# unit: chart charts/shop", "# source: charts/shop/templates/settings.yaml:1", "color: blue",
			"# unit: chart charts/shop with ci/red-values.yaml", "# source: charts/shop/templates/settings.yaml:1", "color: red",
			"# unit: files", "# source: plain.yaml:1", "name: plain"}},
		{"a base", "it is a kustomization by itself", []string{"base"}, []string{"# unit: kustomization base", "# source: base/web.yaml:2", "name: web"}},
		{"a revision", "", []string{"--git", "HEAD", "overlays/prod"}, []string{"# unit: kustomization overlays/prod", "# source: base/web.yaml:2", "name: prod-web"}},
		{"a file of a unit", "the units that read it", []string{"base/web.yaml"}, []string{"# unit: kustomization overlays/prod", "# source: base/web.yaml:2", "name: live-web"}},
	} {
		got := runCommand("", append([]string{"render"}, c.args...)...)
		if got.status != exitClean || got.err != "" {
			t.Errorf("%s: status %d\n%s", c.name, got.status, got.err)
		}
		rest := got.out
		for _, line := range c.want {
			_, after, ok := strings.Cut(rest, line+"\n")
			if !ok {
				t.Errorf("%s: %s: no %q in\n%s", c.name, c.reason, line, rest)
			}
			rest = after
		}
		if strings.Contains(rest, "# unit") {
			t.Errorf("%s: more than that:\n%s", c.name, rest)
		}
	}
}

// TestRenderRoot: the chart at the root of a repository is printed alone if it is named, with the version of Kubernetes
// as Helm writes it.
func TestRenderRoot(t *testing.T) {
	repositoryOf(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "plain.yaml": tree()["plain.yaml"],
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {minor: {{ .Capabilities.KubeVersion }}}\n"}, nil)
	for arg, files := range map[string]bool{"": true, ".": false} {
		got := runCommand("", append([]string{"render", "--kubernetes-version", "1.36"}, strings.Fields(arg)...)...)
		if strings.Contains(got.out, "# unit: files") != files || !strings.Contains(got.out, "minor: v1.36.0}") {
			t.Errorf("render %s: %s%s", arg, got.out, got.err)
		}
	}
}

// TestRenderJSON: what is not covered, and mistakes, are part of the document; the rest is rendered.
func TestRenderJSON(t *testing.T) {
	files := tree()
	files["remote/kustomization.yaml"] = "resources:\n- https://example.com/base.yaml\n"
	files["hack/template.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Name }}}\n"
	files["broken/kustomization.yaml"] = "resources: [missing.yaml]\n"
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: b}\nspec:\n  chart: {spec: {chart: a, "
	files["flux/kustomization.yaml"] = "resources: [release.yaml]\npatches:\n- path: patch.yaml\n" // a patch defines nothing
	files["flux/release.yaml"] = release + "sourceRef: {kind: HelmRepository, name: c}}}\n"
	files["flux/patch.yaml"] = release + "version: '1'}}\n"
	repositoryOf(t, files, nil)
	got := runCommand("", "render", "-o", "json")
	var d struct {
		Units []struct {
			Unit, Kind string
			Objects    []struct {
				File string
				Line int
			}
		}
		NotCovered []struct {
			Unit, File, Reason string
			Line               int
		}
		Errors []string
	}
	if err := json.Unmarshal([]byte(got.out), &d); err != nil {
		t.Fatalf("%v:\n%s", err, got.out)
	}
	if len(d.Units) != 6 || len(d.NotCovered) != 3 || d.NotCovered[0].Unit != "remote" || d.NotCovered[0].Line != 2 ||
		d.NotCovered[1].File != "flux/release.yaml" || d.NotCovered[2].Reason != "it is a template, not YAML" || len(d.Errors) != 1 {
		t.Errorf("%s", got.out)
	}
	if got.status != exitUnread || !strings.Contains(got.err, "broken/kustomization.yaml:1: kustomization broken cannot be rendered: missing.yaml") {
		t.Errorf("status %d:\n%s", got.status, got.err)
	}
}
