package unit

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch"
	"github.com/fieldlock/fieldlock/internal/settings"
)

// Each chapter of the package has a test here of what it adds to a comparison. The tests of the command try what users
// see of it.

var overlay = files{"prod/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: x-\n", "prod/a.yaml": object("a", "one"), "other.yaml": object("b", "one")}

// TestUnitsOfBothSides: compare.go pairs units, and renders what differs.
func TestUnitsOfBothSides(t *testing.T) {
	remote := func(version, value string) files {
		return overlay.with("prod/kustomization.yaml", "resources: [a.yaml, 'https://example.com/a//b?ref="+version+"']\n", "prod/a.yaml", object("a", value))
	}
	broken := func(resource string) files {
		return overlay.with("prod/kustomization.yaml", "resources: ["+resource+"]\n")
	}
	compareEach(t, []update{
		{name: "another file", reason: "the unit is as before", old: overlay, new: overlay.with("README.md", "x")},
		{name: "a file of a unit", old: overlay, new: overlay.with("prod/a.yaml", object("a", "two")), want: `
			unit kustomization prod
			~ ConfigMap x-a of kustomization prod`},
		{name: "a unit that is gone", reason: "its file counts as written, and its objects go", old: overlay, new: overlay.with("prod/kustomization.yaml", ""), want: `
			+ ConfigMap a of prod/a.yaml
			- ConfigMap x-a of kustomization prod
			unit kustomization prod`},
		{name: "a new unit", reason: "it excuses no file", old: overlay.with("prod/kustomization.yaml", ""), new: overlay.with("prod/a.yaml", object("a", "two")), want: `
			+ ConfigMap x-a of kustomization prod
			unit kustomization prod
			~ ConfigMap a of prod/a.yaml`},
		{name: "a mistake in NEW", old: overlay, new: broken("none.yaml"), want: `
			error prod/kustomization.yaml:1: kustomization prod cannot be rendered: none.yaml: no such file or directory`},
		{name: "a mistake in both", reason: "no tool has applied it", old: broken("1"), new: broken("2"), want: `
			? kustomization prod: invalid Kustomization: json: cannot unmarshal number into Go struct field Kustomization.resources of type string`},
		{name: "a mistake in OLD", old: broken("1"), new: overlay, want: `
			? kustomization prod: there is nothing to compare with, since OLD cannot be rendered: invalid Kustomization: json: cannot unmarshal number into Go struct field Kustomization.resources of type string`},
		{name: "a part that the tree lacks", reason: "it may have changed", old: remote("v1", "one"), new: remote("v2", "two"), want: `
			? kustomization prod: https://example.com/a//b?ref=v2 is not in this repository; the rest of it was checked
			unit kustomization prod
			~ ConfigMap a of kustomization prod`},
		{name: "beside a part that the tree lacks", reason: "nothing that decides about the part changes", old: remote("v1", "one"), new: remote("v1", "two"), want: `
			unit kustomization prod
			~ ConfigMap a of kustomization prod`},
		{name: "a new unit that lacks a part", reason: "creates need no rules", old: overlay.with("prod/kustomization.yaml", "", "prod/a.yaml", ""), new: remote("v1", "one"), want: `
			+ ConfigMap a of kustomization prod
			unit kustomization prod`},
		{name: "a new unit that lacks a part, in place of an object", reason: "it may hold the object", old: overlay.with("prod/kustomization.yaml", ""), new: remote("v1", "one").with("prod/a.yaml", object("other", "one")), want: `
			+ ConfigMap other of kustomization prod
			+ ConfigMap other of prod/a.yaml
			- ConfigMap a of prod/a.yaml
			? kustomization prod: https://example.com/a//b?ref=v1 is not in this repository; the rest of it was checked
			unit kustomization prod`},
	})
}

