package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch/repotest"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

// TestFetch: with --fetch, charts and dependencies that the tree lacks come from their repositories, and a change of
// their version or values is judged. Without it, nothing asks the repository, and the unit is not covered. In each row,
// the chart's version 2 or the value slow changes the storage class of a claim.
func TestFetch(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("HELM_CONFIG_HOME", t.TempDir())
	version := func(version, class string) repotest.Chart {
		return repotest.Chart{Name: "store", Version: version, Files: map[string]string{
			"values.yaml": "class: " + class + "\n", "slow.yaml": "class: slow\n", "templates/claim.yaml": claim("store", "{{ .Values.class }}"),
		}}
	}
	charts := []repotest.Chart{version("1.0.0", "fast"), version("2.0.0", "slow")}
	site := repotest.Classic(t, charts...)
	registry, oci, digests := repotest.OCI(t, charts...)

	repository := func(kind, fields string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: stable, namespace: flux-system}\nspec: {interval: 1h, " + fields + "}\n"
	}
	release := func(chart string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: store, namespace: shop}\nspec: {interval: 1h, " + chart + "}\n"
	}
	ofRepository := func(version, more string) string {
		return release("chart: {spec: {chart: store, version: '" + version + "', sourceRef: {kind: HelmRepository, name: stable, namespace: flux-system}" + more + "}}")
	}
	const ofArtifact = "chartRef: {kind: OCIRepository, name: stable, namespace: flux-system}"
	application := func(sources string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: store, namespace: argocd}\nspec:\n  project: default\n" + sources +
			"  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
	}
	ofArgo := func(version, helm string) string {
		return application("  source: {repoURL: '" + site.URL + "', chart: store, targetRevision: '" + version + "'" + helm + "}\n")
	}
	withValues := application("  sources:\n  - {repoURL: '" + site.URL + "', chart: store, targetRevision: 1.0.0, helm: {valueFiles: [$here/env/prod.yaml]}}\n" +
		"  - {repoURL: 'https://example.com/team/deploy', targetRevision: HEAD, ref: here}\n")
	parent := func(version string) string {
		return "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n- {name: store, version: '" + version + "', repository: '" + site.URL + "', condition: on}\n"
	}
	inflated := func(version, more string) string {
		return "helmCharts:\n- {name: store, repo: '" + site.URL + "', version: '" + version + "', releaseName: store" + more + "}\n"
	}
	for _, c := range []struct {
		name     string
		files    map[string]string
		changed  [2]string // a file, and what it becomes
		status   int
		place    string // what the report names
		notFetch string // why it is not covered without --fetch
	}{
		{"HelmRelease, another version", map[string]string{"r.yaml": repository("HelmRepository", "url: '"+site.URL+"'"), "store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", ofRepository("2.0.0", "")}, exitRefused, "store.yaml", "its chart is in the HelmRepository stable"},
		{"HelmRelease, a range", map[string]string{"r.yaml": repository("HelmRepository", "url: '"+site.URL+"'"), "store.yaml": ofRepository("1.x", "")},
			[2]string{"store.yaml", ofRepository(">=2", "")}, exitRefused, "store.yaml", "HelmRepository"},
		{"HelmRelease, values of the chart", map[string]string{"r.yaml": repository("HelmRepository", "url: '"+site.URL+"'"), "store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", ofRepository("1.0.0", ", valuesFiles: [values.yaml, slow.yaml]")}, exitRefused, "store.yaml", "HelmRepository"},
		{"HelmRelease, a label", map[string]string{"r.yaml": repository("HelmRepository", "url: '"+site.URL+"'"), "store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", strings.Replace(ofRepository("1.0.0", ""), "interval: 1h", "interval: 2h", 1)}, exitClean, "", "HelmRepository"},
		{"HelmRelease, a registry", map[string]string{"r.yaml": repository("HelmRepository", "type: oci, insecure: true, url: '"+oci+"'"), "store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", ofRepository("2.0.0", "")}, exitRefused, "store.yaml", "HelmRepository"},
		{"OCIRepository, another tag", map[string]string{"r.yaml": repository("OCIRepository", "insecure: true, url: '"+oci+"/store', ref: {tag: 1.0.0}"), "store.yaml": release(ofArtifact)},
			[2]string{"r.yaml", repository("OCIRepository", "insecure: true, url: '"+oci+"/store', ref: {tag: 2.0.0}")}, exitRefused, "store.yaml", "its chart is in the OCIRepository stable"},
		{"OCIRepository, a range and a digest", map[string]string{"r.yaml": repository("OCIRepository", "insecure: true, url: '"+oci+"/store', ref: {semver: '~1.0'}"), "store.yaml": release(ofArtifact)},
			[2]string{"r.yaml", repository("OCIRepository", "insecure: true, url: '"+oci+"/store', ref: {digest: '"+digests[1]+"'}")}, exitRefused, "store.yaml", "OCIRepository"},
		{"credentials", map[string]string{"r.yaml": repository("HelmRepository", "secretRef: {name: login}, url: '"+site.URL+"'"), "store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", ofRepository("2.0.0", "")}, exitClean, "needs credentials (secretRef)", "HelmRepository"},
		{"no such version", map[string]string{"r.yaml": repository("HelmRepository", "url: '"+site.URL+"'"), "store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", ofRepository("7.0.0", "")}, exitClean, "its chart store 7.0.0 of " + site.URL + " cannot be fetched: the repository has no such version", "HelmRepository"},
		{"no repository object", map[string]string{"store.yaml": ofRepository("1.0.0", "")},
			[2]string{"store.yaml", ofRepository("2.0.0", "")}, exitClean, "the tree has no HelmRepository stable", "HelmRepository"},
		{"Application, another version", map[string]string{"app.yaml": ofArgo("1.0.0", "")}, [2]string{"app.yaml", ofArgo("2.0.0", "")}, exitRefused, "app.yaml", "the chart store is in the repository"},
		{"Application, a value", map[string]string{"app.yaml": ofArgo("1.*", "")}, [2]string{"app.yaml", ofArgo("1.*", ", helm: {valuesObject: {class: slow}}")}, exitRefused, "app.yaml", "the chart store"},
		{"Application, a file of values in the chart", map[string]string{"app.yaml": ofArgo("1.0.0", "")}, [2]string{"app.yaml", ofArgo("1.0.0", ", helm: {valueFiles: [slow.yaml]}")}, exitRefused, "app.yaml", "the chart store"},
		{"Application, values of the tree", map[string]string{"app.yaml": withValues, "env/prod.yaml": "class: fast\n"}, [2]string{"env/prod.yaml", "class: slow\n"}, exitRefused, "env/prod.yaml", ""},
		{"a dependency", map[string]string{"parent/Chart.yaml": parent("1.0.0"), "parent/values.yaml": "on: true\n"}, [2]string{"parent/Chart.yaml", parent("2.0.0")}, exitRefused, "parent/Chart.yaml", "the dependency store is not in charts"},
		{"values of a dependency", map[string]string{"parent/Chart.yaml": parent("~1"), "parent/values.yaml": "on: true\n"}, [2]string{"parent/values.yaml", "on: true\nstore: {class: slow}\n"}, exitRefused, "parent/values.yaml", "the dependency store"},
		{"a dependency in Chart.lock", map[string]string{"parent/Chart.yaml": parent(">=1"), "parent/values.yaml": "on: true\n", "parent/Chart.lock": "dependencies: [{name: store, version: 1.0.0, repository: '" + site.URL + "'}]\n"},
			[2]string{"parent/Chart.lock", "dependencies: [{name: store, version: 2.0.0, repository: '" + site.URL + "'}]\n"}, exitRefused, "parent/Chart.lock", "the dependency store"},
		{"a disabled dependency that cannot be had", map[string]string{"parent/Chart.yaml": parent("7.0.0"), "parent/values.yaml": "on: false\nclass: fast\n", "parent/templates/claim.yaml": claim("own", "{{ .Values.class }}")},
			[2]string{"parent/values.yaml", "on: false\nclass: slow\n"}, exitRefused, "parent/values.yaml", ""},
		{"a dependency that cannot be had", map[string]string{"parent/Chart.yaml": parent("7.0.0"), "parent/values.yaml": "on: true\n"}, [2]string{"parent/values.yaml", "on: true\nstore: {x: y}\n"}, exitClean, "cannot be fetched: the repository has no such version", "the dependency store"},
		{"a chart of a kustomization", map[string]string{"kustomization.yaml": inflated("1.0.0", "")}, [2]string{"kustomization.yaml", inflated("2.0.0", "")}, exitRefused, "kustomization.yaml", "the chart store of"},
		{"values of a chart of a kustomization", map[string]string{"kustomization.yaml": inflated("1.0.0", ", valuesFile: v.yaml"), "v.yaml": "class: fast\n"}, [2]string{"v.yaml", "class: slow\n"}, exitRefused, "v.yaml", "the chart store of"},
		{"a chart of a kustomization that cannot be had", map[string]string{"kustomization.yaml": inflated("7.0.0", "")}, [2]string{"kustomization.yaml", inflated("7.0.1", "")}, exitClean, "cannot be fetched", "the chart store of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, withLoopback(c.files), nil)
			writeFile(t, c.changed[0], c.changed[1])
			site.Requests.Store(0)
			registry.Requests.Store(0)
			without := runCommand("", "check", "--git", "HEAD", "-o", "json")
			if n := site.Requests.Load() + registry.Requests.Load(); n > 0 {
				t.Errorf("%d requests without --fetch", n)
			}
			if c.notFetch != "" && (without.status != exitClean || !strings.Contains(without.out, c.notFetch)) {
				t.Errorf("without --fetch: status %d\n%s%s", without.status, without.out, without.err)
			}
			got := runCommand("", "check", "--git", "HEAD", "--fetch", "--fetch-cache", filepath.Join(t.TempDir(), "cache"))
			if got.status != c.status || !strings.Contains(got.out, c.place) || c.status == exitRefused && !strings.Contains(got.out, "spec.storageClassName") {
				t.Errorf("status %d, want %d at %s\n%s%s", got.status, c.status, c.place, got.out, got.err)
			}
			if strings.Contains(got.out+got.err, ".fieldlock-fetched") {
				t.Errorf("a place that nobody has:\n%s%s", got.out, got.err)
			}
		})
	}

	t.Run("nothing is fetched for what did not change", func(t *testing.T) {
		repositoryOf(t, withLoopback(map[string]string{"app.yaml": ofArgo("1.0.0", ""), "z.yaml": claim("z", "a")}), nil)
		writeFile(t, "z.yaml", claim("z", "a")+"# changed\n")
		site.Requests.Store(0)
		if got := runCommand("", "check", "--git", "HEAD", "--fetch", "--fetch-cache", t.TempDir()); got.status != exitClean || site.Requests.Load() > 0 {
			t.Errorf("status %d, %d requests\n%s%s", got.status, site.Requests.Load(), got.out, got.err)
		}
	})
	t.Run("a change cannot open a private network", func(t *testing.T) {
		repositoryOf(t, map[string]string{"app.yaml": ofArgo("1.0.0", "")}, nil)
		writeFile(t, "app.yaml", ofArgo("2.0.0", ""))
		writeFile(t, ".fieldlock.yaml", "fetch-hosts: [127.0.0.1]\n")
		site.Requests.Store(0)
		got := runCommand("", "check", "--git", "HEAD", "--fetch", "--fetch-cache", t.TempDir())
		if site.Requests.Load() > 0 || !strings.Contains(got.out, "an address of a private network") || !strings.Contains(got.out+got.err, "fetch-hosts takes effect after the merge") {
			t.Errorf("status %d, %d requests\n%s%s", got.status, site.Requests.Load(), got.out, got.err)
		}
	})
	t.Run("a tree cannot bring what counts as fetched", func(t *testing.T) {
		files := map[string]string{"parent/Chart.yaml": parent("1.0.0"), "parent/values.yaml": "on: true\n"}
		repositoryOf(t, withLoopback(files), nil)
		dir := helm.FetchedDir(site.URL, "store", "2.0.0")
		writeFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: store\nversion: 2.0.0\n")
		writeFile(t, filepath.Join(dir, "templates/claim.yaml"), claim("store", "fast"))
		writeFile(t, "parent/Chart.yaml", parent("2.0.0"))
		if got := runCommand("", "check", "--git", "HEAD", "--fetch", "--fetch-cache", t.TempDir()); got.status != exitRefused {
			t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
		}
		if got := runCommand("", "check", "--git", "HEAD"); !strings.Contains(got.out, "not covered") {
			t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
		}
	})
	t.Run("render", func(t *testing.T) {
		t.Chdir(writeFiles(t, withLoopback(map[string]string{"app.yaml": ofArgo("1.0.0", ""), "parent/Chart.yaml": parent("1.0.0"), "parent/values.yaml": "on: true\n"})))
		cache := t.TempDir()
		got := runCommand("", "render", "--fetch", "--fetch-cache", cache)
		if got.status != exitClean || strings.Count(got.out, "storageClassName: fast") != 2 || !strings.Contains(got.out, "# source: app.yaml:1") {
			t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
		}
		site.Requests.Store(0)
		if again := runCommand("", "render", "--fetch", "--fetch-cache", cache); again.out != got.out || site.Requests.Load() > 0 {
			t.Errorf("%d requests, although the cache has the chart\n%s%s", site.Requests.Load(), again.out, again.err)
		}
	})
}

