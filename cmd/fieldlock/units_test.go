package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// with returns files with changes; "" removes a file.
func with(files map[string]string, changes ...string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		all[name] = text
	}
	for i := 0; i < len(changes); i += 2 {
		all[changes[i]] = changes[i+1]
	}
	return all
}

// claim is a claim with a storage class and a name.
func claim(name, class string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + "}\nspec:\n  accessModes: [ReadWriteOnce]\n" +
		"  storageClassName: " + class + "\n  resources: {requests: {storage: 1Gi}}\n"
}

// fluxFiles are a Flux repository: a Kustomization with a variable, and a HelmRelease of a chart of the repository.
func fluxFiles() map[string]string {
	const source = "sourceRef: {kind: GitRepository, name: flux-system}"
	return map[string]string{
		"clusters/home/apps.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n" +
			"spec: {interval: 1h, path: ./apps, prune: true, " + source + ", postBuild: {substitute: {CLASS: fast}}}\n",
		"apps/claim.yaml": claim("data", "${CLASS:=slow}"),
		"apps/release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: default}\n" +
			"spec: {interval: 1h, chart: {spec: {chart: ./charts/shop, " + source + "}}, values: {class: fast}}\n",
		"charts/shop/Chart.yaml":           "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"charts/shop/values.yaml":          "class: slow\n",
		"charts/shop/templates/claim.yaml": strings.Replace(claim("shop", "{{ .Values.class }}"), "metadata:", "# a claim\nmetadata:", 1),
	}
}

// encryptedFiles are fluxFiles with variables from a Secret that SOPS has encrypted, and a claim with a storage class.
func encryptedFiles(class string) map[string]string {
	files := fluxFiles()
	files["clusters/home/apps.yaml"] = strings.Replace(files["clusters/home/apps.yaml"], "substitute: {CLASS: fast}", "substituteFrom: [{kind: Secret, name: vars}]", 1)
	return with(files, "apps/claim.yaml", claim("data", class), "apps/vars.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: flux-system}\n"+
		"stringData: {VOLSYNC_CLASS: 'ENC[AES256_GCM,data:a]', KOPIUR_CLASS: 'ENC[AES256_GCM,data:b]'}\nsops: {mac: 'ENC[AES256_GCM,data:c]'}\n")
}

// argoFiles are a repository of Argo CD: an app of apps, whose application is a directory.
func argoFiles() map[string]string {
	application := func(name, path string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: default\n" +
			"  source: {repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, path: " + path + "}\n" +
			"  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
	}
	return map[string]string{"root.yaml": application("root", "apps"), "apps/shop.yaml": application("shop", "shop"), "shop/claim.yaml": claim("data", "fast")}
}

// setFiles are a repository with an ApplicationSet for each directory below sets.
func setFiles(class, more string) map[string]string {
	files := map[string]string{"set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: sets, namespace: argocd}\nspec:\n" +
		"  generators: [{git: {repoURL: 'https://example.com/team/deploy.git', revision: HEAD, directories: [{path: sets/*}]}}]\n" +
		"  template:\n    metadata: {name: '{{path.basename}}'}\n    spec:\n      project: default\n" +
		"      source: {repoURL: 'https://example.com/team/deploy.git', targetRevision: HEAD, path: '{{path}}'}\n" +
		"      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n", "sets/a/claim.yaml": claim("data", class)}
	if more != "" {
		files["sets/"+more+"/claim.yaml"] = claim(more, class)
	}
	return files
}

// TestBesideAChart: a manifest in the directory of a chart that is not part of the chart counts as it is written, also
// where an Application that an earlier change has added renders the chart.
func TestBesideAChart(t *testing.T) {
	files := with(argoFiles(), "shop/Chart.yaml", fluxFiles()["charts/shop/Chart.yaml"], "shop/templates/map.yaml", immutableMap)
	repositoryOf(t, files, with(files, "shop/claim.yaml", claim("data", "slow")))
	if got := runCommand("", "check", "--git", "HEAD"); got.status != exitRefused {
		t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
	}
}

