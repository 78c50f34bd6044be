package main

import (
	"maps"
	"strings"
	"testing"
)

// replacing is a kustomization's patch of one field of a kind.
func replacing(kind, path, value string) string {
	return "patches:\n- target: {kind: " + kind + "}\n  patch: |-\n    - {op: replace, path: " + path + ", value: " + value + "}\n"
}

// secondChange is a row of a test: a change, after another one that was merged.
type secondChange struct {
	name, reason          string
	files, before, change map[string]string
	status                int
	want                  string // part of what is printed
}

func (c *secondChange) run(t *testing.T) {
	maps.DeleteFunc(c.files, func(_, text string) bool { return text == "" })
	repositoryOf(t, c.files, nil)
	before := with(c.files)
	maps.Copy(before, c.before)
	change(t, c.files, before)
	runGit(t, "add", "-A")
	runGit(t, "commit", "-q", "--allow-empty", "-m", "merged")
	after := with(before)
	maps.Copy(after, c.change)
	change(t, before, after)
	got := runCommand("", "check", "--git", "HEAD")
	if text := got.out + got.err; got.status != c.status || !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "it is written") {
		t.Errorf("%s: status %d, want %d with %q\n%s", c.reason, got.status, c.status, c.want, text)
	}
}

// TestOverridden: a unit that an earlier change put around a file sets a locked field to the value that it had then.
// Its output does not change, so nothing is refused, and a note warns those who apply the file without the unit. Ordinary
// overlays get no note.
func TestOverridden(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const refused, unread = "if the file is applied as it is written, the change is refused: spec.", "kustomization . cannot be rendered"
	fast := replacing("PersistentVolumeClaim", "/spec/storageClassName", "fast")
	job := func(image string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: " + image + "}]}}}\n"
	}
	plain, slow := map[string]string{"claim.yaml": claim("data", "fast")}, map[string]string{"claim.yaml": claim("data", "slow")}
	flux := fluxFiles()
	for _, c := range []secondChange{
		{"a patch", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + fast}, slow, exitClean, refused},
		{"a patch and a prefix", "", plain, map[string]string{"kustomization.yaml": "namePrefix: x-\nresources: [claim.yaml]\n" + fast}, slow, exitClean, refused},
		{"a deletion", "the unit prints something else", with(plain, "map.yaml", immutableMap),
			map[string]string{"kustomization.yaml": "resources: [claim.yaml, map.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, $patch: delete}'\n"},
			slow, exitClean, refused},
		{"the selector of a Deployment", "", map[string]string{"web.yaml": deployment}, map[string]string{"kustomization.yaml": "resources: [web.yaml]\n" +
			replacing("Deployment", "/spec", "{selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}")},
			map[string]string{"web.yaml": strings.ReplaceAll(deployment, "app: web", "app: shop")}, exitClean, refused},
		{"a custom resource", "its CRD is in a file that does not change", map[string]string{"w.yaml": widget("v1", "", "x", "{class: a}"), "crd.yaml": classLocked},
			map[string]string{"kustomization.yaml": "resources: [w.yaml]\n" + replacing("Widget", "/spec/class", "a")}, map[string]string{"w.yaml": widget("v1", "", "x", "{class: b}")}, exitClean, refused},
		{"another change of what the unit prints", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + fast},
			map[string]string{"claim.yaml": claim("data", "slow"), "kustomization.yaml": "commonAnnotations: {a: b}\nresources: [claim.yaml]\n" + fast}, exitClean, refused},
		{"a variable of a definition", "an overlay sets it", flux,
			map[string]string{"clusters/home/kustomization.yaml": "resources: [apps.yaml]\n" + replacing("Kustomization", "/spec/postBuild/substitute/CLASS", "fast")},
			map[string]string{"clusters/home/apps.yaml": strings.Replace(flux["clusters/home/apps.yaml"], "CLASS: fast", "CLASS: slow", 1)}, exitClean, refused},
		{"a value of a HelmRelease", "", flux, map[string]string{"apps/kustomization.yaml": "resources: [claim.yaml, release.yaml]\n" + replacing("HelmRelease", "/spec/values/class", "fast")},
			map[string]string{"apps/release.yaml": strings.Replace(flux["apps/release.yaml"], "class: fast", "class: slow", 1)}, exitClean, refused},
		{"the path of an Application", "", with(argoFiles(), "other/claim.yaml", claim("data", "slow")),
			map[string]string{"apps/kustomization.yaml": "resources: [shop.yaml]\n" + replacing("Application", "/spec/source/path", "shop")},
			map[string]string{"apps/shop.yaml": strings.Replace(argoFiles()["apps/shop.yaml"], "path: shop", "path: other", 1)}, exitClean, refused},
		{"a new unit that changes what it claims", "the change that brings it tells", plain, nil,
			map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + replacing("PersistentVolumeClaim", "/spec/storageClassName", "slow")}, exitClean, "applied to the same cluster, this one is refused"},
		{"a remote base", "the rest is rendered", plain, map[string]string{"kustomization.yaml": "resources: ['https://example.com/base.yaml', claim.yaml]\n"}, slow, exitRefused, ""},
		{"a unit that fails", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n", "kustomization.yml": "resources: [claim.yaml]\n"}, slow, exitClean, unread},

		{"no unit", "", plain, nil, slow, exitRefused, ""},
		{"a unit that changes nothing", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n"}, slow, exitRefused, ""},
		{"a path that every overlay sets", "the directories have the same", with(argoFiles(), "other/claim.yaml", claim("data", "fast"),
			"apps/kustomization.yaml", "resources: [shop.yaml]\n"+replacing("Application", "/spec/source/path", "shop")), nil,
			map[string]string{"apps/shop.yaml": strings.Replace(argoFiles()["apps/shop.yaml"], "path: shop", "path: other", 1)}, exitClean, ""},
		{"a Job that the unit renames", "each name is a new Job", map[string]string{"job.yaml": job("a"), "kustomization.yaml": "resources: [job.yaml]\nnameSuffix: '-1'\n"}, nil,
			map[string]string{"job.yaml": job("b"), "kustomization.yaml": "resources: [job.yaml]\nnameSuffix: '-2'\n"}, exitClean, ""},
		{"a variable of Flux", "as it is written, the file is for nobody else", flux, nil, map[string]string{"apps/claim.yaml": claim("data", "${OTHER:=fast}")}, exitClean, ""},
		{"a name with a variable", "the units print it under other names", with(flux, "apps/claim.yaml", claim("'${APP}'", "fast"),
			"clusters/home/apps.yaml", strings.Replace(flux["clusters/home/apps.yaml"], "CLASS: fast", "CLASS: fast, APP: films", 1)), nil,
			map[string]string{"apps/claim.yaml": claim("'${APP}'", "slow")}, exitRefused, ""},
		{"a name that a replacement sets", "the unit prints it under that name", map[string]string{"claim.yaml": claim("app", "fast"), "kustomization.yaml": "resources: [claim.yaml]\n" +
			"configMapGenerator: [{name: names, literals: [CLAIM=films], options: {disableNameSuffixHash: true}}]\n" +
			"replacements:\n- source: {kind: ConfigMap, name: names, fieldPath: data.CLAIM}\n  targets: [{select: {kind: PersistentVolumeClaim, name: app}, fieldPaths: [metadata.name]}]\n"}, nil,
			map[string]string{"claim.yaml": claim("app", "slow")}, exitRefused, ""},
		{"a field that is not locked", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + fast},
			map[string]string{"claim.yaml": strings.Replace(claim("data", "fast"), "1Gi", "2Gi", 1)}, exitClean, ""},
	} {
		t.Run(c.name, c.run)
	}
}

