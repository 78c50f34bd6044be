package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// TestRecord: a unit that cannot be rendered is not covered if anything changed that it may read, also behind the first reference that
// the tree lacks. An ordinary change beside it is complete, also with --strict.
func TestRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	web := strings.NewReplacer("app: web", "app: shop").Replace(deployment)
	const remote = "resources: ['https://github.com/a/b//c?ref=v1', web.yaml]\n"
	failing := func(kustomization string, files ...string) map[string]string {
		return with(map[string]string{"prod/kustomization.yaml": remote + kustomization, "prod/web.yaml": deployment}, files...)
	}
	below := func(files map[string]string) map[string]string { // a Flux Kustomization
		return with(files, "clusters/home/apps.yaml", strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "./apps", "./prod", 1))
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
	application := func(sources string) map[string]string {
		return map[string]string{"apps/shop.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n" +
			"  sources: [" + sources + "]\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n", "values/shop.yaml": "class: fast\n"}
	}
	const elsewhere = "{repoURL: 'https://charts.example.com', chart: shop, targetRevision: 1.0.0, helm: {valueFiles: [$values/values/shop.yaml]}}, "
	for _, c := range []struct {
		name     string
		old      map[string]string
		change   []string // of files
		complete bool
	}{
		{"a file beside a remote base", failing(""), []string{"prod/web.yaml", web}, false},
		{"a transformer", failing("transformers: [t.yaml]\n", "prod/t.yaml", transformer), []string{"prod/t.yaml", strings.Replace(transformer, "a-", "b-", 1)}, false},
		{"a component", failing("components: [../part]\n", "part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: a-\n"),
			[]string{"part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: b-\n"}, false},
		{"a base", map[string]string{"prod/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', ../base]\n", "base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment},
			[]string{"base/web.yaml", web}, false},
		{"a patch", failing("patches: [{path: p.yaml}]\n", "prod/p.yaml", patch), []string{"prod/p.yaml", strings.Replace(patch, "2", "3", 1)}, false},
		{"a file of a generator", failing("configMapGenerator: [{name: c, files: [c.txt]}]\n", "prod/c.txt", "a\n"), []string{"prod/c.txt", "b\n"}, false},
		{"values of a chart elsewhere", failing("helmCharts: [{name: shop, repo: 'https://charts.example.com', version: 1.0.0, valuesFile: v.yaml}]\n", "prod/v.yaml", "a: 1\n"),
			[]string{"prod/v.yaml", "a: 2\n"}, false},
		{"a base beside a secret that git does not hold", map[string]string{
			"prod/kustomization.yaml": "secretGenerator: [{name: s, envs: [secrets.env]}]\nresources: [../base]\n",
			"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}, []string{"base/web.yaml", web}, false},
		{"a base beside a missing patch", map[string]string{
			"prod/kustomization.yaml": "patches: [{path: missing.yaml}]\nresources: [../base]\n",
			"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}, []string{"base/web.yaml", web}, false},
		{"a base beside a missing schema", map[string]string{
			"prod/kustomization.yaml": "openapi: {path: missing.json}\nresources: [../base]\n",
			"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment}, []string{"base/web.yaml", web}, false},
		{"a patch above the directory", failing("patches: [{path: ../p.yaml}]\n", "p.yaml", patch), []string{"p.yaml", strings.Replace(patch, "2", "3", 1)}, false},
		{"a transformer below a Flux Kustomization", below(failing("transformers: [t.yaml]\n", "prod/t.yaml", transformer)), []string{"prod/t.yaml", strings.Replace(transformer, "a-", "b-", 1)}, false},

		{"values of an Application with a chart elsewhere", application(elsewhere + "{repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, ref: values}"),
			[]string{"values/shop.yaml", "class: slow\n"}, false},
		{"values that an Application names in another repository", application(elsewhere + "{repoURL: 'https://example.org/other.git', targetRevision: HEAD, ref: values}"),
			[]string{"values/shop.yaml", "class: slow\n"}, false},
		{"values of a HelmRelease from a ConfigMap", map[string]string{
			"r.yaml": release(chartOf("HelmRepository") + ", valuesFrom: [{kind: ConfigMap, name: values}]"),
			"v.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: default}\ndata: {values.yaml: 'class: fast'}\n"},
			[]string{"v.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: default}\ndata: {values.yaml: 'class: slow'}\n"}, false},
		{"the tag of an OCIRepository", map[string]string{"r.yaml": release("chartRef: {kind: OCIRepository, name: shop}"), "s.yaml": source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 1.0.0}")},
			[]string{"s.yaml", source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 2.0.0}")}, false},
		{"the URL of a HelmRepository", map[string]string{"r.yaml": release(chartOf("HelmRepository")), "s.yaml": source("HelmRepository", "url: 'https://a.example.com'")},
			[]string{"s.yaml", source("HelmRepository", "url: 'https://b.example.com'")}, false},
		{"the version of a HelmChart", map[string]string{"r.yaml": release("chartRef: {kind: HelmChart, name: shop}"), "s.yaml": source("HelmChart", "chart: shop, version: 1.0.0, sourceRef: {kind: HelmRepository, name: shop}")},
			[]string{"s.yaml", source("HelmChart", "chart: shop, version: 2.0.0, sourceRef: {kind: HelmRepository, name: shop}")}, false},

		{"a file beside a remote base that nothing refers to", failing("", "prod/notes.yaml", "a: 1\n", "prod/README.md", "a\n"), []string{"prod/README.md", "b\n", "prod/notes.yaml", "a: 2\n"}, true},
		{"an image beside a remote base", with(failing(""), "other/web.yaml", deployment), []string{"other/web.yaml", strings.Replace(deployment, "image: ", "image: new-", 1)}, true},
		{"how often a source is read", map[string]string{"r.yaml": release("chartRef: {kind: OCIRepository, name: shop}"), "s.yaml": source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 1.0.0}")},
			[]string{"s.yaml", strings.Replace(source("OCIRepository", "url: 'oci://example.com/shop', ref: {tag: 1.0.0}"), "1h", "2h", 1)}, true},
		{"a HelmRelease of a chart elsewhere that moves", map[string]string{"r.yaml": release(chartOf("HelmRepository"))}, []string{"r.yaml", "", "moved/r.yaml", release(chartOf("HelmRepository"))}, true},
	} {
		t.Run(c.name, func(t *testing.T) { wantComplete(t, c.old, c.change, c.complete) })
	}
}

// wantComplete checks a change of files in a repository: nothing is refused, and the report is complete or not, also for --strict.
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
		{"crds of a chart that cannot be read", map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: [\n", "c/crds/crd.yaml": crd}},
		{"a template of such a chart", map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: [\n", "c/templates/crd.yaml": crd}},
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