// TestCopyOfAUnit: an object that a new Kustomization or Application adds is compared with the same one of a unit that
// does not change, unless that one is for another cluster or namespace.
func TestCopyOfAUnit(t *testing.T) {
	copied := func(text string) string {
		return strings.NewReplacer("name: apps", "name: more", "name: shop", "name: more", "./apps", "./more", "path: shop", "path: more").Replace(text)
	}
	flux, argo := fluxFiles()["clusters/home/apps.yaml"], argoFiles()["apps/shop.yaml"]
	for _, c := range []struct {
		name     string
		old      map[string]string
		file, by string
		unknown  bool
	}{
		{"Kustomization", fluxFiles(), "clusters/home/more.yaml", copied(flux), true},
		{"Kustomization for another cluster", fluxFiles(), "clusters/home/more.yaml", strings.Replace(copied(flux), "prune: true", "prune: true, kubeConfig: {secretRef: {name: x}}", 1), false},
		{"Kustomization of another cluster", fluxFiles(), "clusters/away/apps.yaml", strings.Replace(flux, "./apps", "./more", 1), false},
		{"Application", argoFiles(), "apps/more.yaml", copied(argo), true},
		{"Application for another cluster", argoFiles(), "apps/more.yaml", strings.Replace(copied(argo), "https://kubernetes.default.svc", "https://example.com", 1), false},
		{"Application for another namespace", argoFiles(), "apps/more.yaml", strings.Replace(copied(argo), "namespace: shop}", "namespace: more}", 1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, with(c.old, c.file, c.by, "more/claim.yaml", claim("data", "slow")))
			if got := runCommand("", "check", "--git", "HEAD"); strings.Contains(got.out, "? PersistentVolumeClaim") != c.unknown {
				t.Errorf("unknown is to be %v\n%s%s", c.unknown, got.out, got.err)
			}
		})
	}
}