// TestKustomizations: kustomization.go finds those that no other includes.
func TestKustomizations(t *testing.T) {
	base := files{"base/kustomization.yml": "resources: [a.yaml]\n", "base/a.yaml": object("a", "one"), "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: x-\n"}
	hidden := files{".prod/kustomization.yaml": "resources: [a.yaml]\n", ".prod/a.yaml": object("a", "one")}
	compareEach(t, []update{
		{name: "a base", reason: "it is no unit", old: base, new: base.with("base/a.yaml", object("a", "two")), want: `
			unit kustomization prod
			~ ConfigMap x-a of kustomization prod`},
		{name: "a hidden directory", old: hidden, new: hidden.with(".prod/a.yaml", object("a", "two")), want: `
			? file .prod/a.yaml: it is in a hidden directory, and no unit reads it`},
		{name: "plain", reason: "files are compared as written", old: overlay, new: overlay.with("prod/a.yaml", object("a", "two")), options: Options{Plain: true}, want: `
			= <nil>  of prod/kustomization.yaml
			~ ConfigMap a of prod/a.yaml`},
	})
}

var chart = files{"shop/Chart.yaml": chartFile, "shop/values.yaml": "v: one\n", "shop/templates/a.yaml": object("a", "{{ .Values.v }}")}

// TestCharts: chart.go renders a chart once for each file of values, and for upgrades.
func TestCharts(t *testing.T) {
	template := func(value string) files { return chart.with("shop/templates/a.yaml", object("a", value)) }
	prod := func(value string) files { return chart.with("shop/values-prod.yaml", "v: "+value+"\n") }
	eu := Options{Charts: map[string][]settings.Release{"shop": {{Name: "eu", Namespace: "n", Values: []string{"shop/values.yaml"}}}}}
	compareEach(t, []update{
		{name: "values", old: chart, new: chart.with("shop/values.yaml", "v: two\n"), want: `
			unit chart shop
			~ ConfigMap a of chart shop`},
		{name: "values of an environment", old: prod("p"), new: prod("q"), want: `
			unit chart shop with values-prod.yaml
			~ ConfigMap a of chart shop with values-prod.yaml`},
		{name: "values that no release has", old: prod("p"), new: prod("q"), options: eu, want: `
			? file shop/values-prod.yaml: no rendering of the chart uses these values`},
		{name: "values that the settings name and nobody has", old: chart, new: chart.with("shop/values.yaml", ""), options: eu, want: `
			error shop/Chart.yaml: chart shop as n/eu with values.yaml cannot be rendered: the tree has no file shop/values.yaml, which the settings name as values of the chart`},
		{name: "a manifest beside the templates", reason: "it is not part of the chart", old: chart.with("shop/extra.yaml", object("e", "one")), new: chart.with("shop/extra.yaml", object("e", "two")), want: `
			~ ConfigMap e of shop/extra.yaml`},
		{name: "a library", reason: "it cannot be installed", old: template("one").with("shop/Chart.yaml", chartFile+"type: library\n"), new: template("two").with("shop/Chart.yaml", chartFile+"type: library\n"), want: `
			~ ConfigMap a of shop/templates/a.yaml`},
		{name: "a random value", reason: "it differs in each rendering", old: template("{{ randAlphaNum 9 }}"), new: template("{{ randAlphaNum 9 }} # new"), want: `
			= ConfigMap a of chart shop
			unit chart shop`},
		{name: "a random value for a fixed one", old: chart, new: template("{{ randAlphaNum 9 }}"), want: `
			unit chart shop
			~ ConfigMap a of chart shop`},
		{name: "an upgrade", reason: "an installation prints it as before", old: chart, new: template("{{ if .Release.IsUpgrade }}two{{ else }}one{{ end }}"), want: `
			= ConfigMap a of chart shop
			unit chart shop
			~ ConfigMap a of chart shop as an upgrade`},
		{name: "lookup", old: chart, new: template("one\n{{ if lookup \"v1\" \"Secret\" \"a\" \"b\" }}{{ end }}"), want: `
			= ConfigMap a of chart shop
			unit chart shop
			warning shop/templates/a.yaml: it asks the cluster with lookup, which finds nothing here; in a cluster, the template may print something else`},
	})
	for name, want := range map[string]bool{
		"shop/Chart.yaml": true, "shop/values-x.yaml": true, "shop/x-values.yaml": true, "shop/templates/a.yaml": true, "shop/ci/a-values.yaml": true,
		"shop/charts/x/a.yaml": true, "shop/crds/a.yaml": true, "shop/a.yaml": false, "shop/ci/a.yaml": false, "shop/docs/templates/a.yaml": false, "shops/values.yaml": false,
	} {
		if inChart("shop", name) != want {
			t.Errorf("%s is in the chart: %t", name, !want)
		}
	}
}

