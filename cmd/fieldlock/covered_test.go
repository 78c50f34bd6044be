package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// TestRecord: a unit that cannot be rendered is not covered if anything changed that it may read, also behind the first
// reference that the tree lacks. An ordinary change beside it is complete, also with --strict.
func TestRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	web := strings.NewReplacer("app: web", "app: shop").Replace(deployment)
	const remote = "resources: ['https://github.com/a/b//c?ref=v1', web.yaml]\n"
	failing := func(kustomization string, files ...string) map[string]string {
		return with(map[string]string{"prod/kustomization.yaml": remote + kustomization, "prod/web.yaml": deployment}, files...)
	}
	below := map[string]string{ // definitions that apply the kustomization
		"a Flux Kustomization": strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "./apps", "./prod", 1),
		"an Application":       strings.Replace(argoFiles()["apps/shop.yaml"], "path: shop", "path: prod", 1),
	}
	const patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
	const transformer = "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: a-\nfieldSpecs: [{path: metadata/name}]\n"
	release := func(spec string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: default}\nspec: {interval: 1h, " + spec + "}\n"
	}
	source := func(kind, spec string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: shop, namespace: default}\nspec: {interval: 1h, " + spec + "}\n"
	}
	chartOf := func(kind string) string {
		return "chart: {spec: {chart: shop, sourceRef: {kind: " + kind + ", name: shop}}}"
	}
	named := strings.Replace(release(chartOf("HelmRepository")), "name: shop, namespace: default", "name: '${APP}'", 1)
	application := func(sources string) map[string]string {
		return map[string]string{"apps/shop.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n" +
			"  sources: [" + sources + "]\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n", "values/shop.yaml": "class: fast\n"}
	}
	externalSecret := func(target, class string) string {
		return "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: made, namespace: default}\n" +
			"spec: {secretStoreRef: {name: store}, target: {name: " + target + ", template: {data: {values.yaml: 'class: " + class + "', CLASS: " + class + "}}}}\n"
	}
	made := map[string]string{"r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: Secret, name: values}]"),
		"apps/kustomization.yaml": "resources: [v.yaml, web.yaml]\npatches: [{path: p.yaml}]\n", "apps/v.yaml": externalSecret("values", "fast"), "apps/web.yaml": deployment,
		"apps/p.yaml": externalSecret("values", "slow")}
	jsonnet := with(application("{repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, path: app, directory: {jsonnet: {libs: [libs]}}}"),
		"app/map.jsonnet", "// it's \"one\"\n(import 'lib.libsonnet') + (import \"all/b.libsonnet\")\n", "app/lib.libsonnet", "{a: 1}\n",
		"libs/all/b.libsonnet", "{b: importstr 'text.txt'}\n", "libs/all/text.txt", "one\n", "libs/other.libsonnet", "{b: 1}\n")
	setOf := func(generators, path string) string { // a set for clusters
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: sets, namespace: argocd}\nspec:\n  generators: [" + generators + "]\n" +
			"  template:\n    metadata: {name: '{{name}}'}\n    spec:\n      project: default\n" +
			"      source: {repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, path: '" + path + "'}\n" +
			"      destination: {server: '{{server}}', namespace: shop}\n"
	}
	policy := func(syncPolicy string) map[string]string { // of an Application with a chart elsewhere
		return map[string]string{"apps/shop.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n" +
			"  source: {repoURL: 'https://charts.example.com', chart: shop, targetRevision: 1.0.0}\n  syncPolicy: {" + syncPolicy + "}\n" +
			"  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"}
	}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
	const ofAll = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: all, namespace: flux-system}\nspec: {interval: 1h, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n"
	const hashed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {kustomize.config.k8s.io/needs-hash: 'true'}}\ndata: {a: b}\n"
	const replacement = "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: r}\nreplacements:\n" +
		"- {source: {kind: ConfigMap, name: c, fieldPath: data.a}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.selector.matchLabels.app], options: {create: true}}]}\n"
	base := map[string]string{"prod/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', ../base]\n",
		"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}
	const generated = "resources: [web.yaml]\nconfigMapGenerator: [{name: c, files: [c.txt]}]\n"
	withSecret := func(kustomization string) map[string]string { // that git does not hold
		return map[string]string{"prod/kustomization.yaml": "resources: [web.yaml]\nsecretGenerator: [{name: s, envs: [secrets.env]}]\n" + kustomization, "prod/web.yaml": deployment, "prod/c.txt": "a\n"}
	}
	including := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n" +
		"spec: {interval: 1h, url: 'https://example.com/team/deploy.git', ref: {branch: main}, include: [{repository: {name: other}, toPath: a}]}\n" +
		"---\n" + strings.Replace(source("GitRepository", "url: 'https://example.com/team/deploy.git', ref: {tag: v1}"), "name: shop, namespace: default", "name: other, namespace: flux-system", 1)
	const ofTexts = "{repoURL: 'https://charts.example.com', chart: shop, targetRevision: 1.0.0, helm: {fileParameters: [{name: class, path: $values/values/class.txt}]}}, " +
		"{repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, ref: values}"
	const elsewhere = "{repoURL: 'https://charts.example.com', chart: shop, targetRevision: 1.0.0, helm: {valueFiles: [$values/values/shop.yaml]}}, "
	inflating := map[string]string{"prod/kustomization.yaml": "generators: [g.yaml]\n", "prod/v.yaml": "a: 1\n", "prod/more.yaml": "a: 1\n", "prod/other.yaml": "a: 1\n",
		"prod/g.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: g}\nname: shop\nrepo: https://charts.example.com\nversion: 1.0.0\nvaluesFile: v.yaml\nadditionalValuesFiles: [more.yaml]\n"}
	unlisted := map[string]string{"clusters/apps.yaml": strings.Replace(ofAll, "prune: true", "path: ./apps, prune: true, targetNamespace: web", 1),
		"apps/a/kustomization.yaml": "resources: [r.yaml]\n", "apps/a/r.yaml": strings.Replace(release(chartOf("HelmRepository")), "shop", "a", 1),
		"apps/b/kustomization.yaml": "resources: [r.yaml]\n", "apps/b/r.yaml": strings.Replace(release(chartOf("HelmRepository")), "shop", "b", 1)}
	for _, c := range []struct {
		name     string
		old      map[string]string
		change   []string // of files
		complete bool
	}{
		{"a remote base", failing(""), []string{"prod/kustomization.yaml", strings.Replace(remote, "v1", "v2", 1)}, false},
		{"values of a chart that a generator inflates", inflating, []string{"prod/v.yaml", "a: 2\n"}, false},
		{"more values of it", inflating, []string{"prod/more.yaml", "a: 2\n"}, false},
		{"a file beside them", inflating, []string{"prod/other.yaml", "a: 2\n"}, true},
		{"a transformer", failing("transformers: [t.yaml]\n", "prod/t.yaml", transformer), []string{"prod/t.yaml", strings.Replace(transformer, "a-", "b-", 1)}, false},
		{"a component", failing("components: [../part]\n", "part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: a-\n"),
			[]string{"part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: b-\n"}, false},
		{"a patch", failing("patches: [{path: p.yaml}]\n", "prod/p.yaml", patch), []string{"prod/p.yaml", strings.Replace(patch, "2", "3", 1)}, false},
		{"a file of a generator", failing("configMapGenerator: [{name: c, files: [c.txt]}]\n", "prod/c.txt", "a\n"), []string{"prod/c.txt", "b\n"}, false},
		{"values of a chart elsewhere", failing("helmCharts: [{name: shop, repo: 'https://charts.example.com', version: 1.0.0, valuesFile: v.yaml}]\n", "prod/v.yaml", "a: 1\n"),
			[]string{"prod/v.yaml", "a: 2\n"}, false},
		{"values above the directory, of a chart elsewhere", failing("helmCharts: [{name: shop, repo: 'https://charts.example.com', version: 1.0.0, additionalValuesFiles: [../v.yaml]}]\n", "v.yaml", "a: 1\n"),
			[]string{"v.yaml", "a: 2\n"}, false},
		{"a base beside a missing patch", map[string]string{
			"prod/kustomization.yaml": "patches: [{path: missing.yaml}]\nresources: [../base]\n",
			"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}, []string{"base/web.yaml", web}, false},
		{"a base beside a missing schema", map[string]string{
			"prod/kustomization.yaml": "openapi: {path: missing.json}\nresources: [../base]\n",
			"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}, []string{"base/web.yaml", web}, false},
		{"a release of a chart elsewhere in a directory that Flux applies no longer", with(unlisted, "apps/kustomization.yaml", "resources: [a, b]\n"),
			[]string{"apps/kustomization.yaml", "resources: [a]\n"}, true},
		{"a kustomization that goes, with a patch of an object of its remote base", failing("patches: [{path: p.yaml}]\n", "prod/p.yaml", strings.Replace(patch, "web", "db", 1)),
			[]string{"prod/kustomization.yaml", "", "prod/web.yaml", "", "prod/p.yaml", ""}, false},
		{"a patch above the directory", failing("patches: [{path: ../p.yaml}]\n", "p.yaml", patch), []string{"p.yaml", strings.Replace(patch, "2", "3", 1)}, false},

		{"a set for clusters in a file of another name", map[string]string{"a.yaml": setOf("{clusters: {}}", "app"), "app/web.yaml": deployment}, []string{"a.yaml", "", "b.yaml", setOf("{clusters: {}}", "app")}, true},
		{"a set for clusters that changes in a file of another name", map[string]string{"a.yaml": setOf("{clusters: {}}", "app"), "app/web.yaml": deployment, "other/web.yaml": deployment},
			[]string{"a.yaml", "", "b.yaml", setOf("{clusters: {}}", "other")}, false},
		{"an Application of a kustomization that the tree has", with(map[string]string{}, "shop/kustomization.yaml", "resources: [w.yaml]\n", "shop/w.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: shop}\n"),
			[]string{"apps/shop.yaml", argoFiles()["apps/shop.yaml"]}, true},
		{"values of an Application with a chart elsewhere", application(elsewhere + "{repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, ref: values}"),
			[]string{"values/shop.yaml", "class: slow\n"}, false},
		{"a comment in values of an Application with a chart elsewhere", application(elsewhere + "{repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, ref: values}"),
			[]string{"values/shop.yaml", "# the default\nclass: 'fast' # of the cluster\n"}, true},
		{"a text of an Application with a chart elsewhere", with(application(ofTexts), "values/class.txt", "fast\n"), []string{"values/class.txt", "fast # of the cluster\n"}, false},
		{"a repository whose files the source of a Kustomization includes", with(fluxFiles(), "sources.yaml", including), []string{"sources.yaml", strings.Replace(including, "tag: v1", "tag: v2", 1)}, false},
		{"where a source includes files of another repository", with(fluxFiles(), "sources.yaml", including), []string{"sources.yaml", strings.Replace(including, "toPath: a", "toPath: b", 1)}, false},
		{"a file beside a repository that the source includes", with(fluxFiles(), "sources.yaml", including), []string{"README.md", "text\n"}, true},
		{"values that an Application names in another repository", application(elsewhere + "{repoURL: 'https://example.org/other.git', targetRevision: HEAD, ref: values}"),
			[]string{"values/shop.yaml", "class: slow\n"}, false},
		{"values of a HelmRelease from a ConfigMap", map[string]string{
			"r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: ConfigMap, name: values}]"),
			"v.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: default}\ndata: {values.yaml: 'class: fast'}\n"},
			[]string{"v.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: default}\ndata: {values.yaml: 'class: slow'}\n"}, false},
		{"values of a HelmRelease that kustomize generates", map[string]string{
			"apps/kustomization.yaml": "resources: [r.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: values, namespace: default, files: [values.yaml]}]\n",
			"apps/values.yaml":        "class: fast\n", "apps/r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: ConfigMap, name: values}]")},
			[]string{"apps/values.yaml", "class: slow\n"}, false},
		{"values of a HelmRelease from a Secret that an ExternalSecret makes", map[string]string{
			"r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: Secret, name: values}]"), "v.yaml": externalSecret("values", "fast")},
			[]string{"v.yaml", externalSecret("values", "slow")}, false},
		{"values of a HelmRelease with a chart of the tree from a Secret that an ExternalSecret makes", with(fluxFiles(),
			"apps/release.yaml", strings.Replace(fluxFiles()["apps/release.yaml"], "values: {class: fast}", "valuesFrom: [{kind: Secret, name: values}]", 1), "v.yaml", externalSecret("values", "fast")),
			[]string{"v.yaml", externalSecret("values", "slow")}, false},
		{"variables of a Flux Kustomization from a Secret that an ExternalSecret makes", with(fluxFiles(), "clusters/home/apps.yaml",
			strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "substitute: {CLASS: fast}", "substituteFrom: [{kind: Secret, name: vars}]", 1),
			"v.yaml", strings.Replace(externalSecret("vars", "fast"), "namespace: default", "namespace: flux-system", 1)),
			[]string{"v.yaml", strings.Replace(externalSecret("vars", "slow"), "namespace: default", "namespace: flux-system", 1)}, false},
		{"values from a Secret that a patched ExternalSecret makes", made, []string{"apps/p.yaml", strings.Replace(made["apps/p.yaml"], "slow", "fast", 1)}, false},
		{"a change beside an ExternalSecret that makes values", made, []string{"apps/p.yaml", made["apps/p.yaml"], "apps/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)}, true},
		{"an ExternalSecret that makes no values", map[string]string{
			"r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: Secret, name: values}]"), "v.yaml": externalSecret("login", "fast"),
			"other.yaml": strings.Replace(externalSecret("values", "fast"), "namespace: default", "namespace: other", 1)},
			[]string{"v.yaml", externalSecret("login", "slow"), "other.yaml", strings.Replace(externalSecret("values", "slow"), "namespace: default", "namespace: other", 1)}, true},
		{"an ExternalSecret that reads a key with the name of the values", map[string]string{
			"r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: Secret, name: values}]"),
			"v.yaml": strings.Replace(externalSecret("login", "fast"), "target:", "dataFrom: [{extract: {key: values}}], target:", 1)},
			[]string{"v.yaml", strings.Replace(externalSecret("login", "slow"), "target:", "dataFrom: [{extract: {key: values}}], target:", 1)}, true},
		{"a HelmRelease whose chart comes into the tree", with(fluxFiles(), "apps/release.yaml", strings.Replace(strings.Replace(fluxFiles()["apps/release.yaml"], "./charts/shop", "shop", 1), "kind: GitRepository", "kind: HelmRepository", 1)),
			[]string{"apps/release.yaml", fluxFiles()["apps/release.yaml"]}, false},
		{"an Application whose source comes into the tree", map[string]string{"apps/shop.yaml": strings.Replace(argoFiles()["apps/shop.yaml"], "path: shop", "chart: shop", 1)},
			[]string{"apps/shop.yaml", argoFiles()["apps/shop.yaml"], "shop/claim.yaml", claim("data", "slow")}, false},
		{"a library of a program in jsonnet", jsonnet, []string{"app/lib.libsonnet", "{a: 2}\n"}, false},
		{"a file of a library for jsonnet", jsonnet, []string{"libs/all/b.libsonnet", "{b: 2}\n"}, false},
		{"a text that a library for jsonnet imports", jsonnet, []string{"libs/all/text.txt", "two\n"}, false},
		{"a file that no program in jsonnet imports", jsonnet, []string{"libs/other.libsonnet", "{b: 2}\n"}, true},

		{"the tag of an OCIRepository", map[string]string{"r.yaml": release("chartRef: {kind: OCIRepository, name: shop}"), "s.yaml": source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 1.0.0}")},
			[]string{"s.yaml", source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 2.0.0}")}, false},
		{"the tag of a GitRepository", map[string]string{"r.yaml": release(chartOf("GitRepository")), "s.yaml": source("GitRepository", "url: 'https://example.org/charts', ref: {tag: v1.0.0}")},
			[]string{"s.yaml", source("GitRepository", "url: 'https://example.org/charts', ref: {tag: v2.0.0}")}, false},
		{"the version of a chart elsewhere", map[string]string{"r.yaml": release("chart: {spec: {chart: shop, version: 1.0.0, sourceRef: {kind: HelmRepository, name: shop}}}")},
			[]string{"r.yaml", release("chart: {spec: {chart: shop, version: 2.0.0, sourceRef: {kind: HelmRepository, name: shop}}}")}, false},
		{"a patch of the version of a chart elsewhere", map[string]string{"prod/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n", "prod/p.yaml": release("chart: {spec: {version: 1.0.0}}"),
			"base/kustomization.yaml": "resources: [r.yaml]\n", "base/r.yaml": release(chartOf("HelmRepository"))},
			[]string{"prod/p.yaml", release("chart: {spec: {version: 2.0.0}}")}, false},
		{"a variable in the version of a chart elsewhere", with(fluxFiles(), "apps/release.yaml", release("chart: {spec: {chart: shop, version: '${VERSION:=1.0.0}', sourceRef: {kind: HelmRepository, name: shop}}}")),
			[]string{"clusters/home/apps.yaml", strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "CLASS: fast", "CLASS: fast, VERSION: 2.0.0", 1)}, false},
		{"values of a HelmRelease from a ConfigMap that a patch names", map[string]string{"prod/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n",
			"prod/p.yaml": release("valuesFrom: [{kind: ConfigMap, name: values}]"), "base/kustomization.yaml": "resources: [r.yaml]\n", "base/r.yaml": release(chartOf("HelmRepository")),
			"v.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: default}\ndata: {values.yaml: 'class: fast'}\n"},
			[]string{"v.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: default}\ndata: {values.yaml: 'class: slow'}\n"}, false},
		{"the version of the API of a HelmRelease", map[string]string{"r.yaml": strings.Replace(release(chartOf("HelmRepository")), "/v2", "/v2beta2", 1)},
			[]string{"r.yaml", release(chartOf("HelmRepository"))}, true},
		{"the URL of a HelmRepository", map[string]string{"r.yaml": release(chartOf("HelmRepository")), "s.yaml": source("HelmRepository", "url: 'https://a.example.com'")},
			[]string{"s.yaml", source("HelmRepository", "url: 'https://b.example.com'")}, false},
		{"the version of a HelmChart", map[string]string{"r.yaml": release("chartRef: {kind: HelmChart, name: shop}"), "s.yaml": source("HelmChart", "chart: shop, version: 1.0.0, sourceRef: {kind: HelmRepository, name: shop}")},
			[]string{"s.yaml", source("HelmChart", "chart: shop, version: 2.0.0, sourceRef: {kind: HelmRepository, name: shop}")}, false},

		{"a directory of an ApplicationSet for clusters", map[string]string{"set.yaml": setOf("{clusters: {}}", "shop"), "shop/values-a.yaml": "a: 1\n"}, []string{"shop/values-a.yaml", "a: 2\n"}, false},
		{"a chart of an ApplicationSet for clusters", map[string]string{"set.yaml": setOf("{clusters: {}}", "shop"), "shop/Chart.yaml": fluxFiles()["charts/shop/Chart.yaml"],
			"shop/values.yaml": "a: 1\n", "shop/templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}, []string{"shop/values.yaml", "a: 2\n"}, false},
		{"a directory that a parameter names", map[string]string{
			"set.yaml": setOf("{matrix: {generators: [{git: {repoURL: 'https://example.com/team/deploy.git', revision: HEAD, directories: [{path: sets/*}]}}, {clusters: {}}]}}", "{{path}}"), "sets/a/values.yaml": "a: 1\n"},
			[]string{"sets/a/values.yaml", "a: 2\n"}, false},
		{"a file beside the directory of an ApplicationSet", map[string]string{"set.yaml": setOf("{clusters: {}}", "shop"), "shop/values-a.yaml": "a: 1\n", "other/values.yaml": "a: 1\n"},
			[]string{"other/values.yaml", "a: 2\n", "shop/notes.md", "some\n"}, true},

		{"a file beside a remote base that nothing refers to", failing("", "prod/notes.yaml", "a: 1\n", "prod/README.md", "a\n"), []string{"prod/README.md", "b\n", "prod/notes.yaml", "a: 2\n"}, true},
		{"an image beside a remote base", with(failing(""), "other/web.yaml", deployment), []string{"other/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)}, true},
		{"how often a source is read", map[string]string{"r.yaml": release("chartRef: {kind: OCIRepository, name: shop}"), "s.yaml": source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 1.0.0}")},
			[]string{"s.yaml", strings.Replace(source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 1.0.0}"), "1h", "2h", 1)}, true},
		{"how often a HelmRelease is reconciled", map[string]string{"r.yaml": release(chartOf("HelmRepository"))},
			[]string{"r.yaml", strings.Replace(release(chartOf("HelmRepository")), "1h", "2h", 1)}, true},
		{"how a HelmRelease tries again", map[string]string{"r.yaml": release(chartOf("HelmRepository") + ", upgrade: {remediation: {retries: 1}, crds: Skip}")},
			[]string{"r.yaml", release(chartOf("HelmRepository") + ", install: {remediation: {retries: 3}}, upgrade: {remediation: {retries: 3}, crds: Skip}")}, true},
		{"what an upgrade of a HelmRelease does", map[string]string{"r.yaml": release(chartOf("HelmRepository") + ", upgrade: {remediation: {retries: 1}, crds: Skip}")},
			[]string{"r.yaml", release(chartOf("HelmRepository") + ", upgrade: {remediation: {retries: 1}, crds: CreateReplace}")}, false},
		{"how often an Application tries again", policy("retry: {limit: 1}"), []string{"apps/shop.yaml", policy("retry: {limit: 2}")["apps/shop.yaml"]}, true},
		{"labels of the namespace of an Application", policy("syncOptions: [CreateNamespace=true]"),
			[]string{"apps/shop.yaml", policy("syncOptions: [CreateNamespace=true, PruneLast=true], managedNamespaceMetadata: {labels: {a: b}}")["apps/shop.yaml"]}, true},
		{"a first option of an Application that decides nothing", policy("automated: {}"), []string{"apps/shop.yaml", policy("syncOptions: [PruneLast=true]")["apps/shop.yaml"]}, true},
		{"how an Application is applied", policy("syncOptions: [PruneLast=true]"), []string{"apps/shop.yaml", policy("syncOptions: [PruneLast=true, Replace=true]")["apps/shop.yaml"]}, false},
		{"how an Application with a remote base is synced", with(failing(""), "apps/shop.yaml", below["an Application"]),
			[]string{"apps/shop.yaml", strings.Replace(below["an Application"], "spec:\n", "spec:\n  syncPolicy: {retry: {limit: 2}}\n", 1)}, true},

		{"a comment beside a remote base", failing(""), []string{"prod/kustomization.yaml", "# where it runs\n" + remote}, true},
		{"a new resource beside a remote base", failing(""), []string{"prod/kustomization.yaml", strings.Replace(remote, "web.yaml", "web.yaml, c.yaml", 1), "prod/c.yaml", configMap}, true},
		{"a resource less beside a remote base", with(failing(""), "prod/kustomization.yaml", strings.Replace(remote, "web.yaml", "web.yaml, c.yaml", 1), "prod/c.yaml", configMap),
			[]string{"prod/kustomization.yaml", remote, "prod/c.yaml", ""}, true},
		{"a new resource that a prefix renames, beside a remote base", failing("namePrefix: a-\n"),
			[]string{"prod/kustomization.yaml", strings.Replace(remote, "web.yaml", "web.yaml, c.yaml", 1) + "namePrefix: a-\n", "prod/c.yaml", configMap}, false},
		{"another name of a resource that a transformer renames, beside a remote base", with(failing("transformers: [t.yaml]\n", "prod/t.yaml", transformer), "prod/web.yaml", configMap),
			[]string{"prod/web.yaml", strings.Replace(configMap, "name: c", "name: d", 1)}, false},
		{"a resource that is named by its content, beside a remote base", with(failing(""), "prod/web.yaml", hashed), []string{"prod/web.yaml", strings.Replace(hashed, "b}", "c}", 1)}, false},
		{"a resource that is copied from, beside a remote base", with(failing("transformers: [t.yaml]\n", "prod/t.yaml", replacement), "prod/web.yaml", configMap),
			[]string{"prod/web.yaml", strings.Replace(configMap, "a: b", "a: c", 1)}, false},
		{"an image of a base beside a remote base", base, []string{"base/kustomization.yaml", "resources: [web.yaml]\nimages: [{name: web, newTag: v2}]\n"}, true},
		{"a patch of a base beside a remote base", with(base, "base/kustomization.yaml", "resources: [web.yaml]\npatches: [{path: p.yaml}]\n", "base/p.yaml", patch),
			[]string{"base/p.yaml", strings.Replace(patch, "2", "3", 1)}, true},
		{"a file that a base generates objects of, beside a remote base", with(base, "base/kustomization.yaml", generated, "base/c.txt", "a\n"), []string{"base/c.txt", "b\n"}, false},
		{"a remote base of a base", with(base, "prod/kustomization.yaml", "resources: [../base]\n", "base/kustomization.yaml", remote),
			[]string{"prod/kustomization.yaml", "resources: [../base]\nimages: [{name: web, newTag: v2}]\n"}, false},
		{"an image of a component beside a remote base", with(base, "prod/kustomization.yaml", "resources: ['https://github.com/a/b//c?ref=v1', ../base]\ncomponents: [../part]\n",
			"part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n"),
			[]string{"part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nimages: [{name: web, newTag: v2}]\n"}, false},
		{"an image of all beside a remote base", failing(""), []string{"prod/kustomization.yaml", remote + "images: [{name: web, newTag: v2}]\n"}, false},
		{"an image of all beside a secret that git does not hold", withSecret(""), []string{"prod/kustomization.yaml", withSecret("images: [{name: web, newTag: v2}]\n")["prod/kustomization.yaml"]}, true},
		{"another generator beside a secret that git does not hold", withSecret("configMapGenerator: [{name: c, files: [c.txt]}]\n"),
			[]string{"prod/c.txt", "b\n", "prod/kustomization.yaml", withSecret("configMapGenerator: [{name: c, files: [c.txt]}, {name: d, literals: [a=b]}]\n")["prod/kustomization.yaml"]}, true},
		{"the options of a secret that git does not hold", withSecret(""), []string{"prod/kustomization.yaml", withSecret("generatorOptions: {immutable: true}\n")["prod/kustomization.yaml"]}, false},
		{"the type of a secret that git does not hold", withSecret(""), []string{"prod/kustomization.yaml", strings.Replace(withSecret("")["prod/kustomization.yaml"], "name: s,", "name: s, type: a/b,", 1)}, false},

		{"an image beside a patch of all definitions", map[string]string{ // which alone would be the definition of all files
			"clusters/prod/kustomization.yaml": "resources: [apps.yaml]\npatches: [{path: all.yaml, target: {kind: Kustomization}}]\n", "clusters/prod/all.yaml": ofAll,
			"clusters/prod/apps.yaml": fluxFiles()["clusters/home/apps.yaml"], "apps/web.yaml": deployment, ".lint.yaml": "a: 1\n"},
			[]string{"apps/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)}, true},
		{"a hidden file that a Flux Kustomization of all files reads", map[string]string{"apps.yaml": ofAll, ".c.yaml": configMap}, []string{".c.yaml", strings.Replace(configMap, "b}", "c}", 1)}, true},

		{"a new HelmRelease of a chart elsewhere", map[string]string{"r.yaml": release(chartOf("HelmRepository"))},
			[]string{"s.yaml", strings.Replace(release(chartOf("HelmRepository")), "name: shop, namespace", "name: other, namespace", 1)}, true},
		{"a new HelmRelease that has its name from a variable", map[string]string{"a/r.yaml": named}, []string{"b/r.yaml", named}, true},
		{"a new HelmRelease that has its name from a variable, in place of another", map[string]string{"a/r.yaml": named}, []string{"a/r.yaml", "", "b/r.yaml", strings.Replace(named, "1h", "2h, releaseName: a", 1)}, false},
		{"a new HelmRelease that takes the place of another", map[string]string{"r.yaml": release(chartOf("HelmRepository"))},
			[]string{"r.yaml", strings.Replace(release(chartOf("HelmRepository")), "name: shop, namespace", "name: other, namespace", 1)}, false},
		{"a new kustomization with a remote base", map[string]string{"a.yaml": claim("data", "fast")}, []string{"prod/kustomization.yaml", "resources: ['https://github.com/a/b//c?ref=v1']\n"}, true},
		{"an image in a kustomization with a remote base", failing(""), []string{"prod/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)}, true},
		{"a HelmRelease of a chart elsewhere that moves", map[string]string{"r.yaml": release(chartOf("HelmRepository"))}, []string{"r.yaml", "", "moved/r.yaml", release(chartOf("HelmRepository"))}, true},
	} {
		t.Run(c.name, func(t *testing.T) { wantComplete(t, c.old, c.change, c.complete) })
		if c.old["prod/kustomization.yaml"] == "" {
			continue
		}
		for what, definition := range below {
			t.Run(c.name+" below "+what, func(t *testing.T) {
				wantComplete(t, with(c.old, "clusters/prod.yaml", definition), c.change, c.complete)
			})
		}
	}
}

// wantComplete checks a change of files in a repository: nothing is refused, and the report is complete or not, also
// for --strict.
func wantComplete(t *testing.T, old map[string]string, changes []string, complete bool) {
	t.Helper()
	repositoryOf(t, with(old, "README.md", "about\n"), nil)
	change(t, with(old, "README.md", "about\n"), with(old, slices.Concat(changes, []string{"README.md", "about this\n"})...))
	got := runCommand("", "check", "--git", "HEAD", "--strict", "-o", "json")
	var r compare.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, got.out, got.err)
	}
	status := exitClean
	if !complete {
		status = exitRefused
	}
	if got.status != status || len(r.Violations) > 0 || len(r.Errors) > 0 || strings.Contains(got.out, `"complete": true`) != complete {
		t.Errorf("status %d, want %d; %s%s", got.status, status, got.out, got.err)
	}
}

// TestPlacesNotCovered: a unit that cannot be rendered is reported at the edited line.
func TestPlacesNotCovered(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	release := func(name, rest string) string {
		return "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: default}\nspec:\n  interval: 1h\n" +
			"  chart: {spec: {chart: shop, sourceRef: {kind: HelmRepository, name: shop}}}\n" + rest
	}
	two := release("a", "  values:\n    class: fast\n") + release("b", "  values:\n    class: fast\n")
	const repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: shop, namespace: default}\nspec: {url: 'https://a.example.com'}\n"
	from := func(kind string) string { return release("a", "  valuesFrom: [{kind: "+kind+", name: values}]\n") }
	const made = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: made, namespace: default}\nspec:\n  target: {name: values}\n  data: [{secretKey: a}]\n"
	for _, row := range []struct {
		name, file, before, after string
		others                    map[string]string
		places                    []string
	}{
		{"a value", "r.yaml", release("a", "  values:\n    class: fast\n"), release("a", "  values:\n    class: slow\n"), nil, []string{"r.yaml:9 "}},
		{"a value of each of two", "r.yaml", two, strings.ReplaceAll(two, "fast", "slow"), nil, []string{"r.yaml:9 ", "r.yaml:18 "}},
		{"their source in the same file", "r.yaml", repository + two, strings.Replace(repository, "a.example", "b.example", 1) + two, nil, []string{"r.yaml:4 ", "r.yaml:4 "}},
		{"generated values", "v.yaml", "a: 1\nclass: fast\n", "a: 1\nclass: slow\n", map[string]string{"r.yaml": from("ConfigMap"),
			"kustomization.yaml": "resources: [r.yaml]\nconfigMapGenerator: [{name: values, namespace: default, files: [values.yaml=v.yaml]}]\n"}, []string{"v.yaml:2 r.yaml"}},
		{"a key that an ExternalSecret reads", "s.yaml", made, strings.Replace(made, "secretKey: a", "secretKey: b", 1), map[string]string{"r.yaml": from("Secret")}, []string{"s.yaml:6 r.yaml"}},
	} {
		old := with(row.others, row.file, row.before)
		repositoryOf(t, old, nil)
		change(t, old, with(old, row.file, row.after))
		got := runCommand("", "check", "--git", "HEAD", "-o", "json")
		var r compare.Report
		if err := json.Unmarshal([]byte(got.out), &r); err != nil {
			t.Fatalf("%v: %s%s", err, got.out, got.err)
		}
		var places []string
		for _, n := range r.NotCovered {
			places = append(places, fmt.Sprintf("%s:%d %s", n.File, n.Line, n.From))
		}
		if !slices.Equal(places, row.places) {
			t.Errorf("%s: got %q, want %q", row.name, places, row.places)
		}
	}
}

// TestRecordOfAnotherRepository: an ApplicationSet whose chart is the root of another repository reads no file of this
// one.
func TestRecordOfAnotherRepository(t *testing.T) {
	set := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: sets, namespace: argocd}\nspec:\n  generators: [{clusters: {}}]\n" +
		"  template:\n    metadata: {name: '{{name}}'}\n    spec:\n      project: default\n" +
		"      source: {repoURL: 'https://example.com/team/charts.git', targetRevision: HEAD, path: /}\n" +
		"      destination: {server: '{{server}}', namespace: shop}\n"
	for url, complete := range map[string]bool{"https://example.com/team/deploy": true, "https://example.com/team/charts": false} {
		old := map[string]string{"set.yaml": set, "web.yaml": deployment}
		repositoryOf(t, old, nil)
		change(t, old, with(old, "web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)))
		got := runCommand("", "check", "--git", "HEAD", "--repo-url", url, "-o", "json")
		if strings.Contains(got.out, `"complete": true`) != complete {
			t.Errorf("%s: want complete %t: %s%s", url, complete, got.out, got.err)
		}
	}
}

// TestRenderedInPart: a unit that lacks a remote base, a file of a generator or a dependency is rendered without it,
// and what it prints is checked. Where the tool would not succeed, the refusals of what the unit reads are unknown and
// name the unit.
func TestRenderedInPart(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	web := strings.ReplaceAll(deployment, "app: web", "app: shop")
	const remote = "resources: ['https://github.com/a/b//c?ref=v1', web.yaml]\n"
	overlay := func(text string) map[string]string {
		return map[string]string{"prod/kustomization.yaml": text, "base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}
	}
	flux := strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "./apps", "./prod", 1)
	chart := map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: 'https://charts.example.com'}]\n",
		"shop/values.yaml": "class: fast\n", "shop/templates/claim.yaml": claim("data", "{{ .Values.class }}")}
	application := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n  sources:\n" +
		"  - {repoURL: 'https://charts.example.com', chart: db, targetRevision: 1.0.0, helm: {valueFiles: [$values/db/values.yaml]}}\n" +
		"  - {repoURL: 'https://example.com/team/deploy.git', path: prod, ref: values}\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
	sources := with(overlay("resources: [../base]\n"), "apps/shop.yaml", application, "db/values.yaml", "a: 1\n")
	directory := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n" +
		"  source: {repoURL: 'https://example.com/team/deploy.git', path: prod}\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
	encrypted := func(text string) string { return "\x00GITCRYPT\x00" + text }
	secret := with(overlay("resources: [../base, ../secret]\n"), "secret/kustomization.yaml", "resources: [secret.yaml]\n", "secret/secret.yaml", encrypted("a"))
	tagged := func(tag string) map[string]string {
		return with(secret, "prod/kustomization.yaml", "resources: [../base, ../secret]\nimages: [{name: nginx, newTag: "+tag+"}]\n")
	}
	const copies = "replacements: [{source: {kind: Deployment, fieldPath: spec.template.spec.containers.0.image}, targets: [{select: {kind: Secret}, fieldPaths: [data.image]}]}]\n"
	image := map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/values.yaml": "image: {repository: web, tag: v1}\nclass: fast\n",
		"shop/templates/secret.yaml": encrypted("a"), "shop/templates/web.yaml": strings.Replace(deployment, "image: nginx", "image: '{{ .Values.image.repository }}:{{ .Values.image.tag }}'", 1)}
	sops := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: 'ENC[AES256_GCM,data:" + value + ",iv:c,tag:d,type:str]'}\nsops: {version: 3.9.0}\n"
	}
	ksops := with(overlay("resources: [../base]\ngenerators: [gen.yaml]\n"), "prod/gen.yaml", "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [s.enc.yaml]\n", "prod/s.enc.yaml", sops("a"))
	const commonPatch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
	const refused, unknown = "\"path\": \"spec.selector\"", "cannot be rendered; applied as it is written, the change is refused"
	const locked = "dependencies: [{name: db, version: 1.0.0, repository: 'https://charts.example.com'}, {name: own, version: 1.0.0, repository: 'file://../own'}]\n"
	below := map[string]string{} // the same chart
	for name, text := range chart {
		below["templates/"+strings.TrimPrefix(name, "shop/")] = text
	}
	for _, c := range []struct {
		name     string
		old      map[string]string
		change   []string
		status   int
		want     string
		complete bool
	}{
		{"a remote base", map[string]string{"prod/kustomization.yaml": remote, "prod/web.yaml": deployment}, []string{"prod/web.yaml", web}, exitRefused, refused, true},
		{"a remote base and another one", overlay("resources: ['https://github.com/a/b//c?ref=v1', ../base]\n"), []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"a secret that git does not hold", overlay("secretGenerator: [{name: s, envs: [secrets.env]}]\nresources: [../base]\n"), []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"a file of a generator that git does not hold", overlay("configMapGenerator: [{name: c, files: [c.txt]}]\nresources: [../base]\n"), []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"a chart elsewhere", overlay("helmCharts: [{name: db, repo: 'https://charts.example.com', version: 1.0.0}]\nresources: [../base]\n"), []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"below a Flux Kustomization", with(map[string]string{"prod/kustomization.yaml": remote, "prod/web.yaml": deployment}, "clusters/home/apps.yaml", flux), []string{"prod/web.yaml", web}, exitRefused, refused, true},
		{"a claim that is no longer listed beside a remote base", with(map[string]string{"prod/kustomization.yaml": remote, "prod/web.yaml": claim("data", "fast")}, "clusters/home/apps.yaml", flux),
			[]string{"prod/kustomization.yaml", strings.Replace(remote, ", web.yaml", "", 1)}, exitClean, "\"cost\": \"data\"", true}, // with both, kustomize would have failed
		{"a claim that is no longer listed beside a remote base that changes", with(map[string]string{"prod/kustomization.yaml": remote, "prod/web.yaml": claim("data", "fast")}, "clusters/home/apps.yaml", flux),
			[]string{"prod/kustomization.yaml", strings.Replace(strings.Replace(remote, ", web.yaml", "", 1), "v1", "v2", 1)}, exitClean, "deleted (cost: data), unless the part of its unit that was not checked has it", false},
		{"a dependency", chart, []string{"shop/values.yaml", "class: slow\n"}, exitRefused, "spec.storageClassName", true},
		{"the version of a chart without its dependency", chart, []string{"shop/Chart.yaml", strings.Replace(chart["shop/Chart.yaml"], "1.0.0", "1.1.0", 1), "shop/README.md", "# Shop\n"},
			exitClean, "the rest of it was checked", true},
		{"notes that name a dependency", with(chart, "shop/templates/NOTES.txt", "{{ include \"db.name\" . }}\n"), []string{"shop/values.yaml", "class: slow\n"}, exitRefused, "spec.storageClassName", true},
		{"the version of a dependency", chart, []string{"shop/Chart.yaml", strings.Replace(chart["shop/Chart.yaml"], "db, version: 1.0.0", "db, version: 1.1.0", 1)}, exitClean, "the rest of it was checked", false},
		{"the version of a dependency of a chart below templates", below, []string{"templates/Chart.yaml", strings.Replace(below["templates/Chart.yaml"], "db, version: 1.0.0", "db, version: 1.1.0", 1)}, exitClean, "the rest of it was checked", false},
		{"the version of a dependency in Chart.lock", with(chart, "shop/Chart.lock", locked), []string{"shop/Chart.lock", strings.Replace(locked, "db, version: 1.0.0", "db, version: 1.1.0", 1)}, exitClean, "the rest of it was checked", false},
		{"of one that the tree has", with(chart, "shop/Chart.lock", locked), []string{"shop/Chart.lock", strings.Replace(locked, "own, version: 1.0.0", "own, version: 1.1.0", 1)}, exitClean, "", true},
		{"the values of a dependency", chart, []string{"shop/values.yaml", "class: fast\ndb: {size: 1Gi}\n"}, exitClean, "the rest of it was checked", false},
		{"the values of all charts", chart, []string{"shop/values.yaml", "class: fast\nglobal: {size: 1Gi}\n"}, exitClean, "the rest of it was checked", false},
		{"other values of a dependency for an environment", with(chart, "shop/values-prod.yaml", "class: fast\n"), []string{"shop/values-prod.yaml", "db: {size: 1Gi}\n"},
			exitClean, "the rest of it was checked", false},
		{"a template that a dependency may use", with(chart, "shop/templates/_names.tpl", "{{ define \"name\" }}a{{ end }}\n"), []string{"shop/templates/_names.tpl", "{{ define \"name\" }}b{{ end }}\n"},
			exitClean, "the rest of it was checked", false},
		{"an encrypted resource", secret, []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"an encrypted resource that changes", secret, []string{"secret/secret.yaml", encrypted("b"), "base/web.yaml", web}, exitRefused, refused, false},
		{"a label of all, which an encrypted resource has too", secret, []string{"prod/kustomization.yaml", "commonLabels: {a: b}\nresources: [../base, ../secret]\n"}, exitRefused, refused, false},
		{"encrypted variables of a generator", with(overlay("secretGenerator: [{name: s, envs: [secrets.env]}]\nresources: [../base]\n"), "prod/secrets.env", encrypted("a")),
			[]string{"base/web.yaml", web}, exitRefused, refused, true},
		{"encrypted variables of a generator that change", with(overlay("secretGenerator: [{name: s, envs: [secrets.env]}]\nresources: [../base]\n"), "prod/secrets.env", encrypted("a")),
			[]string{"prod/secrets.env", encrypted("b"), "base/web.yaml", web}, exitRefused, refused, false},
		{"the type of a secret with encrypted variables", with(overlay("secretGenerator: [{name: s, envs: [secrets.env]}]\nresources: [../base]\n"), "prod/secrets.env", encrypted("a")),
			[]string{"prod/kustomization.yaml", "secretGenerator: [{name: s, type: a/b, envs: [secrets.env]}]\nresources: [../base]\n"}, exitClean, "the rest of it was checked", false},
		{"an image beside an encrypted resource", secret, []string{"prod/kustomization.yaml", "resources: [../base, ../secret]\nimages: [{name: web, newTag: v2}]\n"}, exitClean, "the rest of it was checked", false},
		{"a tag beside an encrypted resource", tagged("v1"), []string{"prod/kustomization.yaml", tagged("v2")["prod/kustomization.yaml"]}, exitClean, "the rest of it was checked", true},
		{"a tag of an image that only an encrypted resource may run", with(tagged("v1"), "base/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)),
			[]string{"prod/kustomization.yaml", tagged("v2")["prod/kustomization.yaml"]}, exitClean, "the rest of it was checked", false},
		{"a tag that a replacement may copy, beside an encrypted resource", with(tagged("v1"), "prod/kustomization.yaml", tagged("v1")["prod/kustomization.yaml"]+copies),
			[]string{"prod/kustomization.yaml", tagged("v2")["prod/kustomization.yaml"] + copies}, exitClean, "the rest of it was checked", false},
		{"a tag beside an encrypted resource and a remote base", with(tagged("v1"), "prod/kustomization.yaml", strings.Replace(tagged("v1")["prod/kustomization.yaml"], "[../base", "['https://github.com/a/b//c?ref=v1', ../base", 1)),
			[]string{"prod/kustomization.yaml", strings.Replace(tagged("v2")["prod/kustomization.yaml"], "[../base", "['https://github.com/a/b//c?ref=v1', ../base", 1)}, exitClean, "the rest of it was checked", false},
		{"a tag in values beside an encrypted template", image, []string{"shop/values.yaml", "image: {repository: web, tag: v2}\nclass: fast\n"}, exitClean, "the rest of it was checked", true},
		{"another value beside an encrypted template", image, []string{"shop/values.yaml", "image: {repository: web, tag: v1}\nclass: v2\n"}, exitClean, "the rest of it was checked", false},
		{"a resource beside an encrypted one", with(secret, "c.yaml", claim("c", "fast")), []string{"prod/kustomization.yaml", "resources: [../base, ../secret, c.yaml]\n", "prod/c.yaml", claim("more", "fast")},
			exitClean, "the rest of it was checked", true},
		{"an encrypted resource of another base", with(secret, "more/kustomization.yaml", "namePrefix: a-\nresources: [web.yaml]\n", "more/web.yaml", claim("more", "fast"),
			"prod/kustomization.yaml", "resources: [../base, ../secret, ../more]\n"),
			[]string{"prod/kustomization.yaml", "resources: [../base, ../more]\n", "more/kustomization.yaml", "namePrefix: a-\nresources: [web.yaml, ../secret]\n"}, exitClean, "the rest of it was checked", false},
		{"a new kustomization with encrypted variables", map[string]string{"web.yaml": deployment},
			[]string{"prod/kustomization.yaml", "secretGenerator: [{name: s, envs: [secrets.env]}]\n", "prod/secrets.env", encrypted("a")}, exitClean, "", true},
		{"an object beside a generator of ksops", ksops, []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"a secret that ksops decrypts", ksops, []string{"prod/s.enc.yaml", sops("b")}, exitClean, "", true},
		{"the files of a generator of ksops", ksops, []string{"prod/gen.yaml", strings.Replace(ksops["prod/gen.yaml"], "]", ", t.enc.yaml]", 1)}, exitClean, "the rest of it was checked", false},
		{"a file outside of the directory, which kustomize reads only on demand", with(overlay("resources: [../base]\npatches: [{path: ../p.yaml}]\n"), "p.yaml", commonPatch), []string{"base/web.yaml", web},
			exitRefused, "kustomize build --load-restrictor LoadRestrictionsNone prod | kubectl apply", true},
		{"a file outside of the directory, from now on", with(overlay("resources: [../base]\n"), "p.yaml", commonPatch), []string{"prod/kustomization.yaml", "resources: [../base]\npatches: [{path: ../p.yaml}]\n"},
			exitUnread, "../p.yaml is not in or below prod", false},
		{"a file outside of the directory, no more", with(overlay("resources: [../base]\npatches: [{path: ../p.yaml}]\n"), "p.yaml", commonPatch),
			[]string{"prod/kustomization.yaml", "resources: [../base]\npatches: [{path: p.yaml}]\n", "p.yaml", "", "prod/p.yaml", commonPatch, "base/web.yaml", web}, exitRefused, refused, true},
		{"an encrypted patch", with(overlay("resources: [../base]\npatches: [{path: p.yaml}]\n"), "prod/p.yaml", encrypted("a")), []string{"base/web.yaml", web}, exitClean, "kustomization prod " + unknown, false},
		{"an encrypted template", with(chart, "shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/templates/secret.yaml", encrypted("a"), "shop/templates/web.yaml", deployment),
			[]string{"shop/templates/web.yaml", web}, exitRefused, refused, true},
		{"an encrypted template that changes", with(chart, "shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/templates/secret.yaml", encrypted("a")),
			[]string{"shop/templates/secret.yaml", encrypted("b")}, exitClean, "the rest of it was checked", false},
		{"an encrypted file of a directory", map[string]string{"apps/shop.yaml": directory, "prod/web.yaml": deployment, "prod/secret.yaml": encrypted("a")}, []string{"prod/web.yaml", web}, exitRefused, refused, true},
		{"an encrypted file of a directory that changes", map[string]string{"apps/shop.yaml": directory, "prod/web.yaml": deployment, "prod/secret.yaml": encrypted("a")},
			[]string{"prod/secret.yaml", encrypted("b")}, exitClean, "the rest of it was checked", false},
		{"an encrypted file", map[string]string{"web.yaml": deployment, "secret.yaml": encrypted("a")}, []string{"secret.yaml", encrypted("b")}, exitClean, "it is encrypted by git-crypt", false},
		{"an encrypted resource of an Application with a source elsewhere", with(sources, "prod/kustomization.yaml", "resources: [../base, secret.yaml]\n", "prod/secret.yaml", encrypted("a")),
			[]string{"prod/kustomization.yaml", "resources: [../base, secret.yaml]\nnamePrefix: a-\n"}, exitClean, "the rest of it was checked", false},
		{"a source of an Application", sources, []string{"base/web.yaml", web}, exitRefused, refused, true},
		{"an image beside a source of an Application", sources, []string{"prod/kustomization.yaml", "resources: [../base]\nimages: [{name: web, newTag: v2}]\n"}, exitClean, "the rest of it was checked", true},
		{"the version of a source of an Application", sources, []string{"apps/shop.yaml", strings.Replace(application, "1.0.0", "2.0.0", 1), "base/web.yaml", web}, exitRefused, refused, false},
		{"a comment in values of a source of an Application", sources, []string{"db/values.yaml", "a: 1 # of all\n"}, exitClean, "the rest of it was checked", true},
		{"values of a source of an Application", sources, []string{"db/values.yaml", "a: 2\n"}, exitClean, "the rest of it was checked", false},
		{"values that two sources of an Application read", with(sources, "prod/kustomization.yaml", "resources: [../base]\nconfigMapGenerator: [{name: v, files: [values.yaml]}]\n", "prod/values.yaml", "a: 1\n",
			"apps/shop.yaml", strings.Replace(application, "db/values", "prod/values", 1)), []string{"prod/values.yaml", "a: 2\n"}, exitClean, "the rest of it was checked", false},
		{"a mistake beside a source of an Application", sources, []string{"prod/kustomization.yaml", "resources: [../none]\n"}, exitUnread, "", false},
		{"a chart without its dependency beside a source of an Application", with(chart, "apps/shop.yaml", strings.Replace(application, "path: prod", "path: shop", 1), "db/values.yaml", "a: 1\n"),
			[]string{"shop/values.yaml", "class: fast\ndb: {a: 1}\n"}, exitClean, "the rest of it was checked", false},
		{"a label of all, which the missing part has too", overlay("resources: ['https://github.com/a/b//c?ref=v1', ../base]\n"),
			[]string{"prod/kustomization.yaml", "commonLabels: {a: b}\nresources: ['https://github.com/a/b//c?ref=v1', ../base]\n"}, exitRefused, refused, false},
		{"a patch of the missing part", overlay("resources: ['https://github.com/a/b//c?ref=v1', ../base]\npatches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: remote}, spec: {replicas: 2}}'}]\n"),
			[]string{"base/web.yaml", web}, exitClean, "kustomization prod " + unknown, false},
		{"an overlay that cannot be read", overlay("resources: [../base\n"), []string{"base/web.yaml", web}, exitClean, "kustomization prod " + unknown, false},
		{"an overlay with an unknown field", overlay("resources: [../base]\nfoo: bar\n"), []string{"base/web.yaml", web}, exitClean, "kustomization prod " + unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, with(c.old, c.change...))
			got := runCommand("", "check", "--git", "HEAD", "-o", "json")
			if got.status != c.status || !strings.Contains(got.out, c.want) || strings.Contains(got.out, `"complete": true`) != c.complete {
				t.Errorf("status %d, want %d with %q, complete %t\n%s%s", got.status, c.status, c.want, c.complete, got.out, got.err)
			}
		})
	}
}

