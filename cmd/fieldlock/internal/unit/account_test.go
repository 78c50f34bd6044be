package unit

import (
	"strings"
	"testing"
)

// TestAccount: changes that a careless condition would leave out of the comparison.
func TestAccount(t *testing.T) {
	two := object("a", "one") + "---\n" + object("b", "one")
	lacking := files{"prod/kustomization.yaml": "resources: [a.yaml, 'https://example.com/a//b?ref=v1']\n", "prod/a.yaml": two}
	ring := files{
		"x/y.yaml": fluxUnit("kustomize", "Kustomization", "y", "path: ./y, prune: true, "+gitSource),
		"y/x.yaml": fluxUnit("kustomize", "Kustomization", "x", "path: ./x, prune: true, "+gitSource),
		"y/a.yaml": object("a", "one"),
	}
	incomplete := files{"ks.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: patch}\nspec: {interval: 1h}\n", "a.yaml": object("a", "one")}
	asking := func(from string) files {
		return files{"apps.yaml": fluxUnit("kustomize", "Kustomization", "apps", "path: ./apps, prune: true, "+gitSource+", postBuild: {substituteFrom: [{kind: ConfigMap, name: "+from+"}]}"),
			"vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {V: one}\n", "apps/a.yaml": object("a", "${V:=two}")}
	}
	set := func(generator, url string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: sets, namespace: argocd}\nspec:\n  generators: [" + generator + "]\n" +
			"  template:\n    metadata: {name: '{{name}}'}\n    spec:\n      project: default\n" +
			"      source: {repoURL: '" + url + "', targetRevision: HEAD, path: apps}\n" +
			"      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
	}
	clusters := files{"set.yaml": set("{clusters: {}}", "{{repo}}"), "apps/a.yaml": object("a", "one")}
	read := files{"set.yaml": set("{git: {repoURL: 'https://example.com/deploy.git', revision: HEAD, files: [{path: cfg/*.yaml}]}}", "https://example.com/deploy.git"),
		"cfg/a.yaml": object("c", "one") + "name: x\n", "apps/a.yaml": object("a", "one")}
	compareEach(t, []update{
		{name: "an object that goes beside a part that the tree lacks", reason: "nothing that decides about the part changes", old: lacking, new: lacking.with("prod/a.yaml", object("a", "one")), want: `
			- ConfigMap b of kustomization prod
			= ConfigMap a of kustomization prod
			unit kustomization prod`},
		{name: "a file beside one that is excluded", old: files{"a.yaml": object("a", "one"), "out.yaml": object("o", "one")}, new: files{"a.yaml": object("a", "two"), "out.yaml": object("o", "two")},
			options: Options{Exclude: func(name string) bool { return strings.HasPrefix(name, "out") }}, want: `
			? file out.yaml: exclude in the settings leaves it out
			~ ConfigMap a of a.yaml`},
		{name: "two units that read each other", reason: "the circle is taken as it is written", old: ring, new: ring.with("y/a.yaml", object("a", "two")), want: `
			= Kustomization flux-system/x of Flux Kustomization flux-system/y
			unit Flux Kustomization flux-system/y
			~ ConfigMap a of Flux Kustomization flux-system/y`},
		{name: "beside an incomplete definition", reason: "it defines no unit", old: incomplete, new: incomplete.with("a.yaml", object("a", "two")), want: `
			~ ConfigMap a of a.yaml`},
		{name: "another object to refer to", reason: "the old reference is gone", old: asking("vars"), new: asking("others"), want: `
			unit Flux Kustomization flux-system/apps
			~ ConfigMap a of Flux Kustomization flux-system/apps
			~ Kustomization flux-system/apps of apps.yaml`},
		{name: "a file that applications of clusters may read", reason: "their repository is a parameter", old: clusters, new: clusters.with("apps/a.yaml", object("a", "two")), want: `
			? ApplicationSet argocd/sets: the generator clusters asks a cluster or a service
			~ ConfigMap a of apps/a.yaml`},
		{name: "a file that a generator reads", reason: "somebody may apply it", old: read, new: read.with("cfg/a.yaml", object("c", "two")+"name: x\n"), want: `
			= Application argocd/x of ApplicationSet argocd/sets
			unit ApplicationSet argocd/sets
			~ ConfigMap c of cfg/a.yaml`},
	})
}