// TestUnits: what is deployed decides, not what is written. Each row changes a repository that is committed.
func TestUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const malformed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken}\ndata: [\n"
	overlay := map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment,
		"prod/kustomization.yaml": "resources: [../base]\ncommonLabels:\n  env: x\n",
	}
	chart := map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/values.yaml": "class: fast\n",
		"shop/templates/claim.yaml": claim("data", "{{ .Values.class }}"),
	}
	plain := map[string]string{"claim.yaml": claim("data", "fast")}
	matrix := with(setFiles("fast", ""), "sets/a/notes.md", "some\n", "sets/a/config.json", "{\"a\": 1}\n")
	matrix["set.yaml"] = strings.Replace(matrix["set.yaml"], "directories: [{path: sets/*}]}}]", "directories: [{path: sets/*}]}}, "+
		"{matrix: {generators: [{git: {repoURL: 'https://example.com/team/deploy.git', revision: HEAD, files: [{path: '**/config.json'}]}}, {clusters: {}}]}}]", 1)
	withValues := func(field string) map[string]string { // of an application of a chart
		return with(argoFiles(), "shop/claim.yaml", "", "shop/Chart.yaml", chart["shop/Chart.yaml"], "shop/values.yaml", "class: fast\n", "shop/templates/claim.yaml", chart["shop/templates/claim.yaml"],
			"apps/shop.yaml", strings.Replace(argoFiles()["apps/shop.yaml"], "path: shop", "path: shop, helm: {"+field+": {class: slow}}", 1))
	}
	withTarget := func(field string) map[string]string { // of a patch for other kinds
		return with(fluxFiles(), "apps/release.yaml", strings.Replace(fluxFiles()["apps/release.yaml"], "values:",
			"postRenderers: [{kustomize: {patches: [{target: {"+field+": Job}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/storageClassName\", \"value\": \"slow\"}]'}]}}], values:", 1))
	}
	circle := with(fluxFiles(), "docs/broken.yaml", malformed, "apps/team.yaml", strings.NewReplacer("name: apps", "name: team", "./apps", "./").Replace(fluxFiles()["clusters/home/apps.yaml"]))
	const patched = "resources: [claim.yaml, team.yaml]\npatches: [{target: {kind: Kustomization}, patch: '- {op: replace, path: /spec/path, value: ./clusters}'}]\n"
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n"
	hash := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nimmutable: true\nstringData: {a: {{ randAlphaNum 9 | quote }}, b: {{ .Values.class }}}\n"
	for _, c := range []struct {
		name, reason string
		old, new     map[string]string
		status       int
		want         []string // file:line path of violations
		err          string   // part of a warning or an error
	}{
		{"a label of an overlay", "it reaches the selector", overlay, with(overlay, "prod/kustomization.yaml", "resources: [../base]\ncommonLabels:\n  env: live\n"),
			exitRefused, []string{"prod/kustomization.yaml:3 spec.selector"}, ""},
		{"a base", "the overlay that includes it changes", overlay, with(overlay, "base/web.yaml", strings.ReplaceAll(deployment, "app: web", "app: shop")),
			exitRefused, []string{"base/web.yaml:5 spec.selector"}, ""},
		{"a Job that the overlay renames", "each name is a new Job", with(overlay, "base/kustomization.yaml", "resources: [job.yaml]\n", "base/job.yaml", job, "prod/kustomization.yaml", "resources: [../base]\nnameSuffix: '-1'\n"),
			with(overlay, "base/kustomization.yaml", "resources: [job.yaml]\n", "base/job.yaml", strings.Replace(job, "image: a", "image: b", 1), "prod/kustomization.yaml", "resources: [../base]\nnameSuffix: '-2'\n"), exitClean, nil, ""},
		{"values of a chart", "the line of the value is told", chart, with(chart, "shop/values.yaml", "class: slow\n"), exitRefused, []string{"shop/values.yaml:1 spec.storageClassName"}, ""},
		{"values of an environment", "each file beside values.yaml is an installation", with(chart, "shop/values-prod.yaml", "class: ssd\n"),
			with(chart, "shop/values-prod.yaml", "class: hdd\n"), exitRefused, []string{"shop/values-prod.yaml:1 spec.storageClassName"}, ""},
		{"values of an environment, named the other ways", "", with(chart, "shop/values.eu.yaml", "class: ssd\n", "shop/test-values.yaml", "class: ssd\n"),
			with(chart, "shop/values.eu.yaml", "class: hdd\n", "shop/test-values.yaml", "class: tape\n"), exitRefused,
			[]string{"shop/test-values.yaml:1 spec.storageClassName", "shop/values.eu.yaml:1 spec.storageClassName"}, ""},
		{"values of a chart's tests", "they are an installation, too", with(chart, "shop/ci/a-values.yaml", "class: ssd\n"),
			with(chart, "shop/ci/a-values.yaml", "class: hdd\n"), exitRefused, []string{"shop/ci/a-values.yaml:1 spec.storageClassName"}, ""},
		{"values of a new environment", "nothing is installed with them", chart, with(chart, "shop/values-prod.yaml", "class: hdd\n"), exitClean, nil, ""},
		{"values that never made a release", "they failed before", with(chart, "shop/values-part.yaml", "- a\n"), with(chart, "shop/values-part.yaml", "- b\n"), exitClean, nil, `"complete": false`},
		{"a vast number among the values", "it has an end", with(chart, "shop/templates/n.yaml", "# {{ .Values.size }} {{ int64 .Values.size }}\n"), with(chart, "shop/templates/n.yaml", "# {{ .Values.size }} {{ int64 .Values.size }}\n", "shop/values.yaml", "class: slow\nsize: 1e999999999\n"),
			exitRefused, []string{"shop/values.yaml:1 spec.storageClassName"}, ""},
		{"a link in a chart", "the values are what it leads to", with(chart, "shop/values.yaml", "-> ../fast.yaml", "fast.yaml", "class: fast\n"),
			with(chart, "shop/values.yaml", "-> ../fast.yaml", "fast.yaml", "class: slow\n"), exitRefused, []string{"shop/values.yaml:1 spec.storageClassName"}, ""},
		{"a link of an application", "Argo CD reads what it leads to", with(argoFiles(), "shop/claim.yaml", "-> ../claims/data.yaml", "claims/data.yaml", claim("data", "fast")),
			with(argoFiles(), "shop/claim.yaml", "-> ../claims/data.yaml", "claims/data.yaml", claim("data", "slow")), exitRefused, []string{"shop/claim.yaml:6 spec.storageClassName", "claims/data.yaml:6 spec.storageClassName"}, ""},
		{"a chart's random value", "it differs with each rendering", with(chart, "shop/templates/s.yaml", hash), with(chart, "shop/templates/s.yaml", hash+"# a comment\n"), exitClean, nil, ""},
		{"a value beside a random one", "it does not", with(chart, "shop/templates/s.yaml", hash), with(chart, "shop/templates/s.yaml", strings.Replace(hash, "b: {{ .Values.class }}", "b: other", 1)),
			exitRefused, []string{"shop/templates/s.yaml:5 data"}, ""},

		{"a random value in place of a fixed one", "the cluster has the fixed one", chart, with(chart, "shop/templates/claim.yaml", claim("data", "slow-{{ randAlphaNum 9 }}")),
			exitRefused, []string{"shop/templates/claim.yaml:6 spec.storageClassName"}, ""},
		{"one of several values, in place of a fixed one", "", chart, with(chart, "shop/templates/claim.yaml", claim("data", "{{ index (list \"slow\" \"slower\" \"slowest\") (randInt 0 3) }}")),
			exitRefused, []string{"shop/templates/claim.yaml:6 spec.storageClassName"}, ""},
		{"a template for upgrades", "the release is installed already", chart, with(chart, "shop/templates/claim.yaml", claim("data", "{{ if .Release.IsUpgrade }}slow{{ else }}fast{{ end }}")),
			exitRefused, []string{"shop/templates/claim.yaml:6 spec.storageClassName"}, ""},
		{"a template for upgrades of a HelmRelease", "", fluxFiles(), with(fluxFiles(), "charts/shop/templates/claim.yaml", claim("shop", "{{ if gt .Release.Revision 1 }}slow{{ else }}fast{{ end }}")),
			exitRefused, []string{"charts/shop/templates/claim.yaml:6 spec.storageClassName"}, ""},
		{"a change beside a template for upgrades", "it is reported once", with(chart, "shop/templates/map.yaml", immutableMap+"# {{ .Release.IsInstall }}\n"),
			with(chart, "shop/templates/map.yaml", immutableMap+"# {{ .Release.IsInstall }}\n", "shop/values.yaml", "class: slow\n"), exitRefused, []string{"shop/values.yaml:1 spec.storageClassName"}, ""},
		{"a template that fails in upgrades", "it reads what the last release has left", chart, with(chart, "shop/templates/claim.yaml", chart["shop/templates/claim.yaml"]+"# {{ if .Release.IsUpgrade }}{{ (lookup \"v1\" \"Secret\" \"\" \"x\").data.x }}{{ end }}\n"),
			exitClean, nil, "it asks the cluster with lookup"},

		{"a variable of Flux", "its Kustomization decides the value", fluxFiles(), with(fluxFiles(), "apps/claim.yaml", claim("data", "${OTHER:=fast}")), exitClean, nil, ""},
		{"a default of a variable", "it applies", fluxFiles(), with(fluxFiles(), "apps/claim.yaml", claim("data", "${OTHER:=slow}")), exitRefused, []string{"apps/claim.yaml:6 spec.storageClassName"}, ""},
		{"a variable without a default", "a missing one is empty", with(fluxFiles(), "apps/claim.yaml", claim("data", "${VOLSYNC_CLASS}")), with(fluxFiles(), "apps/claim.yaml", claim("data", "${KOPIUR_CLASS}")), exitClean, nil, ""},
		{"a variable of an encrypted Secret", "nobody can tell", encryptedFiles("${VOLSYNC_CLASS}"), encryptedFiles("${KOPIUR_CLASS}"), exitClean, nil, ""},
		{"a default beside an encrypted Secret", "", encryptedFiles("${VOLSYNC_CLASS:=fast}"), encryptedFiles("${KOPIUR_CLASS:=slow}"), exitClean, nil, ""},
		{"a value of a Kustomization", "the file that uses it did not change", fluxFiles(), with(fluxFiles(), "clusters/home/apps.yaml", strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "CLASS: fast", "CLASS: slow", 1)),
			exitRefused, []string{"clusters/home/apps.yaml:4 spec.storageClassName"}, ""},
		{"a Kustomization of all files that fails", "the others are what they are without it", circle, with(circle, "apps/claim.yaml", claim("data", "slow")),
			exitRefused, []string{"apps/claim.yaml:6 spec.storageClassName"}, `"complete": false`},
		{"a Kustomization that is patched away from all files", "it is not deployed as it is written", with(circle, "apps/kustomization.yaml", patched), with(circle, "apps/kustomization.yaml", patched, "apps/claim.yaml", claim("data", "slow")),
			exitRefused, []string{"apps/claim.yaml:6 spec.storageClassName"}, ""},
		{"a value of a HelmRelease", "its chart prints it", fluxFiles(), with(fluxFiles(), "apps/release.yaml", strings.Replace(fluxFiles()["apps/release.yaml"], "class: fast", "class: slow", 1)),
			exitRefused, []string{"apps/release.yaml:4 spec.storageClassName"}, ""},
		{"a value of a HelmRelease whose definition has a text that YAML takes for a boolean", "the Kustomization prints it as text", fluxFiles(),
			with(fluxFiles(), "apps/release.yaml", strings.NewReplacer("class: fast", "class: slow", "chart: ./charts/shop", "chart: ./charts/shop, version: y").Replace(fluxFiles()["apps/release.yaml"])),
			exitRefused, []string{"apps/release.yaml:4 spec.storageClassName"}, ""},
		{"a field of a HelmRelease in another case", "the API server does not know it", with(fluxFiles(), "charts/shop/values.yaml", "class: none\n"),
			with(fluxFiles(), "charts/shop/values.yaml", "class: none\n", "apps/release.yaml", strings.Replace(fluxFiles()["apps/release.yaml"], "values:", "Values:", 1)),
			exitRefused, []string{"apps/release.yaml:4 spec.storageClassName"}, ""},
		{"a field of a Kustomization in another case", "", fluxFiles(), with(fluxFiles(), "clusters/home/apps.yaml", strings.Replace(fluxFiles()["clusters/home/apps.yaml"], "postBuild", "postbuild", 1)),
			exitRefused, []string{"clusters/home/apps.yaml:4 spec.storageClassName"}, ""},
		{"a field of the target of a post-renderer in another case", "the patch is for all objects", withTarget("kind"), withTarget("Kind"), exitRefused, []string{"apps/release.yaml:4 spec.storageClassName"}, ""},
		{"a field of an application in another case", "", withValues("valuesObject"), withValues("ValuesObject"), exitRefused, []string{"apps/shop.yaml:6 spec.storageClassName"}, ""},
		{"a default of a chart", "the HelmRelease has a value of its own", fluxFiles(), with(fluxFiles(), "charts/shop/values.yaml", "class: none\n"), exitClean, nil, ""},
		{"an application of an application", "", argoFiles(), with(argoFiles(), "shop/claim.yaml", claim("data", "slow")), exitRefused, []string{"shop/claim.yaml:6 spec.storageClassName"}, ""},

		{"a directory that an ApplicationSet finds", "OLD has one less", setFiles("fast", ""), setFiles("slow", "more"), exitRefused, []string{"sets/a/claim.yaml:6 spec.storageClassName"}, ""},
		{"a file that an ApplicationSet does not read", "it lists directories and reads parameters", matrix, with(matrix, "sets/a/notes.md", "other\n"), exitClean, nil, ""},
		{"parameters of an ApplicationSet that needs a cluster", "", matrix, with(matrix, "sets/a/config.json", "{\"a\": 2}\n"), exitClean, nil, `"complete": false`},

		{"a kustomization that claims a file", "what OLD reads as it is written is compared so", plain,
			with(plain, "claim.yaml", claim("data", "slow"), "kustomization.yaml", "resources: [claim.yaml]\npatches:\n- patch: |-\n    - op: replace\n      path: /spec/storageClassName\n      value: fast\n  target: {kind: PersistentVolumeClaim}\n"),
			exitRefused, []string{"claim.yaml:6 spec.storageClassName"}, ""},
		{"a Chart.yaml that appears at the root", "files outside of its templates stay files", plain, with(plain, "claim.yaml", claim("data", "slow"), "Chart.yaml", chart["shop/Chart.yaml"]),
			exitRefused, []string{"claim.yaml:6 spec.storageClassName"}, ""},
		{"a file that becomes a template", "its object moved", map[string]string{"shop/templates/claim.yaml": claim("data", "fast")},
			map[string]string{"shop/templates/claim.yaml": claim("data", "slow"), "shop/Chart.yaml": chart["shop/Chart.yaml"]}, exitRefused, []string{"shop/templates/claim.yaml:6 spec.storageClassName"}, ""},
		{"an overlay over the unit of OLD", "the unit of OLD can still be rendered", map[string]string{"base/kustomization.yaml": "resources: [claim.yaml]\n", "base/claim.yaml": claim("data", "fast")},
			map[string]string{"base/claim.yaml": claim("data", "slow"), "over/kustomization.yaml": "resources: [../base]\nnamePrefix: x-\n", "base/kustomization.yaml": "resources: [claim.yaml]\n"},
			exitRefused, []string{"base/claim.yaml:6 spec.storageClassName"}, ""},
		{"a unit that begins to fail", "it rendered before", overlay, with(overlay, "prod/kustomization.yaml", "resources: [../base, missing.yaml]\n"), exitUnread, nil, "kustomization prod cannot be rendered"},
		{"a unit that fails as before", "it is told, but no error", with(overlay, "prod/kustomization.yaml", "resources: [../base, missing.yaml]\n"), with(overlay, "prod/kustomization.yaml", "resources: [../base, missing.yaml]\nnamePrefix: a-\n"),
			exitClean, nil, `"complete": false`},
		{"a file that is malformed as before", "it is told, but no error", map[string]string{"claim.yaml": claim("data", "fast") + "---\n" + malformed},
			map[string]string{"claim.yaml": claim("data", "fast") + "---\n" + malformed + "- b\n"}, exitClean, nil, `"complete": false`},
		{"a change beside what is malformed as before", "what can be read counts", map[string]string{"claim.yaml": claim("data", "fast") + "---\n" + malformed},
			map[string]string{"claim.yaml": claim("data", "slow") + "---\n" + malformed}, exitRefused, []string{"claim.yaml:6 spec.storageClassName"}, `"complete": false`},
		{"a file that becomes malformed", "the change breaks it", map[string]string{"claim.yaml": claim("data", "fast")},
			map[string]string{"claim.yaml": claim("data", "fast") + "---\n" + malformed}, exitUnread, nil, "claim.yaml"},
		{"a unit that moves", "one candidate is left", chart, map[string]string{"moved/Chart.yaml": chart["shop/Chart.yaml"], "moved/values.yaml": "class: slow\n", "moved/templates/claim.yaml": chart["shop/templates/claim.yaml"],
			"shop/Chart.yaml": "", "shop/values.yaml": "", "shop/templates/claim.yaml": ""}, exitRefused, []string{"moved/templates/claim.yaml:6 spec.storageClassName"}, ""},
		{"a link out of the tree", "", chart, with(chart, "shop/templates/x.yaml", "-> ../../../../etc/passwd"), exitUnread, nil, "leads out of the repository"},
		{"a remote base", "nothing is downloaded", overlay, with(overlay, "prod/kustomization.yaml", "resources: ['https://example.com/base.yaml']\n"), exitClean, nil, `"complete": false`},
		{"applications that point to each other", "they end", argoFiles(), with(argoFiles(), "shop/more.yaml", argoFiles()["root.yaml"], "shop/claim.yaml", claim("data", "slow")), exitRefused, []string{"shop/claim.yaml:6 spec.storageClassName"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, c.new)
			got := runCommand("", "check", "--git", "HEAD", "-o", "json")
			var r compare.Report
			if err := json.Unmarshal([]byte(got.out), &r); err != nil {
				t.Fatalf("%v: %s%s", err, got.out, got.err)
			}
			var found []string
			for _, v := range r.Violations {
				found = append(found, place(v.File, v.Line)+" "+v.Path)
			}
			if got.status != c.status || strings.Join(found, "\n") != strings.Join(c.want, "\n") || !strings.Contains(got.out+got.err, c.err) || c.err == "" && got.err != "" {
				t.Errorf("%s: status %d, want %d; violations %q, want %q\n%s", c.reason, got.status, c.status, found, c.want, got.err)
			}
		})
	}
}