// TestRenderingsOfUnchangedUnits: a unit that does not change and lacks something is rendered once, and only if its
// rules are needed. The script of a generator that names a group of definitions defines nothing.
func TestRenderingsOfUnchangedUnits(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n" +
		"spec: {group: example.com, names: {kind: Widget, plural: widgets}}\n"
	compare := func(changed string) (renderings int64) {
		var count atomic.Int64
		side := func(object string) *unit.Side {
			files := map[string]string{"prod/crd.yaml": crd, "prod/roles.py": "group = 'argoproj.io'\n", "object.yaml": object,
				"prod/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', crd.yaml]\nconfigMapGenerator: [{name: roles, files: [roles.py]}]\n"}
			tree, err := unit.Dir(writeFiles(t, files))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { tree.Close() })
			return &unit.Side{Tree: tree, Files: []manifest.File{{Name: "object.yaml", Path: "object.yaml"}, {Name: "prod/crd.yaml", Path: "prod/crd.yaml"}}}
		}
		if _, err := unit.Compare(side(changed+"data: a\n"), side(changed+"data: b\n"), unit.Options{Step: func() { count.Add(1) }}); err != nil {
			t.Fatal(err)
		}
		return count.Load()
	}
	if n := compare("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"); n != 0 {
		t.Errorf("%d renderings for an object that needs no CRD, want 0", n)
	}
	if n := compare("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"); n != 1 {
		t.Errorf("%d renderings for an object that needs the CRD, want 1", n)
	}
}