// TestExternalArtifacts: a Kustomization whose source is a copy of a directory of the tree is rendered from that
// directory. Anything else that an ArtifactGenerator makes is not covered.
func TestExternalArtifacts(t *testing.T) {
	generator := "apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: parts, namespace: flux-system}\nspec:\n" +
		"  sources: [{alias: repo, kind: GitRepository, name: flux-system}]\n" +
		"  artifacts:\n  - name: shop\n    copy: [{from: '@repo/deploy/**', to: '@artifact/parts/'}]\n"
	tree := files{
		"clusters/shop.yaml":  fluxUnit("kustomize", "Kustomization", "shop", "path: ./parts/shop, prune: true, sourceRef: {kind: ExternalArtifact, name: shop}"),
		"clusters/parts.yaml": generator, "deploy/shop/kustomization.yaml": "resources: [a.yaml, ../base]\n", "deploy/shop/a.yaml": object("a", "one"),
		"deploy/base/kustomization.yaml": "resources: [b.yaml]\n", "deploy/base/b.yaml": object("b", "one"), "other/shop/a.yaml": object("a", "three"),
	}
	with := func(replace ...string) files {
		return tree.with("clusters/parts.yaml", strings.NewReplacer(replace...).Replace(generator))
	}
	edited := func(tree files) files { return tree.with("deploy/base/b.yaml", object("b", "two")) }
	const rendered = `
			= ConfigMap a of Flux Kustomization flux-system/shop
			unit Flux Kustomization flux-system/shop
			~ ConfigMap b of Flux Kustomization flux-system/shop`
	const made = `
			= ConfigMap a of kustomization deploy/shop
			unit kustomization deploy/shop
			~ ConfigMap b of kustomization deploy/shop`
	apart := with("'@repo/deploy/**', to: '@artifact/parts/'", "'@repo/deploy/base/**', to: '@artifact/parts/base'}, {from: '@repo/deploy/shop', to: '@artifact/parts'")
	patched := with("@repo/deploy/**", "@repo/other/**").with("clusters/kustomization.yaml", "resources: [shop.yaml, parts.yaml]\npatches:\n"+
		"- patch: '[{\"op\": \"replace\", \"path\": \"/spec/artifacts/0/copy/0/from\", \"value\": \"@repo/deploy/**\"}]'\n  target: {kind: ArtifactGenerator}\n")
	const filtered = "{from: '@repo/deploy/**', exclude: [b.yaml], to: '@artifact/parts/'}"
	compareEach(t, []update{
		{name: "a file", old: tree, new: edited(tree), want: rendered},
		{name: "two copies that leave the files where they are", old: apart, new: edited(apart), want: rendered},
		{name: "a generator that a kustomization patches", old: patched, new: edited(patched), want: `
			= ConfigMap a of Flux Kustomization flux-system/shop
			= ConfigMap a of kustomization deploy/shop
			unit Flux Kustomization flux-system/shop
			unit kustomization deploy/shop
			~ ConfigMap b of Flux Kustomization flux-system/shop
			~ ConfigMap b of kustomization deploy/shop`},
		{name: "another directory", old: tree, new: with("@repo/deploy/**", "@repo/other/**"), want: `
			+ ConfigMap a of kustomization deploy/shop
			+ ConfigMap b of kustomization deploy/shop
			- ConfigMap b of Flux Kustomization flux-system/shop
			unit Flux Kustomization flux-system/shop
			unit kustomization deploy/shop
			~ ArtifactGenerator flux-system/parts of clusters/parts.yaml
			~ ConfigMap a of Flux Kustomization flux-system/shop`},
		{name: "less than the kustomization reads", old: tree, new: with("deploy/**", "deploy/shop/**", "parts/'", "parts/shop/'"), want: `
			+ ConfigMap a of kustomization deploy/shop
			+ ConfigMap b of kustomization deploy/shop
			= ConfigMap a of Flux Kustomization flux-system/shop
			= ConfigMap b of Flux Kustomization flux-system/shop
			? Flux Kustomization flux-system/shop: it reads deploy/base/b.yaml, which its ExternalArtifact does not hold
			unit kustomization deploy/shop
			~ ArtifactGenerator flux-system/parts of clusters/parts.yaml`},
		{name: "a copy with exceptions", old: with("{from: '@repo/deploy/**', to: '@artifact/parts/'}", filtered), want: made,
			new: edited(with("{from: '@repo/deploy/**', to: '@artifact/parts/'}", filtered))},
		{name: "made for each directory", old: with("name: shop", "name: '{app}'", "spec:", "spec:\n  pathPattern: '@repo/{app}'"), want: made,
			new: edited(with("name: shop", "name: '{app}'", "spec:", "spec:\n  pathPattern: '@repo/{app}'"))},
		{name: "an OCIRepository", old: with("GitRepository", "OCIRepository"), new: edited(with("GitRepository", "OCIRepository")), want: made},
	})
}

