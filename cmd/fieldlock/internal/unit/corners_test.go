package unit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch"
)

// inNamespace is a ConfigMap with a namespace.
func inNamespace(namespace, value string) string {
	return strings.Replace(object("a", value), "name: a}", "name: a, namespace: "+namespace+"}", 1)
}

// TestNamespacesOfPredecessors: an object of another namespace is another object, but a file may leave the namespace to
// whoever applies it.
func TestNamespacesOfPredecessors(t *testing.T) {
	compareEach(t, []update{
		{name: "another namespace", old: files{"old/a.yaml": inNamespace("one", "one")}, new: files{"new/a.yaml": inNamespace("two", "two")}, paths: []string{"new"}, want: `
			+ ConfigMap two/a of new/a.yaml`},
		{name: "the same namespace", old: files{"old/a.yaml": inNamespace("two", "one")}, new: files{"new/a.yaml": inNamespace("two", "two")}, paths: []string{"new"}, want: `
			+ ConfigMap two/a of new/a.yaml
			- ConfigMap two/a of old/a.yaml`},
		{name: "none in OLD", old: files{"old/a.yaml": object("a", "one")}, new: files{"new/a.yaml": inNamespace("two", "two")}, paths: []string{"new"}, want: `
			+ ConfigMap two/a of new/a.yaml
			- ConfigMap a of old/a.yaml`},
		{name: "none in NEW", old: files{"old/a.yaml": inNamespace("one", "one")}, new: files{"new/a.yaml": object("a", "two")}, paths: []string{"new"}, want: `
			+ ConfigMap a of new/a.yaml
			- ConfigMap one/a of old/a.yaml`},
		{name: "one that the paths have, and another namespace", old: files{"new/a.yaml": inNamespace("one", "one"), "old/a.yaml": inNamespace("two", "one")},
			new: files{"new/a.yaml": inNamespace("one", "one"), "new/b.yaml": inNamespace("two", "two")}, paths: []string{"new"}, want: `
			+ ConfigMap two/a of new/b.yaml
			- ConfigMap two/a of old/a.yaml`},
	})
}

// TestHiddenInOldOnly: a manifest in a hidden directory may have been deployed, so its removal may be one of its
// objects.
func TestHiddenInOldOnly(t *testing.T) {
	compareEach(t, []update{
		{name: "removed", old: overlay.with(".hidden/h.yaml", object("h", "one")), new: overlay, want: `
			? file .hidden/h.yaml: it is in a hidden directory, and no unit reads it`},
		{name: "emptied", old: overlay.with(".hidden/h.yaml", object("h", "one")), new: overlay.with(".hidden/h.yaml", "a: b\n"), want: `
			? file .hidden/h.yaml: it is in a hidden directory, and no unit reads it`},
		{name: "no manifest on either side", old: overlay.with(".hidden/h.yaml", "a: b\n"), new: overlay, want: ""},
	})
}

// TestUpgradesBesideInstallations: an object that upgrades print as installations do is judged once, on both sides.
func TestUpgradesBesideInstallations(t *testing.T) {
	const byUpgrade = "{{ if .Release.IsUpgrade }}two{{ else }}one{{ end }}"
	two := func(a, b string) files {
		return chart.with("shop/templates/a.yaml", object("a", a), "shop/templates/b.yaml", object("b", b))
	}
	compareEach(t, []update{
		{name: "one of two differs", old: two("one", "one"), new: two(byUpgrade, "one"), want: `
			= ConfigMap a of chart shop
			= ConfigMap b of chart shop
			unit chart shop
			~ ConfigMap a of chart shop as an upgrade`},
		{name: "both change", reason: "the other one is judged as it is installed", old: two("one", "one"), new: two(byUpgrade, "two"), want: `
			= ConfigMap a of chart shop
			unit chart shop
			~ ConfigMap a of chart shop as an upgrade
			~ ConfigMap b of chart shop`},
		{name: "only OLD differs", reason: "what an upgrade has stored changes", old: two(byUpgrade, "one"), new: two("one", "one"), want: `
			= ConfigMap a of chart shop
			= ConfigMap b of chart shop
			unit chart shop
			~ ConfigMap a of chart shop as an upgrade`},
	})
}