// TestRulesOfFailingUnits: the CRDs of a unit that cannot be rendered judge the objects of the tree.
func TestRulesOfFailingUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\nspec:\n  group: example.com\n" +
		"  names: {kind: Gadget, plural: gadgets}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
		"    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}}}\n"
	gadget := func(size string) string {
		return "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: " + size + "}\n"
	}
	for _, c := range []struct {
		name  string
		files map[string]string
	}{
		{"resources of a kustomization with a remote base", map[string]string{"k/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', crd.yaml]\n", "k/crd.yaml": crd}},
		{"a base of such a kustomization", map[string]string{"k/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', ../crd]\n", "crd/kustomization.yaml": "resources: [crd.yaml]\n", "crd/crd.yaml": crd}},
		{"a kustomization that patches the missing part", map[string]string{"k/crd.yaml": crd,
			"k/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', crd.yaml]\npatches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: remote}, spec: {replicas: 2}}'}]\n"}},
		{"crds of a chart that cannot be read", map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: [\n", "c/crds/crd.yaml": crd}},
		{"a template of a chart without its dependency", map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: d, version: 1.0.0, repository: 'https://charts.example.com'}]\n",
			"c/templates/crd.yaml": crd}},
		{"a template of a chart that cannot be read", map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: [\n", "c/templates/crd.yaml": crd}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := with(c.files, "apps/g.yaml", gadget("s"))
			repositoryOf(t, old, nil)
			change(t, old, with(old, "apps/g.yaml", gadget("m")))
			if got := runCommand("", "check", "--git", "HEAD"); got.status != exitRefused || !strings.Contains(got.out, "Gadget g (apps/g.yaml:1)") {
				t.Errorf("status %d: %s%s", got.status, got.out, got.err)
			}
		})
	}
}

