package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAppliersOfUnits: the unit says who applies its objects, whether it replaces them, and whether it deletes what is gone.
func TestAppliersOfUnits(t *testing.T) {
	const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	deployment := func(strategy, label string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  selector: {matchLabels: {app: " + label + "}}\n" + strategy +
			"  template: {metadata: {labels: {app: " + label + "}}, spec: {containers: [{name: web, image: web}]}}\n"
	}
	flux := func(options string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, path: ./shop, sourceRef: {kind: GitRepository, name: flux-system}, " + options + "}\n"
	}
	argo := func(options string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n" +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}, syncPolicy: {" + options + "}}\n"
	}
	const recreate = "  strategy: {type: Recreate}\n"
	for _, row := range []struct {
		name, oldUnit, newUnit string
		newObjects             string
		flags                  []string
		status                 int
		want                   string
	}{
		{"Flux", flux("prune: true"), flux("prune: true"), deployment(recreate, "web") + claim, nil, 1, "may not be specified when strategy"},
		{"Argo CD", argo(""), argo(""), deployment(recreate, "web") + claim, nil, 0, "no refused change"},
		{"Argo CD, server-side", argo("syncOptions: [ServerSideApply=true]"), argo("syncOptions: [ServerSideApply=true]"), deployment(recreate, "web") + claim, nil, 1, "may not be specified when strategy"},
		{"Argo CD, Replace", argo("syncOptions: [Replace=true]"), argo("syncOptions: [Replace=true]"), deployment(recreate, "web") + claim, nil, 0, "no refused change"},
		{"a flag", argo(""), argo(""), deployment(recreate, "web") + claim, []string{"--applier", "server-side"}, 1, "may not be specified when strategy"},
		{"Flux replaces", flux("prune: true, force: true"), flux("prune: true, force: true"), deployment("", "other") + claim, nil, 0, "not counted"},
		{"the change makes Flux replace", flux("prune: true"), flux("prune: true, force: true"), deployment("", "other") + claim, nil, 1, "field is immutable"},
		{"Flux prunes", flux("prune: true"), flux("prune: true"), deployment("", "web"), []string{"--refuse-deletions", "data"}, 1, "deletions of cost data are refused"},
		{"Flux does not prune", flux("prune: false"), flux("prune: false"), deployment("", "web"), []string{"--refuse-deletions", "data"}, 0, "its tool does not prune"},
		{"Argo CD does not prune", argo("automated: {}"), argo("automated: {}"), deployment("", "web"), []string{"--refuse-deletions", "data"}, 0, "its tool does not prune"},
		{"Argo CD prunes", argo("automated: {prune: true}"), argo("automated: {prune: true}"), deployment("", "web"), []string{"--refuse-deletions", "data"}, 1, "deletions of cost data are refused"},
	} {
		dir := writeFiles(t, map[string]string{
			"old/unit.yaml": row.oldUnit, "old/shop/objects.yaml": deployment("", "web") + claim,
			"new/unit.yaml": row.newUnit, "new/shop/objects.yaml": row.newObjects,
		})
		c := runCommand("", append([]string{"check", filepath.Join(dir, "old"), filepath.Join(dir, "new")}, row.flags...)...)
		if c.status != row.status || !strings.Contains(c.out, row.want) {
			t.Errorf("%s: status %d, want %d with %q:\n%s%s", row.name, c.status, row.status, row.want, c.out, c.err)
		}
	}
}