// TestFluxKustomizations: flux.go reads Flux's Kustomizations, with the variables that they set.
func TestFluxKustomizations(t *testing.T) {
	apps := fluxUnit("kustomize", "Kustomization", "apps", "path: ./apps, prune: true, "+gitSource+", postBuild: {substitute: {V: one}}")
	flux := files{"clusters/apps.yaml": apps, "apps/a.yaml": object("a", "${V}")}
	with := func(replace ...string) files {
		return flux.with("clusters/apps.yaml", strings.NewReplacer(replace...).Replace(apps))
	}
	compareEach(t, []update{
		{name: "a variable", old: flux, new: with("V: one", "V: two"), want: `
			unit Flux Kustomization flux-system/apps
			~ ConfigMap a of Flux Kustomization flux-system/apps
			~ Kustomization flux-system/apps of clusters/apps.yaml`},
		{name: "a source elsewhere", old: with("GitRepository", "Bucket"), new: with("GitRepository", "Bucket", "V: one", "V: two"), want: `
			? Flux Kustomization flux-system/apps: its source is the Bucket flux-system
			~ Kustomization flux-system/apps of clusters/apps.yaml`},
		{name: "a source elsewhere, read more often", reason: "the objects are the same", old: with("GitRepository", "Bucket"), new: with("GitRepository", "Bucket", "1h", "2h"), want: `
			~ Kustomization flux-system/apps of clusters/apps.yaml`},
		{name: "a field of the wrong type", reason: "the API server refuses it", old: flux, new: with("V: one", "V: true"), want: `
			+ ConfigMap a of apps/a.yaml
			= ConfigMap a of Flux Kustomization flux-system/apps
			? Flux Kustomization flux-system/apps: a field of its definition has the wrong type, bool
			~ Kustomization flux-system/apps of clusters/apps.yaml`},
		{name: "no directory", old: flux, new: with("./apps", "./none"), want: `
			+ ConfigMap a of apps/a.yaml
			= ConfigMap a of Flux Kustomization flux-system/apps
			? Flux Kustomization flux-system/apps: the tree has no directory none
			~ Kustomization flux-system/apps of clusters/apps.yaml`},
		{name: "a directory with its own definition", reason: "the circle is taken as it is written", old: with("./apps", "./"), new: with("./apps", "./").with("apps/a.yaml", object("a", "two")), want: `
			= Kustomization flux-system/apps of Flux Kustomization flux-system/apps
			unit Flux Kustomization flux-system/apps
			~ ConfigMap a of Flux Kustomization flux-system/apps`},
	})
}