// TestFates: a changed file is not covered if it could be deployed and nothing reads it. A file that cannot be deployed
// leaves the tick.
func TestFates(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	chart := map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/values.yaml": "class: fast\n", "shop/templates/claim.yaml": claim("data", "{{ .Values.class }}"),
	}
	asks := with(chart, "shop/values.yaml", "{}\n", "shop/templates/claim.yaml", "# readOnlyRootFilesystem\n"+claim("data", "{{ required \"a class is needed\" .Values.class }}"))
	const override = "image: a\n"
	for _, c := range []struct {
		name     string
		old      map[string]string
		change   []string
		complete bool
	}{
		{"a manifest in a hidden directory", map[string]string{".k8s/web.yaml": deployment}, []string{".k8s/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")}, false},
		{"a new one", map[string]string{"a.yaml": claim("data", "fast")}, []string{".flux/claim.yaml", claim("more", "fast")}, false},
		{"a template in a hidden directory", map[string]string{".helm/templates/claim.yaml": claim("data", "{{ .Values.class }}")}, []string{".helm/templates/claim.yaml", claim("data", "{{ .Values.other }}")}, false},
		{"values in a hidden directory", map[string]string{".helm/templates/claim.yaml": claim("data", "{{ .Values.class }}"), ".helm/values.yaml": "class: fast\n"}, []string{".helm/values.yaml", "class: slow\n"}, false},
		{"a patch in a hidden kustomization", map[string]string{".k8s/kustomization.yaml": "resources: [web.yaml]\npatches: [{path: p.yaml}]\n", ".k8s/web.yaml": deployment, ".k8s/p.yaml": "- {op: remove, path: /spec/replicas}\n"},
			[]string{".k8s/p.yaml", "- {op: remove, path: /spec/selector}\n"}, false},
		{"a file that values ask for", with(asks, "shop/values.yaml", "text: '{{ .Files.Get \"a.txt\" }}'\n", "shop/a.txt", "a\n", "shop/templates/a.yaml", "{{ tpl .Values.text . }}\n"),
			[]string{"shop/a.txt", "b\n"}, false},
		{"a manifest that becomes a template", map[string]string{"claim.yaml": claim("data", "fast")}, []string{"claim.yaml", "{{ include \"claim\" . }}\n"}, false},
		{"a template that becomes a manifest", map[string]string{"claim.yaml": "{{ include \"claim\" . }}\n"}, []string{"claim.yaml", claim("data", "fast")}, false},
		{"a template of a chart that the tree lacks", map[string]string{"shop/templates/claim.yaml": "{{ include \"claim\" . }}\n"}, []string{"shop/templates/claim.yaml", "{{ include \"other\" . }}\n"}, false},
		{"values that no rendering uses", with(chart, "shop/values_prod.yaml", override), []string{"shop/values_prod.yaml", "class: slow\n"}, false},
		{"values in a directory for them", with(chart, "shop/values/prod.yaml", override), []string{"shop/values/prod.yaml", "class: slow\n"}, false},
		{"values in JSON", with(chart, "shop/values-prod.json", "{}\n"), []string{"shop/values-prod.json", "{\"class\": \"slow\"}\n"}, false},
		{"values of an environment that a template reads as a file", with(asks, "shop/values-prod.yaml", "class: fast\nimage: a\n", "shop/templates/a.yaml", "{{ .Files.Get \"values-prod.yaml\" | required .Values.class }}\n"),
			[]string{"shop/values-prod.yaml", "class: fast\nimage: b\n"}, false},

		{"values of an environment", with(chart, "shop/values-prod.yaml", override), []string{"shop/values-prod.yaml", "image: b\n"}, true},
		{"values of an environment beside values that the chart refuses", with(asks, "shop/values-prod.yaml", "class: fast\nimage: a\n"), []string{"shop/values-prod.yaml", "class: fast\nimage: b\n"}, true},
		{"a README of a chart that refuses its values", with(asks, "shop/README.md", "a\n"), []string{"shop/README.md", "b\n"}, true},
		{"a schema of values", with(chart, "shop/values.schema.extra.json", "{}\n"), []string{"shop/values.schema.extra.json", "{\"title\": \"a\"}\n"}, true},
		{"a workflow", map[string]string{"a.yaml": claim("data", "fast"), ".github/workflows/ci.yaml": "on: push\n", ".github/kind.yaml": "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n"},
			[]string{".github/workflows/ci.yaml", "on: pull_request\n", ".github/kind.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nnodes: []\n"}, true},
		{"a template of another tool", map[string]string{"a.yaml": claim("data", "fast"), "helmfile.yaml": "releases:\n{{ range .Values.apps }}\n- name: {{ . }}\n{{ end }}\n"},
			[]string{"helmfile.yaml", "releases:\n{{ range .Values.apps }}\n- name: {{ . }}-x\n{{ end }}\n"}, true},
		{"files of other tools", map[string]string{"a.yaml": claim("data", "fast"), ".circleci/config.yml": "version: 2\n", ".pre-commit-config.yaml": "repos: []\n", "docs/a.md": "a\n", "main.go": "package main\n"},
			[]string{".circleci/config.yml", "version: 2.1\n", ".pre-commit-config.yaml", "repos: [a]\n", "docs/a.md", "b\n", "main.go", "package a\n", "p.svg", "<svg/>"}, true},
		{"expected output of tests", map[string]string{"a.yaml": claim("data", "fast"), "pkg/golden/web.yaml": deployment, "shop/Chart.yaml": chart["shop/Chart.yaml"], "shop/test/web.yaml": deployment},
			[]string{"pkg/golden/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop"), "shop/test/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")}, true},
		{"expected output of other tests", map[string]string{"a.yaml": claim("data", "fast"), "a/__snapshots__/web.yaml": deployment, "ui/package.json": "{}\n", "ui/tests/web.yaml": deployment},
			[]string{"a/__snapshots__/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop"), "ui/tests/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")}, true},
		{"nothing but a README", map[string]string{"a.yaml": claim("data", "fast")}, nil, true},
		{"a description in a CRD", map[string]string{"crd.yaml": widgets("None", "class: {type: string, description: a}", ""), "w.yaml": widget("v1", "ns", "w", "{class: a}")},
			[]string{"crd.yaml", widgets("None", "class: {type: string, description: b}", "")}, true},
		{"a description in a CRD of a chart", with(chart, "shop/crds/crd.yaml", widgets("None", "class: {type: string, description: a}", "")),
			[]string{"shop/crds/crd.yaml", widgets("None", "class: {type: string, description: b}", "")}, true},
		{"a hidden directory that the settings exclude", map[string]string{".fieldlock.yaml": "exclude: ['.k8s/**']\n", ".k8s/web.yaml": deployment}, []string{".k8s/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")}, true},
		{"a new chart that asks for values", map[string]string{"a.yaml": claim("data", "fast")},
			[]string{"shop/Chart.yaml", chart["shop/Chart.yaml"], "shop/templates/claim.yaml", claim("more", "{{ required \"a class is needed\" .Values.class }}")}, true},
		{"an image through base and overlay", map[string]string{"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment, "prod/kustomization.yaml": "resources: [../base]\n"},
			[]string{"base/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)}, true},
		{"a value of a chart", chart, []string{"shop/values.yaml", "class: fast\nother: 1\n"}, true},
		{"a comment of a Kustomization", fluxFiles(), []string{"apps/claim.yaml", "# a claim\n" + claim("data", "${CLASS:=slow}")}, true},
		{"a variable of Flux", fluxFiles(), []string{"clusters/home/apps.yaml", strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "CLASS: fast", "CLASS: fast, OTHER: a", 1)}, true},
		{"a value of a HelmRelease", fluxFiles(), []string{"apps/release.yaml", strings.Replace(fluxFiles()["apps/release.yaml"], "class: fast", "class: fast, other: 1", 1)}, true},
		{"a new app", fluxFiles(), []string{"apps/more.yaml", claim("more", "fast")}, true},
		{"a directory that moves, with two objects of one name", map[string]string{"stage/a/web.yaml": deployment, "stage/b/web.yaml": strings.ReplaceAll(deployment, "app: web", "app: shop")},
			[]string{"stage/a/web.yaml", "", "stage/b/web.yaml", "", "old/a/web.yaml", deployment, "old/b/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")}, true},
		{"two objects of one name that change places in a directory that moves", map[string]string{"stage/a/web.yaml": deployment, "stage/b/web.yaml": strings.ReplaceAll(deployment, "app: web", "app: shop")},
			[]string{"stage/a/web.yaml", "", "stage/b/web.yaml", "", "old/b/web.yaml", deployment, "old/a/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")}, false},
		{"a template that moves", map[string]string{"a.yaml": claim("data", "fast"), "shop/templates/claim.yaml": "{{ include \"claim\" . }}\n"}, []string{"shop/templates/claim.yaml", "", "old/shop/templates/claim.yaml", "{{ include \"claim\" . }}\n"}, true},
		{"a template that moves and changes", map[string]string{"shop/templates/claim.yaml": "{{ include \"claim\" . }}\n"}, []string{"shop/templates/claim.yaml", "", "old/shop/templates/claim.yaml", "{{ include \"c\" . }}\n"}, false},
		{"a file that moves", map[string]string{"a.yaml": claim("data", "fast")}, []string{"a.yaml", "", "b/a.yaml", claim("data", "fast")}, true},
	} {
		t.Run(c.name, func(t *testing.T) { wantComplete(t, c.old, c.change, c.complete) })
	}
}