// TestPrintedReferences: what a definition refers to counts as a unit prints it, with what kustomize generates and
// patches. A decoy changes nothing: an object of the same name in a file that no unit applies.
func TestPrintedReferences(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const mayRefer = "it may refer to what changed"
	flux := fluxFiles()
	flux["clusters/home/apps.yaml"] = strings.Replace(flux["clusters/home/apps.yaml"], "substitute: {CLASS: fast}", "substituteFrom: [{kind: ConfigMap, name: vars}]", 1)
	flux["apps/release.yaml"] = strings.Replace(flux["apps/release.yaml"], "values: {class: fast}", "valuesFrom: [{kind: ConfigMap, name: values}]", 1)
	at := func(name, text string) map[string]string { return map[string]string{name: text} }
	configMap := func(namespace, name, data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: " + namespace + "}\ndata: {" + data + "}\n"
	}
	generator := func(class string) string {
		return "generatorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator:\n- {name: vars, namespace: flux-system, literals: [CLASS=" + class + "]}\n" +
			"- {name: values, namespace: default, literals: ['values.yaml=class: fast']}\n"
	}
	values := func(class string) string {
		return strings.Replace(generator("fast"), "yaml=class: fast", "yaml=class: "+class, 1)
	}
	patched := func(class string) string {
		return "resources: [vars.yaml]\n" + replacing("ConfigMap", "/data/CLASS", class)
	}
	generated := with(flux, "infra/kustomization.yaml", generator("fast"))
	overlay := with(flux, "infra/kustomization.yaml", patched("fast"), "infra/vars.yaml", configMap("flux-system", "vars", "CLASS: none"), "values.yaml", configMap("default", "values", "values.yaml: 'class: fast'"))
	chart := with(flux, "chart.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: shop, namespace: flux-system}\n"+
		"spec: {interval: 1h, chart: ./charts/shop, sourceRef: {kind: GitRepository, name: flux-system}}\n", "charts/copy/Chart.yaml", flux["charts/shop/Chart.yaml"],
		"charts/copy/values.yaml", flux["charts/shop/values.yaml"], "charts/copy/templates/claim.yaml", flux["charts/shop/templates/claim.yaml"],
		"apps/release.yaml", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: default}\n"+
			"spec: {interval: 1h, chartRef: {kind: HelmChart, name: shop, namespace: flux-system}, values: {class: fast}}\n")
	two := with(flux, "infra/vars.yaml", configMap("flux-system", "vars", "CLASS: fast"), "other/vars.yaml", configMap("flux-system", "vars", "CLASS: slow"),
		"apps/map.yaml", configMap("default", "map", "a: b"))
	merged := with(fluxFiles(), "apps/claim.yaml", "", "apps/release.yaml", "", "apps/map.yaml", configMap("default", "map", "a: b"),
		"apps/kustomization.yaml", "resources: [base, map.yaml]\nconfigMapGenerator: [{name: values, namespace: default, behavior: merge, literals: [other=a]}]\n",
		"apps/base/kustomization.yaml", "resources: [release.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\n"+
			"configMapGenerator: [{name: values, namespace: default, literals: ['values.yaml=class: fast']}]\n",
		"apps/base/release.yaml", strings.NewReplacer("./charts/shop", "shop", "GitRepository", "HelmRepository").Replace(flux["apps/release.yaml"]))
	for _, c := range []secondChange{
		{"another object beside a variable of two clusters", "it does not have the variable", two, nil, at("apps/map.yaml", configMap("default", "map", "a: c")), exitClean, "✓ no refused change"},
		{"a locked field in place of such a variable", "the clusters differ", two, nil, at("apps/claim.yaml", claim("data", "slow")), exitClean, "? not checked"},
		{"a variable of one of two clusters", "it may be the other one", two, nil, at("other/vars.yaml", configMap("flux-system", "vars", "CLASS: none")), exitClean, "? not checked"},
		{"another object beside values that an overlay merges", "one unit prints them, and they do not change", merged, nil, at("apps/map.yaml", configMap("default", "map", "a: c")), exitClean, "✓ no refused change"},
		{"values that an overlay merges", "", merged, nil, at("apps/kustomization.yaml", strings.Replace(merged["apps/kustomization.yaml"], "other=a", "other=b", 1)), exitClean, "? not checked"},
		{"a generated variable", "no file has it", generated, nil, at("infra/kustomization.yaml", generator("slow")), exitRefused, ""},
		{"a generated variable behind a decoy", "", generated, at("apps/decoy.yaml", configMap("flux-system", "vars", "CLASS: fast")), at("infra/kustomization.yaml", generator("slow")), exitClean, mayRefer},
		{"a variable that two overlays generate", "they may be for two clusters", with(generated, "other/kustomization.yaml", generator("fast")), nil, at("infra/kustomization.yaml", generator("slow")), exitRefused, "which several units print differently"},
		{"a generated value", "", generated, nil, at("infra/kustomization.yaml", values("slow")), exitRefused, ""},
		{"a generated value behind a decoy", "", generated, at("apps/decoy.yaml", configMap("default", "values", "values.yaml: 'class: fast'")), at("infra/kustomization.yaml", values("slow")), exitClean, mayRefer},
		{"a patched variable", "", overlay, nil, at("infra/kustomization.yaml", patched("slow")), exitRefused, ""},
		{"a patch with the same variable", "", overlay, nil, at("infra/kustomization.yaml", "commonAnnotations: {a: b}\n"+patched("fast")), exitClean, ""},
		{"a chart behind a decoy", "the source has a copy of it", chart, at("apps/decoy.yaml", strings.Replace(chart["chart.yaml"], "charts/shop", "charts/copy", 1)),
			at("charts/shop/templates/claim.yaml", strings.Replace(flux["charts/shop/templates/claim.yaml"], "{{ .Values.class }}", "slow", 1)), exitClean, mayRefer},
		{"a definition in a file without an extension", "kustomize reads files of any name", with(flux, "clusters/home/apps.yaml", "", "clusters/home/apps", fluxFiles()["clusters/home/apps.yaml"],
			"clusters/home/kustomization.yaml", "resources: [apps]\n"), nil, at("clusters/home/apps", strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "CLASS: fast", "CLASS: slow", 1)), exitRefused, ""},
	} {
		t.Run(c.name, c.run)
	}
}