// TestHelmReleases: helmrelease.go reads Flux's HelmReleases, and fetch.go the charts of repositories.
func TestHelmReleases(t *testing.T) {
	release := fluxUnit("helm", "HelmRelease", "shop", "chart: {spec: {chart: ./shop, "+gitSource+"}}, values: {v: one}")
	helm := chart.with("release.yaml", release)
	with := func(of files, replace ...string) files {
		return of.with("release.yaml", strings.NewReplacer(replace...).Replace(of["release.yaml"]))
	}
	from := func(kind, spec string) files {
		ref := "chartRef: {kind: " + kind + ", name: shop}, values: {v: one}"
		if kind == "HelmRepository" {
			ref = "chart: {spec: {chart: shop, version: 1.0.0, sourceRef: {kind: " + kind + ", name: shop}}}, values: {v: one}"
		}
		return files{"release.yaml": fluxUnit("helm", "HelmRelease", "shop", ref), "source.yaml": fluxUnit("source", kind, "shop", spec)}
	}
	clusters := files{}
	for _, name := range []string{"one", "two"} {
		clusters = clusters.with(name+"/kustomization.yaml", "resources: [release.yaml, source.yaml]\n", "clusters/"+name+"/apps.yaml", fluxUnit("kustomize", "Kustomization", "apps", "path: ./"+name+", prune: true, "+gitSource),
			name+"/release.yaml", from("OCIRepository", "")["release.yaml"], name+"/source.yaml", from("OCIRepository", "url: 'oci://example.com/"+name+"'")["source.yaml"])
	}
	const changed = "~ HelmRelease flux-system/shop of release.yaml"
	updates := []update{
		{name: "a value", old: helm, new: with(helm, "v: one", "v: two"), want: `
			unit HelmRelease flux-system/shop
			~ ConfigMap a of HelmRelease flux-system/shop
			` + changed},
		{name: "another release", reason: "Flux uninstalls the old one first", old: helm, new: with(helm, "values:", "releaseName: more, values:"), want: `
			+ ConfigMap a of HelmRelease flux-system/shop
			- ConfigMap a of HelmRelease flux-system/shop, uninstalled first
			unit HelmRelease flux-system/shop
			` + changed},
		{name: "a chart elsewhere", old: from("OCIRepository", "url: 'oci://example.com/shop'"), new: with(from("OCIRepository", "url: 'oci://example.com/shop'"), "v: one", "v: two"), want: `
			? HelmRelease flux-system/shop: its chart is in the OCIRepository shop
			` + changed},
		{name: "a chart elsewhere, of one of two clusters", reason: "two/release.yaml has a source of its own", old: clusters, new: clusters.with("one/source.yaml", from("OCIRepository", "url: 'oci://example.com/three'")["source.yaml"]), want: `
			= HelmRelease flux-system/shop of Flux Kustomization flux-system/apps
			? HelmRelease flux-system/shop: its chart is in the OCIRepository shop
			unit Flux Kustomization flux-system/apps
			~ OCIRepository flux-system/shop of Flux Kustomization flux-system/apps`},
	}
	for _, cannot := range []struct{ kind, spec, reason string }{
		{"OCIRepository", "url: 'oci://example.com/shop', secretRef: {name: s}", "the OCIRepository shop needs credentials (secretRef), which fieldlock does not read"},
		{"OCIRepository", "url: 'oci://example.com/shop', provider: aws", "the OCIRepository shop needs the credentials of aws"},
		{"OCIRepository", "url: 'oci://example.com/${X}'", "the URL of the OCIRepository shop, its chart or version has a variable"},
		{"OCIRepository", "url: 'oci://example.com/shop', ref: {semver: '*', semverFilter: x}", "the OCIRepository shop filters versions"},
		{"HelmRepository", "url: 'http://user:secret@127.0.0.1:1/charts'", "its chart shop 1.0.0 of http://user:xxxxx@127.0.0.1:1/charts cannot be fetched: Get \"http://user:***@127.0.0.1:1/charts/index.yaml\": " +
			"dial tcp 127.0.0.1:1: it is an address of a private network, which --fetch asks only for hosts in fetch-hosts of the settings"},
	} {
		updates = append(updates, update{
			name: cannot.reason, reason: "it cannot be fetched", options: Options{Fetch: fetch.New("")},
			old: from(cannot.kind, cannot.spec), new: with(from(cannot.kind, cannot.spec), "v: one", "v: two"),
			want: "? HelmRelease flux-system/shop: " + cannot.reason + "\n" + changed,
		})
	}
	compareEach(t, updates)
}