// TestExpectedOutput: expected output of tests is left out only where no unit reads it, and read if the settings or the
// command line say so.
func TestExpectedOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	web := strings.ReplaceAll(deployment, "app: web", "app: shop")
	for _, c := range []struct {
		name, file string
		others     map[string]string
		args       []string
		status     int
		want       string
	}{
		{"golden", "pkg/golden/web.yaml", nil, nil, exitClean, "excluded: 1 changed file (pkg/golden/web.yaml)"},
		{"an environment", "env/test/web.yaml", nil, nil, exitRefused, "spec.selector"},
		{"tests of a module", "test/web.yaml", map[string]string{"go.mod": "module a\n"}, nil, exitClean, "excluded: 1 changed file"},
		{"a unit reads it", "pkg/testdata/web.yaml", map[string]string{"pkg/kustomization.yaml": "resources: [testdata/web.yaml]\n"}, nil, exitRefused, "spec.selector"},
		{"the settings read all", "pkg/golden/web.yaml", map[string]string{".fieldlock.yaml": "exclude: []\n"}, nil, exitRefused, "spec.selector"},
		{"the settings exclude something else", "pkg/golden/web.yaml", map[string]string{".fieldlock.yaml": "exclude: [vendor]\n"}, nil, exitClean, "excluded: 1 changed file"},
		{"a path names it", "pkg/golden/web.yaml", nil, []string{"pkg/golden"}, exitRefused, "spec.selector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := with(c.others, c.file, deployment, "a.yaml", claim("data", "fast"))
			repositoryOf(t, old, nil)
			change(t, old, with(old, c.file, web))
			got := runCommand("", append([]string{"check", "--git", "HEAD"}, c.args...)...)
			if got.status != c.status || !strings.Contains(got.out, c.want) {
				t.Errorf("status %d, want %d with %q\n%s%s", got.status, c.status, c.want, got.out, got.err)
			}
		})
	}
	repositoryOf(t, map[string]string{"web.yaml": deployment}, nil)
	change(t, map[string]string{"web.yaml": deployment}, map[string]string{"golden/web.yaml": web})
	if got := runCommand("", "check", "--git", "HEAD"); !strings.Contains(got.out, "? ") || !strings.Contains(got.out, "expected output of tests") {
		t.Errorf("an object that moves into golden: status %d\n%s%s", got.status, got.out, got.err)
	}
}