// TestAll: one line that refuses seven objects names five of them, and all with --all.
func TestAll(t *testing.T) {
	files := map[string]string{"old/kustomization.yaml": "resources: [web.yaml]\ncommonLabels:\n  env: a\n", "new/kustomization.yaml": "resources: [web.yaml]\ncommonLabels:\n  env: b\n"}
	for i := range 7 {
		text := "---\n" + strings.ReplaceAll(deployment, "name: web", fmt.Sprint("name: web", i))
		files["old/web.yaml"], files["new/web.yaml"] = files["old/web.yaml"]+text, files["new/web.yaml"]+text
	}
	dir := writeFiles(t, files)
	for flag, want := range map[string]string{"--all=false": "\n  web0, web1, web2, web3, web4 and 2 more\n", "--all": "\n  web0, web1, web2, web3, web4, web5, web6\n"} {
		got := runCommand("", "check", flag, filepath.Join(dir, "old"), filepath.Join(dir, "new"))
		if got.status != exitRefused || !strings.Contains(got.out, want) || strings.Count(got.out, "Deployments (") != 1 {
			t.Errorf("%s: status %d, no %q in\n%s%s", flag, got.status, want, got.out, got.err)
		}
	}
}

// TestRandomName: a test of a chart that gets another name in each rendering is not deleted; one that the change
// removes is.
func TestRandomName(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	pod := func(name string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: a, image: a}]}\n"
	}
	random := pod("a-{{ randAlphaNum 5 | lower }}")
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "templates/a.yaml": random, "templates/b.yaml": pod("b")}
	for b, want := range map[string]int{pod("b") + "# changed\n": 0, "# gone\n": 1} {
		repositoryOf(t, files, nil)
		change(t, files, with(files, "templates/b.yaml", b))
		got := runCommand("", "check", "--git", "HEAD", "-o", "json")
		var r compare.Report
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || len(r.Deletions) != want {
			t.Errorf("%d deletions, want %d: %v %s%s", len(r.Deletions), want, err, got.out, got.err)
		}
	}
}