// TestApplications: argocd.go reads Applications and sets of them; synced.go, what Argo CD applies of them.
func TestApplications(t *testing.T) {
	argo := files{"root.yaml": argoUnit("root", "path: apps"), "apps/shop.yaml": argoUnit("shop", "path: shop"), "apps/more.yaml": argoUnit("more", "path: more"),
		"shop/a.yaml": object("a", "one"), "more/b.yaml": object("b", "one")}
	set := files{"set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: sets, namespace: argocd}\nspec:\n" +
		"  generators: [{git: {repoURL: 'https://example.com/deploy.git', revision: HEAD, directories: [{path: sets/*}]}}]\n" +
		"  template:\n    metadata: {name: '{{path.basename}}'}\n    spec:\n      project: default\n" +
		"      source: {repoURL: 'https://example.com/deploy.git', targetRevision: HEAD, path: '{{path}}'}\n" +
		"      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n", "sets/a/a.yaml": object("a", "one")}
	ignored := argo.with("apps/shop.yaml", argo["apps/shop.yaml"]+
		"  syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}\n  ignoreDifferences: [{kind: ConfigMap, jsonPointers: [/data/a]}]\n")
	compareEach(t, []update{
		{name: "an object", reason: "the application of the application prints it", old: argo, new: argo.with("shop/a.yaml", object("a", "two")), want: `
			unit Application argocd/shop
			~ ConfigMap a of Application argocd/shop`},
		{name: "an object twice", reason: "the last one is applied", old: argo, new: argo.with("shop/b.yaml", object("a", "two")), want: `
			unit Application argocd/shop
			~ ConfigMap a of Application argocd/shop`},
		{name: "an ignored field", reason: "the sync leaves it", old: ignored, new: ignored.with("shop/a.yaml", object("a", "two")), want: `
			= ConfigMap a of Application argocd/shop
			unit Application argocd/shop`},
		{name: "an Application that goes", old: argo, new: argo.with("apps/shop.yaml", ""), want: `
			+ ConfigMap a of shop/a.yaml
			- Application argocd/shop of Application argocd/root
			- ConfigMap a of Application argocd/shop
			= Application argocd/more of Application argocd/root
			unit Application argocd/root
			unit Application argocd/shop`},
		{name: "a set", old: set, new: set.with("sets/a/a.yaml", object("a", "two"), "sets/b/b.yaml", object("b", "one")), want: `
			+ Application argocd/b of ApplicationSet argocd/sets
			+ ConfigMap b of Application argocd/b
			= Application argocd/a of ApplicationSet argocd/sets
			unit Application argocd/a
			unit Application argocd/b
			unit ApplicationSet argocd/sets
			~ ConfigMap a of Application argocd/a`},
	})
}

// TestDefinitions: nested.go finds the units that objects define, in files and in what other units print.
func TestDefinitions(t *testing.T) {
	printed := overlay.with("prod/kustomization.yaml", "resources: [app.yaml]\npatches: [{target: {kind: Application}, patch: '- {op: replace, path: /spec/source/path, value: next}'}]\n",
		"prod/app.yaml", argoUnit("shop", "path: shop"), "shop/s.yaml", object("s", "one"), "next/s.yaml", object("next", "one"))
	template := chart.with("shop/templates/a.yaml", strings.Replace(argoUnit("app", "path: app"), "name: app", "name: {{ .Values.v }}", 1), "app/s.yaml", object("s", "one"))
	templateSet := func(file string) files {
		return chart.with("shop/Chart.yaml", file, "app/s.yaml", object("s", "one"), "shop/templates/a.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: {{ .Values.v }}, namespace: argocd}\nspec:\n"+
			"  goTemplate: true\n  generators: [{list: {elements: [{app: app}]}}]\n  template:\n    metadata: {name: '{{ `{{ .app }}` }}'}\n    spec:\n      project: default\n"+
			"      source: {repoURL: 'https://example.com/deploy.git', targetRevision: HEAD, path: '{{ `{{ .app }}` }}'}\n      destination: {server: 'https://kubernetes.default.svc'}\n")
	}
	lacking := chartFile + "dependencies: [{name: db, version: 1.0.0, repository: 'https://charts.example.com'}]\n"
	compareEach(t, []update{
		{name: "as it is printed", reason: "the kustomization patches the path", old: printed, new: printed.with("next/s.yaml", object("next", "two")), want: `
			unit Application argocd/shop
			~ ConfigMap next of Application argocd/shop`},
		{name: "not as it is written", reason: "nothing deploys that directory", old: printed, new: printed.with("shop/s.yaml", object("s", "two")), want: `
			~ ConfigMap s of shop/s.yaml`},
		{name: "in a template", old: template, new: template.with("app/s.yaml", object("s", "two")), want: `
			unit Application argocd/one
			~ ConfigMap s of Application argocd/one`},
		{name: "a set in a template", reason: "the chart prints its parameters", old: templateSet(chartFile), new: templateSet(chartFile).with("app/s.yaml", object("s", "two")), want: `
			unit Application argocd/app
			~ ConfigMap s of Application argocd/app`},
		{name: "a set in a template of a chart that lacks a dependency", old: templateSet(lacking), new: templateSet(lacking).with("app/s.yaml", object("s", "two")), want: `
			unit Application argocd/app
			~ ConfigMap s of Application argocd/app`},
		{name: "a set in a template of a chart that cannot be read", old: templateSet("name: [\n"), new: templateSet("name: [\n").with("shop/values.yaml", "v: two\n"), want: `
			? chart shop: shop: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1: did not find expected node content`},
	})
}