// TestNoPrograms: without --git, check and render run neither git nor helm nor kustomize, also for what would have to
// be fetched.
func TestNoPrograms(t *testing.T) {
	const app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: store, namespace: argocd}\nspec:\n  project: default\n" +
		"  source: {repoURL: 'http://127.0.0.1:1', chart: store, targetRevision: 1.0.0}\n  destination: {server: a, namespace: shop}\n"
	files := map[string]string{"app.yaml": app, "over/kustomization.yaml": "resources: ['https://example.com/a/b?ref=v1', ../base]\n",
		"base/kustomization.yaml": "helmCharts: [{name: store, repo: 'http://127.0.0.1:1', version: 1.0.0}]\n",
		"shop/Chart.yaml":         "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: a, version: 1.0.0, repository: 'http://127.0.0.1:1'}]\n", "claim.yaml": claim("a", "fast")}
	all := map[string]string{}
	for name, text := range files {
		all["old/"+name], all["new/"+name] = text, strings.Replace(text, "version: 1.0.0, repository", "version: 1.0.1, repository", 1)+"# changed\n"
	}
	dir := writeFiles(t, all)
	ran := filepath.Join(t.TempDir(), "ran")
	bin := t.TempDir()
	for _, name := range []string{"git", "helm", "kustomize", "kubectl", "sh"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho "+name+" \"$@\" >> '"+ran+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Chdir(dir)
	for _, args := range [][]string{{"check", "old", "new"}, {"check", "--plain", "old", "new"}, {"render", "new"}, {"render", "new/over"}, {"render"}} {
		if c := runCommand("", args...); c.status == exitRefused || !strings.Contains(c.out+c.err, "not covered") && args[1] != "--plain" {
			t.Errorf("%v: status %d\n%s%s", args, c.status, c.out, c.err)
		}
		if data, err := os.ReadFile(ran); err == nil {
			t.Errorf("%v runs %s", args, data)
		}
	}
}

// withLoopback adds settings that let --fetch ask the servers of a test.
func withLoopback(files map[string]string) map[string]string {
	all := maps.Clone(files)
	all[".fieldlock.yaml"] = "fetch-hosts: [127.0.0.1]\n"
	return all
}