// TestIgnoredBySource: what a source of Flux leaves out decides what its Kustomization applies.
func TestIgnoredBySource(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	source := func(ignore string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n" +
			"spec: {interval: 1m, url: 'https://example.com/team/deploy', ref: {branch: main}, ignore: '" + ignore + "'}\n"
	}
	files := map[string]string{"clusters/home/apps.yaml": fluxFiles()["clusters/home/apps.yaml"], "apps/kustomization.yaml": "resources: [claim.yaml]\n" +
		replacing("PersistentVolumeClaim", "/spec/storageClassName", "fast"), "apps/claim.yaml": claim("data", "fast")}
	two := with(files, "apps/kustomization.yaml", "", "apps/a/claim.yaml", claim("data", "fast"), "apps/b/claim.yaml", claim("data", "slow"), "apps/claim.yaml", "")
	slow := map[string]string{"apps/claim.yaml": claim("data", "slow")}
	for _, c := range []secondChange{
		{"another directory", "", with(two, "source.yaml", source("apps/b")), nil, map[string]string{"source.yaml": source("apps/a")}, exitRefused, ""},
		{"a kustomization", "the controller makes one of the manifests then", with(files, "source.yaml", source("apps/kustomization.yaml")), nil, slow, exitRefused, ""},
		{"a kustomization, by a file", "", with(files, ".sourceignore", "apps/kustomization.yaml\n"), nil, slow, exitRefused, ""},
		{"a kustomization that is not left out", "", with(files, ".sourceignore", "other/kustomization.yaml\n"), nil, slow, exitClean, "the change is refused"},
	} {
		t.Run(c.name, c.run)
	}
}