// TestLimits: a changed unit that runs into a limit is an error, also if OLD runs into it: otherwise a change could hide a
// refusal by slow rendering. An unchanged unit may run into it.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for limits")
	}
	const (
		slow    = "# {{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}\n"
		large   = "# {{ $x := \"x\" }}{{ range until 40 }}{{ $x = cat $x $x }}{{ end }}\n"
		perUnit = "--unit-timeout=500ms"
	)
	chart := func(template string) map[string]string {
		return map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/values.yaml": "class: fast\n", "shop/templates/claim.yaml": claim("data", "{{ .Values.class }}") + template, "other.yaml": deployment}
	}
	for _, c := range []struct {
		name     string
		old, new map[string]string
		limit    string
		status   int
	}{
		{"a change that makes it slow", chart(""), with(chart(slow), "shop/values.yaml", "class: slow\n"), perUnit, exitUnread},
		{"a change that makes all together slow", chart(""), with(chart(slow), "shop/values.yaml", "class: slow\n"), "--units-timeout=500ms", exitUnread},
		{"a change that fills the memory", chart(""), with(chart(large), "shop/values.yaml", "class: slow\n"), "--unit-memory=200", exitUnread},
		{"a change of what is slow", chart(slow), with(chart(slow), "shop/values.yaml", "class: slow\n"), perUnit, exitUnread},
		{"a change of what was slow", chart(slow), with(chart(""), "shop/values.yaml", "class: slow\n"), perUnit, exitUnread},
		{"slow in upgrades", chart(""), with(chart("{{ if .Release.IsUpgrade }}\n"+slow+"{{ end }}"), "shop/values.yaml", "class: fast\nother: 1\n"), perUnit, exitUnread},
		{"a change beside what is slow", chart(slow), with(chart(slow), "other.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)), perUnit, exitClean},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, c.new)
			if got := runCommand("", "check", "--git", "HEAD", c.limit); got.status != c.status || c.status == exitUnread && !strings.Contains(got.err, "took more than") {
				t.Errorf("status %d, want %d: %s%s", got.status, c.status, got.out, got.err)
			}
		})
	}
}