// TestGeneratorsOfOtherRepositories: what such a generator finds is not in the tree, so the whole set is not covered.
func TestGeneratorsOfOtherRepositories(t *testing.T) {
	set := func(generators, project string) files {
		return files{"set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: sets, namespace: argocd}\nspec:\n" +
			"  generators: [" + generators + "]\n" +
			"  template:\n    metadata: {name: '{{path.basename}}'}\n    spec:\n      project: " + project + "\n" +
			"      source: {repoURL: 'https://example.com/deploy.git', targetRevision: HEAD, path: '{{path}}'}\n" +
			"      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n", "sets/a/a.yaml": object("a", "one")}
	}
	git := func(url string) string {
		return "{git: {repoURL: 'https://" + url + "', revision: HEAD, directories: [{path: sets/*}]}}"
	}
	const own, other = "example.com/deploy.git", "example.org/other.git"
	ofTree := Options{InTree: func(url string) bool { return url == "https://"+own }}
	compareEach(t, []update{
		{name: "of another repository", options: ofTree, old: set(git(own)+", "+git(other), "default"), new: set(git(own)+", "+git(other), "next"), want: `
			? ApplicationSet argocd/sets: a generator reads the repository https://example.org/other.git
			~ ApplicationSet argocd/sets of set.yaml`},
		{name: "of this one", options: ofTree, old: set(git(own), "default"), new: set(git(own), "next"), want: `
			= ConfigMap a of Application argocd/a
			unit Application argocd/a
			unit ApplicationSet argocd/sets
			~ Application argocd/a of ApplicationSet argocd/sets
			~ ApplicationSet argocd/sets of set.yaml`},
	})
}

// TestUnitLimit: a change of a definition beyond the limit is an error, and what does not change is none.
func TestUnitLimit(t *testing.T) {
	tree := func(last string) files {
		var definitions strings.Builder
		for i := range maxUnits {
			definitions.WriteString("---\n" + argoUnit(fmt.Sprintf("app-%04d", i), "path: app"))
		}
		return files{"apps.yaml": definitions.String(), "z/last.yaml": argoUnit("last", "path: "+last), "app/a.yaml": object("a", "one"), "next/a.yaml": object("a", "one")}
	}
	compareEach(t, []update{
		{name: "the last one changes", old: tree("app"), new: tree("next"), want: `
			error z/last.yaml: Application argocd/last cannot be rendered: the tree has more than 5000 units, and no more are read
			~ Application argocd/last of z/last.yaml`},
		{name: "another file changes", old: tree("app").with("b.yaml", object("b", "one")), new: tree("app").with("b.yaml", object("b", "two")), want: `
			~ ConfigMap b of b.yaml`},
	})
}

// TestChartThatCannotBeFetched: a release without its chart is not covered, and asking for a path outside of the tree
// ends.
func TestChartThatCannotBeFetched(t *testing.T) {
	release := func(value string) files {
		return files{
			"release.yaml": fluxUnit("helm", "HelmRelease", "shop", "chartRef: {kind: OCIRepository, name: shop}, values: {v: "+value+"}"),
			"source.yaml":  fluxUnit("source", "OCIRepository", "shop", "url: 'oci://example.com/shop', secretRef: {name: s}"),
		}
	}
	compareEach(t, []update{{name: "credentials", options: Options{Fetch: fetch.New("")}, old: release("one"), new: release("two"), want: `
		? HelmRelease flux-system/shop: the OCIRepository shop needs credentials (secretRef), which fieldlock does not read
		~ HelmRelease flux-system/shop of release.yaml`}})
	for _, name := range []string{"/", "/a/b", "//a/b", "../a", ""} {
		if id := submoduleOf(overlay.tree(t), name); id != "" {
			t.Errorf("%q is in a submodule, %s", name, id)
		}
	}
}