// change writes the files that differ, and removes those that are gone or empty.
func change(t *testing.T, oldFiles, newFiles map[string]string) {
	t.Helper()
	for name := range oldFiles {
		if newFiles[name] == "" {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range newFiles {
		if strings.HasPrefix(oldFiles[name], "-> ") || strings.HasPrefix(text, "-> ") {
			_ = os.Remove(name) // it would be written through the link
		}
		switch target, isLink := strings.CutPrefix(text, "-> "); {
		case isLink:
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		case text != "":
			writeFile(t, name, text)
		}
	}
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// TestHostAndPath: what counts as the URL of one repository.
func TestHostAndPath(t *testing.T) {
	for url, want := range map[string]string{
		"https://github.com/a/b": "github.com/a/b", "https://github.com/a/b.git": "github.com/a/b", "git@github.com:a/b.git": "github.com/a/b",
		"ssh://git@github.com:22/a/b": "github.com/a/b", "https://user:secret@GitHub.com/a/b/": "github.com/a/b", "github.com:a/b": "github.com/a/b",
		"git@github.com/a/b": "github.com/a/b", "https://github.com/A/b": "github.com/a/b", "a/b": "",
		"/srv/git/a.git": "", "../a": "", "file:///srv/a": "", `C:\a`: "",
	} {
		if got := hostAndPath(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// TestOtherRepository: a source of Argo CD in another repository is not covered, unless a flag or a remote says that it
// is this one.
func TestOtherRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	files := argoFiles()
	repositoryOf(t, files, nil)
	change(t, files, with(files, "shop/claim.yaml", claim("data", "slow"), "apps/shop.yaml", files["apps/shop.yaml"]+"# changed\n"))
	check := func(want int, args ...string) {
		t.Helper()
		if got := runCommand("", append([]string{"check", "--git", "HEAD"}, args...)...); got.status != want {
			t.Errorf("%q: status %d, want %d\n%s%s", args, got.status, want, got.out, got.err)
		}
	}
	check(exitRefused) // without a remote every repository may be this one
	runGit(t, "remote", "add", "origin", "git@example.com:team/deploy.git")
	check(exitRefused)
	runGit(t, "remote", "set-url", "origin", "https://example.com/team/other")
	// Nothing deploys the claim from here, so it is read as it is written.
	if got := runCommand("", "render", "-o", "json"); !strings.Contains(got.out, "the source is in the repository") && !strings.Contains(got.out, "example.com/team/deploy") {
		t.Errorf("%s%s", got.out, got.err)
	}
	check(exitRefused, "--repo-url", "https://example.com/team/deploy")

	// An OCI registry is never this repository. A clone without remotes assumes every other URL to be.
	runGit(t, "remote", "remove", "origin")
	writeFile(t, "root.yaml", strings.Replace(files["root.yaml"], "https://example.com/team/deploy.git", "oci://example.com/apps", 1))
	if got := runCommand("", "render", "-o", "json"); !strings.Contains(got.out, "the source is in oci://example.com/apps") {
		t.Errorf("%s%s", got.out, got.err)
	}
}

// TestCRDsOfCharts: Helm creates what is in crds/ once, Argo CD and a HelmRelease that says so update it; its locks
// count in any case.
func TestCRDsOfCharts(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	crd := func(scope, lock string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n" +
			"  group: example.com\n  scope: " + scope + "\n  names: {kind: Widget, plural: widgets}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
			"    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string" + lock + "}}}}}}\n"
	}
	const locked = ", x-kubernetes-validations: [{rule: self == oldSelf}]"
	widget := func(class string) string {
		return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {class: " + class + "}\n"
	}
	chart := map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/crds/widgets.yaml": crd("Namespaced", locked), "shop/templates/w.yaml": widget("a"),
	}
	release := func(upgrade string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, chart: {spec: {chart: ./shop, sourceRef: {kind: GitRepository, name: flux-system}}}, " + upgrade + "}\n"
	}
	application := strings.ReplaceAll(argoFiles()["apps/shop.yaml"], "name: data", "name: shop")
	scope := with(chart, "shop/crds/widgets.yaml", crd("Cluster", locked))
	for _, c := range []struct {
		name, reason string
		old, new     map[string]string
		flags        []string
		status       int
		want         string
	}{
		{"a chart", "Helm does not update it", chart, scope, nil, exitClean, "Helm creates the objects of a chart's crds directory once"},
		{"a template", "Helm updates it", with(chart, "shop/templates/crd.yaml", crd("Namespaced", locked), "shop/crds/widgets.yaml", ""),
			with(chart, "shop/templates/crd.yaml", crd("Cluster", locked), "shop/crds/widgets.yaml", ""), nil, exitRefused, "spec.scope"},
		{"a template that moves to crds", "a change cannot excuse itself", with(chart, "shop/templates/crd.yaml", crd("Namespaced", locked), "shop/crds/widgets.yaml", ""),
			scope, []string{"--strict"}, exitRefused, "without that, the update is refused"},
		{"a CRD that moves to the templates", "nobody knows what the cluster has", chart, with(chart, "shop/templates/crd.yaml", crd("Cluster", locked), "shop/crds/widgets.yaml", ""),
			[]string{"--strict"}, exitRefused, "if the object in the cluster differs"},
		{"a HelmRelease", "upgrades create what is missing", with(chart, "r.yaml", release("upgrade: {}")), with(scope, "r.yaml", release("upgrade: {}")), nil, exitClean, "Helm creates"},
		{"a HelmRelease that replaces", "", with(chart, "r.yaml", release("upgrade: {crds: CreateReplace}")), with(scope, "r.yaml", release("upgrade: {crds: CreateReplace}")),
			nil, exitRefused, "spec.scope"},
		{"a HelmRelease that begins to replace", "", with(chart, "r.yaml", release("upgrade: {}")), with(scope, "r.yaml", release("upgrade: {crds: CreateReplace}")),
			nil, exitClean, "if the object in the cluster differs"},
		{"an Application", "Argo CD updates it", with(chart, "a.yaml", application), with(scope, "a.yaml", application), nil, exitRefused, "spec.scope"},
		{"a deletion", "Helm never deletes it", chart, with(chart, "shop/crds/widgets.yaml", ""), []string{"--refuse-deletions", "cascade"}, exitClean, "Helm does not delete"},
		{"a lock", "those of both sides count", chart, with(chart, "shop/crds/widgets.yaml", crd("Namespaced", ""), "shop/templates/w.yaml", widget("b")), nil, exitRefused, "spec.class"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, c.new)
			got := runCommand("", append([]string{"check", "--git", "HEAD"}, c.flags...)...)
			if got.status != c.status || !strings.Contains(got.out, c.want) {
				t.Errorf("%s: status %d, want %d and %q\n%s%s", c.reason, got.status, c.status, c.want, got.out, got.err)
			}
		})
	}
}

// TestNeededCRDs: objects that a unit has alike on both sides need no CRD. Changed ones find theirs in files that did
// not change, among CRDs of other kinds, and new ones a CRD that tells their versions.
func TestNeededCRDs(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	crd := func(kind string) string {
		plural := strings.ToLower(kind) + "s"
		return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + ".example.com}\nspec:\n" +
			"  group: example.com\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + plural + "}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
			"    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}}}\n"
	}
	object := func(version, kind, name, class string) string {
		return "---\napiVersion: example.com/" + version + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {class: " + class + "}\n"
	}
	const settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: %s}\n"
	base := object("v1", "Widget", "w", "a") + object("v1", "Thing", "t", "a") + fmt.Sprintf(settings, "a")
	files := map[string]string{
		"crds.yaml": crd("Gadget") + crd("Widget"), "gadget.yaml": object("v1", "Gadget", "old", "a"),
		"app/kustomization.yaml": "resources: [all.yaml]\n", "app/all.yaml": base,
	}
	for _, c := range []struct {
		name, reason, all string
		status            int
		want              string
	}{
		{"an object beside", "nobody knows Things, and none changes", strings.Replace(base, "{a: a}", "{a: b}", 1), exitClean, "3 objects checked (3 updates)"},
		{"a changed object", "its CRD is in a file that did not change", strings.Replace(base, "class: a", "class: b", 1), exitRefused, "spec.class"},
		{"a changed object that nobody knows", "no CRD", strings.ReplaceAll(base, "class: a", "class: b"), exitRefused, "; not checked: 1 Thing without a schema"},
		{"a new object", "its kind is known", base + object("v1", "Gadget", "g", "a"), exitClean, "1 create"},
		{"a new object of a version", "the CRD does not have it", base + object("v2", "Gadget", "g", "a"), exitUnread, `no version "v2"`},
		{"a copy", "it may be the object of a file that did not change", base + object("v1", "Gadget", "old", "b"), exitRefused, "1 unknown verdict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, files, nil)
			change(t, files, with(files, "app/all.yaml", c.all))
			got := runCommand("", "check", "--git", "HEAD", "--strict")
			if got.status != c.status || !strings.Contains(got.out+got.err, c.want) {
				t.Errorf("%s: status %d, want %d and %q\n%s%s", c.reason, got.status, c.status, c.want, got.out, got.err)
			}
		})
	}
	t.Run("units that print one CRD", func(t *testing.T) {
		twice := with(files, "crds.yaml", "")
		for dir, version := range map[string]string{"a": "v1", "b": "v1", "c": "v2"} { // the last one has the version of the new object
			twice[dir+"/kustomization.yaml"], twice[dir+"/crd.yaml"] = "resources: [crd.yaml]\n", strings.Replace(crd("Gadget"), "name: v1", "name: "+version, 1)
		}
		repositoryOf(t, twice, nil)
		change(t, twice, with(twice, "app/all.yaml", base+object("v2", "Gadget", "g", "a")))
		if got := runCommand("", "check", "--git", "HEAD", "--strict"); got.status != exitClean || !strings.Contains(got.out, "1 create") {
			t.Errorf("units are rendered until one serves the version: status %d\n%s%s", got.status, got.out, got.err)
		}
	})
}