// TestFilesAsWritten: files.go reads what no unit reads, and unread.go lists what nothing reads.
func TestFilesAsWritten(t *testing.T) {
	other := func(text string) files { return overlay.with("other.yaml", text) }
	exclude := func(prefix string) Options {
		return Options{Exclude: func(name string) bool { return strings.HasPrefix(name, prefix) }}
	}
	compareEach(t, []update{
		{name: "a template", reason: "no chart has it", old: overlay, new: other(object("b", "{{ x }}")), want: `
			- ConfigMap b of other.yaml
			? file other.yaml: it is a template, not YAML`},
		{name: "a mistake in NEW", old: overlay, new: other("a: [\n"), want: `
			- ConfigMap b of other.yaml
			error other.yaml:1: document 1: the YAML is malformed: did not find expected node content`},
		{name: "a mistake in both", old: other("a: {\n"), new: other("a: [\n"), want: `
			? file other.yaml: cannot be read, as in OLD: other.yaml:1: document 1: the YAML is malformed: did not find expected node content`},
		{name: "a mistake in OLD", old: other("a: {\n"), new: overlay, want: `
			+ ConfigMap b of other.yaml
			? file other.yaml: there is nothing to compare with, since OLD cannot be read: other.yaml:1: document 1: the YAML is malformed: did not find expected node content`},
		{name: "excluded", old: overlay, new: other(object("b", "two")), options: exclude("other.yaml"), want: `
			? file other.yaml: exclude in the settings leaves it out`},
		{name: "an excluded unit", old: overlay, new: overlay.with("prod/a.yaml", object("a", "two")), options: exclude("prod/"), want: `
			? file prod/a.yaml: exclude in the settings leaves it out`},
		{name: "expected output", reason: "env/test is an environment", old: overlay.with("testdata/a.yaml", object("e", "one"), "env/test/a.yaml", object("f", "one")),
			new: overlay.with("testdata/a.yaml", object("e", "two"), "env/test/a.yaml", object("f", "two")), want: `
			? file testdata/a.yaml: exclude in the settings leaves it out
			~ ConfigMap f of env/test/a.yaml`},
		{name: "tests of a module", old: files{"go.mod": "module x\n", "test/a.yaml": object("e", "one")}, new: files{"go.mod": "module x\n", "test/a.yaml": object("e", "two")}, want: `
			? file test/a.yaml: exclude in the settings leaves it out`},
		{name: "expected output that is read", old: files{"testdata/a.yaml": object("e", "one")}, new: files{"testdata/a.yaml": object("e", "two")}, options: Options{ReadExpected: true}, want: `
			~ ConfigMap e of testdata/a.yaml`},
		{name: "a hidden directory", reason: "GitHub deploys nothing", old: files{".hidden/a.yaml": object("h", "one"), ".github/a.yaml": object("h", "one")},
			new: files{".hidden/a.yaml": object("h", "two"), ".github/a.yaml": object("h", "two")}, want: `
			? file .hidden/a.yaml: it is in a hidden directory, and no unit reads it`},
		{name: "values", reason: "also those that units read, and that both sides have alike", old: chart.with("more.yaml", "v: 1\n"), new: chart.with("more.yaml", "v: 1\n"), options: Options{Values: true}, want: `
			= <nil>  of more.yaml
			= <nil>  of shop/Chart.yaml
			= <nil>  of shop/values.yaml`},
	})
}

// TestNeeded: needed.go and policies.go add what changed objects need of what both sides have alike.
func TestNeeded(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, names: {kind: Widget, plural: widgets}}\n"
	widget := func(value string) string {
		return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: team}\nspec: {a: " + value + "}\n"
	}
	serving := func(served string) string {
		return strings.Replace(crd, "plural: widgets}", "plural: widgets}, versions: [{name: v1, served: "+served+"}]", 1)
	}
	const policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n" +
		"  matchConstraints: {namespaceSelector: {}, resourceRules: [{apiGroups: [example.com], apiVersions: [v1], operations: [UPDATE], resources: [widgets]}]}\n" +
		"  validations: [{expression: object.spec == oldObject.spec}]\n"
	const namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"
	all := files{"crd.yaml": crd, "w.yaml": widget("one"), "p.yaml": policy, "c.yaml": object("c", "one"), "n.yaml": namespaces, "prod/kustomization.yaml": "resources: [d.yaml]\n", "prod/d.yaml": object("d", "one")}
	compareEach(t, []update{
		{name: "its CRD", old: all.with("p.yaml", ""), new: all.with("p.yaml", "", "w.yaml", widget("two")), want: `
			= CustomResourceDefinition widgets.example.com of crd.yaml
			~ Widget team/w of w.yaml`},
		{name: "no CRD", reason: "a ConfigMap has none", old: all.with("p.yaml", ""), new: all.with("p.yaml", "", "c.yaml", object("c", "two")), want: `
			~ ConfigMap c of c.yaml`},
		{name: "what it is a copy of", old: all.with("p.yaml", ""), new: all.with("p.yaml", "", "e.yaml", object("c", "two")), want: `
			+ ConfigMap c of e.yaml
			= ConfigMap c of c.yaml`},
		{name: "a policy that judges it", reason: "with its parameters, of units too, and the namespace", old: all, new: all.with("w.yaml", widget("two")), want: `
			= ConfigMap c of c.yaml
			= ConfigMap d of kustomization prod
			= CustomResourceDefinition widgets.example.com of crd.yaml
			= Namespace team of n.yaml
			= ValidatingAdmissionPolicy p of p.yaml
			~ Widget team/w of w.yaml`},
		{name: "objects of a version that is no longer served", reason: "no tool can apply them; another CRD of the kind may serve it",
			old: files{"a/crd.yaml": serving("true"), "b/crd.yaml": serving("true"), "w.yaml": widget("one")},
			new: files{"a/crd.yaml": serving("false"), "b/crd.yaml": serving("true"), "w.yaml": widget("one")}, want: `
			= CustomResourceDefinition widgets.example.com of b/crd.yaml
			= Widget team/w of w.yaml
			~ CustomResourceDefinition widgets.example.com of a/crd.yaml`},
		{name: "a policy for others", reason: "which kinds it judges is not asked here, so its parameters are read all the same", old: all, new: all.with("c.yaml", object("c", "two")), want: `
			= ConfigMap d of kustomization prod
			= ValidatingAdmissionPolicy p of p.yaml
			~ ConfigMap c of c.yaml`},
	})
}

// TestPredecessors: predecessors.go finds the old objects of those whose files have moved into the paths.
func TestPredecessors(t *testing.T) {
	old := files{"old/a.yaml": object("a", "one"), "old/b.yaml": object("b", "one")}
	compareEach(t, []update{
		{name: "a file", reason: "what else changed there is not judged", old: old, new: files{"new/a.yaml": object("a", "two"), "old/b.yaml": object("b", "two")}, paths: []string{"new"}, want: `
			+ ConfigMap a of new/a.yaml
			- ConfigMap a of old/a.yaml`},
		{name: "a copy", reason: "the old one stays", old: old, new: old.with("new/a.yaml", object("a", "two"), "old/a.yaml", object("a", "one")+"# new\n"), paths: []string{"new"}, want: `
			+ ConfigMap a of new/a.yaml
			= ConfigMap a of old/a.yaml`},
		{name: "a unit", old: overlay, new: files{"next/kustomization.yaml": overlay["prod/kustomization.yaml"], "next/a.yaml": object("a", "two"), "other.yaml": overlay["other.yaml"]}, paths: []string{"next"}, want: `
			+ ConfigMap x-a of kustomization next
			- ConfigMap x-a of kustomization prod
			unit kustomization next`},
	})
}
