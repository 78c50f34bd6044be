package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// TestRevisions: a source at a tag or a commit is read there, and the change of its name is the change that counts; at
// a branch, it is the tree under check. The repository has the class fast at v1.0.0, slow at v1.1.0, and fast again at
// HEAD.
func TestRevisions(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	application := func(revision string) string {
		return strings.Replace(argoFiles()["apps/shop.yaml"], "targetRevision: HEAD", "targetRevision: '"+revision+"'", 1)
	}
	set := func(revision string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: shops, namespace: argocd}\nspec:\n  generators:\n" +
			"  - git: {repoURL: 'https://example.com/team/deploy.git', revision: '" + revision + "', directories: [{path: 'shop*'}]}\n" +
			"  template:\n    metadata: {name: '{{path.basename}}'}\n    spec:\n      project: default\n" +
			"      source: {repoURL: 'https://example.com/team/deploy.git', targetRevision: '" + revision + "', path: '{{path}}'}\n" +
			"      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
	}
	flux := func(ref string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: deploy, namespace: flux-system}\n" +
			"spec: {interval: 1m, url: 'https://example.com/team/deploy', ref: {" + ref + "}}\n---\n" +
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, path: ./shop, prune: true, sourceRef: {kind: GitRepository, name: deploy}}\n"
	}
	release := func(ref string) string {
		return flux(ref)[:strings.Index(flux(ref), "---")] + "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: default}\n" +
			"spec: {interval: 1h, chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: deploy, namespace: flux-system}}}}\n"
	}
	const missing = "0123456789012345678901234567890123456789"
	for _, c := range []struct {
		name, reason string
		unit         func(revision string) string
		old, new     string // revisions; COMMIT is that of v1.1.0
		status       int
		file         string // of the violation
		warning      string
	}{
		{"another tag", "", application, "v1.0.0", "v1.1.0", exitRefused, "unit.yaml", ""},
		{"a tag with the same objects", "", application, "v1.0.0", "v1.0.1", exitClean, "", ""},
		{"a full name", "", application, "v1.0.0", "refs/tags/v1.1.0", exitRefused, "unit.yaml", ""},
		{"a range", "the newest version that it has; v1.2 is one, too", application, "1.0.x", ">=1.0.0 <1.2", exitRefused, "unit.yaml", ""},
		{"a range that is a branch", "Argo CD falls back to it", application, "v1.0.0", "9.x", exitClean, "", ""},
		{"a commit", "", application, "v1.0.0", "COMMIT", exitRefused, "unit.yaml", ""},
		{"the beginning of a commit", "", application, "v1.0.0", "SHORT", exitRefused, "unit.yaml", ""},
		{"from a tag to a branch", "HEAD has what v1.0.0 has", application, "v1.0.0", "main", exitClean, "", ""},
		{"from another tag to HEAD", "", application, "v1.1.0", "HEAD", exitRefused, "unit.yaml", ""},
		{"a branch that is not here", "clones often have one branch only", application, "v1.1.0", "stable", exitRefused, "unit.yaml", ""},
		{"a branch with the name of a tag", "it is listed first", application, "v1.0.0", "both", exitClean, "", ""},
		{"a tag that is not here", "", application, "v1.0.0", "v7.0.0", exitClean, "", `"complete": false`},
		{"a range without a tag", "", application, "v1.0.0", ">=7", exitClean, "", `"complete": false`},
		{"a commit that is not here", "", application, "v1.0.0", missing, exitClean, "", `"complete": false`},
		{"a generator at another tag", "", set, "v1.0.0", "v1.1.0", exitRefused, "unit.yaml", ""},
		{"Flux: another tag", "", flux, "tag: v1.0.0", "tag: v1.1.0", exitRefused, "unit.yaml", ""},
		{"Flux: a commit", "it comes before the others", flux, "tag: v1.0.0", "tag: v1.0.0, commit: COMMIT", exitRefused, "unit.yaml", ""},
		{"Flux: a name", "it comes before a tag", flux, "tag: v1.0.0", "tag: v1.0.0, name: refs/tags/v1.1.0", exitRefused, "unit.yaml", ""},
		{"Flux: the name of a branch", "", flux, "tag: v1.1.0", "name: refs/heads/main", exitRefused, "unit.yaml", ""},
		{"Flux: a range", "versions have three numbers, so not v1.2", flux, "tag: v1.0.0", "semver: '>=1.0.0'", exitRefused, "unit.yaml", ""},
		{"Flux: a branch", "", flux, "tag: v1.0.0", "branch: main", exitClean, "", ""},
		{"Flux: a tag that is not here", "", flux, "tag: v1.0.0", "tag: v7.0.0", exitClean, "", `"complete": false`},
		{"Flux: two tags that are not here", "the Kustomization itself did not change", flux, "tag: v6.0.0", "tag: v7.0.0", exitClean, "", `"complete": false`},
		{"Flux: a chart at another tag", "", release, "tag: v1.0.0", "tag: v1.1.0", exitRefused, "unit.yaml", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(class string) map[string]string {
				return map[string]string{"shop/claim.yaml": claim("data", class), "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
					"chart/templates/claim.yaml": claim("chart", class)}
			}
			repositoryOf(t, at("fast"), nil)
			runGit(t, "tag", "v1.0.0")
			runGit(t, "tag", "v1.0.1")
			runGit(t, "tag", "both")
			commit := func() {
				runGit(t, "add", "-A")
				runGit(t, "commit", "-q", "-m", "next")
			}
			change(t, at("fast"), at("slow"))
			commit()
			runGit(t, "tag", "v1.1.0")
			runGit(t, "branch", "9.x")
			runGit(t, "branch", "both")
			id := strings.TrimSpace(runGit(t, "rev-parse", "HEAD"))
			name := strings.NewReplacer("COMMIT", id, "SHORT", id[:9])
			change(t, at("slow"), at("fast"))
			writeFile(t, "unit.yaml", c.unit(name.Replace(c.old)))
			commit()
			runGit(t, "tag", "v1.2")
			writeFile(t, "unit.yaml", c.unit(name.Replace(c.new)))
			got := runCommand("", "check", "--git", "HEAD", "-o", "json")
			var r compare.Report
			if err := json.Unmarshal([]byte(got.out), &r); err != nil {
				t.Fatalf("%v: %s%s", err, got.out, got.err)
			}
			file := ""
			for _, v := range r.Violations {
				file = v.File
			}
			if got.status != c.status || file != c.file || !strings.Contains(got.out+got.err, c.warning) || c.warning == "" && got.err != "" {
				t.Errorf("%s: status %d, want %d; violation in %q, want %q\n%s%s", c.reason, got.status, c.status, file, c.file, got.out, got.err)
			}
		})
	}
}

// TestPinned: a source that a change takes to a tag excuses no change of the files that it was read from.
func TestPinned(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	files := argoFiles()
	for tag, status := range map[string]int{"v1.0.0": exitRefused, "v7.0.0": exitRefused} {
		repositoryOf(t, files, nil)
		runGit(t, "tag", "v1.0.0")
		pinned := strings.Replace(files["apps/shop.yaml"], "HEAD", tag, 1)
		change(t, files, with(files, "apps/shop.yaml", pinned, "shop/claim.yaml", claim("data", "slow")))
		if got := runCommand("", "check", "--git", "HEAD"); got.status != status || !strings.Contains(got.out, "shop/claim.yaml:6") && !strings.Contains(got.out, "spec.storageClassName") {
			t.Errorf("%s: status %d, want %d\n%s%s", tag, got.status, status, got.out, got.err)
		}
		change(t, files, with(files, "apps/shop.yaml", pinned))
		if got := runCommand("", "check", "--git", "HEAD"); got.status != exitClean {
			t.Errorf("%s, nothing else: status %d\n%s%s", tag, got.status, got.out, got.err)
		}
	}
}

// TestNearer: which object a definition refers to, if files that no unit reads have several of its name. A file that a
// change adds does not take the place of the one that OLD means. Where nothing tells which one is applied, a change of
// either is not covered. The repository has the class fast at v1.0.0, slow at v1.1.0.
func TestNearer(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	source := func(tag string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: deploy, namespace: flux-system}\n" +
			"spec: {interval: 1m, url: 'https://example.com/team/deploy', ref: {tag: " + tag + "}}\n"
	}
	vars := func(class string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {CLASS: " + class + "}\n"
	}
	const shop = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\n" +
		"spec: {interval: 1m, path: ./shop, sourceRef: {kind: GitRepository, name: deploy}, postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}}\n"
	other := strings.NewReplacer("name: shop", "name: other", "./shop", "./other").Replace(shop)
	root := func(dir string) string {
		return strings.Split(strings.NewReplacer("name: shop", "name: root", "./shop", "./"+dir, "name: deploy", "name: flux-system").Replace(shop), ", postBuild")[0] + "}\n"
	}
	files := map[string]string{"cluster/unit.yaml": shop, "infra/source.yaml": source("v1.0.0"), "infra/vars.yaml": vars("a")}
	for _, c := range []struct {
		name, reason string
		changes      []string
		status       int
		warning      string
		merged       []string // changes that were merged before
	}{
		{"another tag", "", []string{"infra/source.yaml", source("v1.1.0")}, exitRefused, "", nil},
		{"another tag, hidden", "the file that is applied still counts", []string{"infra/source.yaml", source("v1.1.0"), "cluster/source.yaml", source("v1.0.0")}, exitRefused, "", nil},
		{"another tag, hidden beside the definition that moves", "", []string{"infra/source.yaml", source("v1.1.0"), "cluster/unit.yaml", "", "moved/unit.yaml", shop, "moved/source.yaml", source("v1.0.0")}, exitRefused, "", nil},
		{"a tag that is not here, hidden", "", []string{"infra/source.yaml", source("v7.0.0"), "cluster/source.yaml", source("v1.0.0")}, exitClean, "? not checked", nil},
		{"another variable, hidden", "", []string{"infra/vars.yaml", vars("b"), "cluster/vars.yaml", vars("a")}, exitRefused, "", nil},
		{"a nearer file", "the one of OLD still counts, and nothing tells what becomes of the other", []string{"cluster/source.yaml", source("v1.1.0")}, exitClean, "? not checked", nil},
		{"a nearer file with the same", "", []string{"cluster/source.yaml", source("v1.0.0"), "cluster/vars.yaml", vars("a")}, exitClean, "", nil},
		{"a file that moves", "", []string{"infra/source.yaml", "", "cluster/source.yaml", source("v1.0.1")}, exitClean, "", nil},
		{"another tag, hidden before", "two different ones, and nothing tells which one is applied", []string{"infra/source.yaml", source("v1.1.0")}, exitClean, "? not checked", []string{"cluster/source.yaml", source("v1.0.0")}},
		{"another variable, hidden before", "", []string{"infra/vars.yaml", vars("b")}, exitClean, "? not checked", []string{"cluster/vars.yaml", vars("a")}},
		{"another tag, which moves, hidden before", "", []string{"infra/source.yaml", "", "infra2/source.yaml", source("v1.1.0")}, exitClean, "? not checked", []string{"cluster/source.yaml", source("v1.0.0")}},
		{"another tag, hidden before, of a definition that moves", "", []string{"infra/source.yaml", source("v1.1.0"), "cluster/unit.yaml", "", "cluster/moved.yaml", shop}, exitClean, "? not checked", []string{"cluster/source.yaml", source("v1.0.0")}},
		{"another tag, hidden by another repository", "", []string{"infra/source.yaml", source("v1.1.0")}, exitClean, "? not checked",
			[]string{"cluster/source.yaml", strings.Replace(source("v1.0.0"), "https:", "oci:", 1)}},
		{"another tag, hidden by another repository at once", "", []string{"infra/source.yaml", source("v1.1.0"), "cluster/source.yaml", strings.Replace(source("v1.0.0"), "https:", "oci:", 1)}, exitClean, "? not checked", nil},
		{"another tag, hidden by another group", "", []string{"infra/source.yaml", source("v1.1.0")}, exitRefused, "",
			[]string{"cluster/source.yaml", strings.Replace(source("v1.0.0"), "source.toolkit.fluxcd.io", "example.com", 1)}},
		{"another tag, hidden in the same file", "which may hold it once", []string{"infra/source.yaml", source("v1.0.0") + "---\n" + source("v1.1.0")}, exitUnread, "appears twice",
			[]string{"infra/source.yaml", source("v1.0.0") + "---\n" + source("v1.0.0")}},
		{"another tag, hidden before, which another unit uses", "it may be for another cluster", []string{"infra/source.yaml", source("v1.1.0")}, exitClean, "? not checked",
			[]string{"cluster/source.yaml", source("v1.0.0"), "infra/other.yaml", other}},
		{"another cluster", "it has a unit of the same name", []string{"infra/source.yaml", source("v1.1.0")}, exitClean, "",
			[]string{"cluster/source.yaml", source("v1.0.0"), "infra/unit.yaml", strings.Replace(shop, "./shop", "./other", 1)}},
		{"another cluster, which has no such unit", "each cluster has a unit of one name that applies its files", []string{"infra/vars.yaml", vars("b")}, exitClean, "",
			[]string{"cluster/source.yaml", source("v1.0.0"), "cluster/vars.yaml", vars("a"), "cluster/root.yaml", root("cluster"), "infra/root.yaml", root("infra"), "infra/other.yaml", other}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(class string) map[string]string {
				return map[string]string{"shop/claim.yaml": claim("data", class+"-${CLASS}"), "other/map.yaml": immutableMap}
			}
			repositoryOf(t, at("fast"), nil)
			runGit(t, "tag", "v1.0.0")
			runGit(t, "tag", "v1.0.1")
			change(t, at("fast"), with(at("slow"), "cluster/unit.yaml", shop, "infra/source.yaml", files["infra/source.yaml"], "infra/vars.yaml", files["infra/vars.yaml"]))
			runGit(t, "add", "-A")
			runGit(t, "commit", "-q", "-m", "next")
			runGit(t, "tag", "v1.1.0")
			merged := with(files, c.merged...)
			change(t, files, merged)
			runGit(t, "add", "-A")
			runGit(t, "commit", "-q", "--allow-empty", "-m", "merged")
			change(t, merged, with(merged, c.changes...))
			got := runCommand("", "check", "--git", "HEAD")
			if got.status != c.status || !strings.Contains(got.out+got.err, c.warning) || c.warning == "" && got.err != "" {
				t.Errorf("%s: status %d, want %d\n%s%s", c.reason, got.status, c.status, got.out, got.err)
			}
			if c.status == exitRefused && !strings.Contains(got.out, "kustomization shop -n flux-system") {
				t.Errorf("the command names another unit\n%s", got.out)
			}
		})
	}
}

// TestPatchedTwice: several overlays print one definition, each with its own patch, and a change of any of them counts.
// That includes the overlay that is printed last, one beside an overlay that changes nothing, and one of a definition
// whose own path is a placeholder.
func TestPatchedTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	overlay := func(dir string) string {
		return "resources: [../base]\npatches:\n- {target: {kind: Application}, patch: '- {op: replace, path: /spec/source/path, value: " + dir + "}'}\n"
	}
	resources := func(name string) string { return "resources: [" + name + ".yaml]\n" }
	base := with(nil, "a/kustomization.yaml", overlay("one"), "b/kustomization.yaml", overlay("two"), "base/kustomization.yaml", resources("shop"),
		"one/kustomization.yaml", resources("claim"), "one/claim.yaml", claim("data", "fast"), "two/kustomization.yaml", resources("claim"),
		"two/claim.yaml", claim("data", "fast"), "slow/kustomization.yaml", resources("claim"), "slow/claim.yaml", claim("data", "slow"))
	for _, row := range []struct {
		name, path string // the path of the definition
		changes    []string
		status     int
	}{
		{"the first", "one", []string{"a/kustomization.yaml", overlay("slow")}, exitRefused},
		{"the last", "one", []string{"b/kustomization.yaml", overlay("slow")}, exitRefused},
		{"the first of a placeholder", "placeholder", []string{"a/kustomization.yaml", overlay("slow")}, exitRefused},
		{"the last of a placeholder", "placeholder", []string{"b/kustomization.yaml", overlay("slow")}, exitRefused},
		{"one that moves", "one", []string{"b/kustomization.yaml", "", "c/kustomization.yaml", overlay("slow")}, exitRefused},
		{"one more", "one", []string{"c/kustomization.yaml", overlay("slow")}, exitClean},
		{"nothing", "one", []string{"c/kustomization.yaml", overlay("one")}, exitClean},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := with(base, "base/shop.yaml", strings.Replace(argoFiles()["apps/shop.yaml"], "path: shop", "path: "+row.path, 1))
			for _, merged := range []map[string]string{files, with(files, "0/kustomization.yaml", overlay("two"))} {
				repositoryOf(t, merged, nil)
				change(t, merged, with(merged, row.changes...))
				if got := runCommand("", "check", "--git", "HEAD"); got.status != row.status || got.err != "" {
					t.Errorf("%d files: status %d, want %d\n%s%s", len(merged), got.status, row.status, got.out, got.err)
				}
			}
		})
	}
}

// TestPartialClone: a change of a clone without contents is compared, and so is one of a shallow clone whose revision
// was fetched.
func TestPartialClone(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	repositoryOf(t, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n", "claim.yaml": claim("data", "fast")}, map[string]string{"claim.yaml": claim("data", "slow")})
	runGit(t, "commit", "-q", "-a", "-m", "next")
	runGit(t, "config", "uploadpack.allowFilter", "true")
	runGit(t, "config", "uploadpack.allowAnySHA1InWant", "true")
	origin, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ option, rev string }{{"--filter=blob:none", "HEAD~1..HEAD"}, {"--depth=1", "FETCH_HEAD"}} {
		dir := t.TempDir()
		runGit(t, "clone", "-q", c.option, "file://"+origin, dir)
		t.Chdir(dir)
		if c.rev == "FETCH_HEAD" {
			if got := runCommand("", "check", "--git", "HEAD~1"); got.status != exitUnread || !strings.Contains(got.err, "git fetch --unshallow") {
				t.Errorf("%s: status %d\n%s%s", c.option, got.status, got.out, got.err)
			}
			runGit(t, "fetch", "-q", "--depth=1", "origin", strings.TrimSpace(runGit(t, "-C", origin, "rev-parse", "HEAD~1")))
		}
		if got := runCommand("", "check", "--git", c.rev); got.status != exitRefused || !strings.Contains(got.out, "spec.storageClassName") {
			t.Errorf("%s: status %d\n%s%s", c.option, got.status, got.out, got.err)
		}
		t.Chdir(origin)
	}
}

// TestMovedSubmodule: the files of a submodule are in another repository; when it moves to another commit, what is read
// from it is not covered, and nothing pretends that it did not change.
func TestMovedSubmodule(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	repositoryOf(t, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n", "claim.yaml": claim("data", "fast")}, nil)
	other, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	repositoryOf(t, map[string]string{"app/kustomization.yaml": "resources: [../vendor/base]\n", "linked/kustomization.yaml": "resources: [base]\n",
		"linked/base": "-> ../vendor/base", "alone/claim.yaml": claim("alone", "fast")}, nil)
	runGit(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "vendor/base")
	runGit(t, "commit", "--quiet", "--all", "-m", "the submodule")
	for _, args := range [][]string{nil, {"app"}, {"linked"}} {
		if c := runCommand("", append([]string{"check", "--git", "HEAD", "--strict"}, args...)...); c.status != exitClean || c.out != "✓ nothing changed\n" {
			t.Errorf("%q before it moves: status %d\n%s%s", args, c.status, c.out, c.err)
		}
	}
	writeFile(t, "vendor/base/claim.yaml", claim("data", "slow"))
	runGit(t, "-C", "vendor/base", "commit", "--quiet", "--all", "-m", "moved")
	for _, row := range []struct {
		path   string
		status int
		want   string
	}{{".", exitRefused, "vendor/base"}, {"app", exitRefused, "kustomization app"}, {"linked", exitRefused, "kustomization linked"}, {"vendor", exitRefused, "vendor/base"}, {"alone", exitClean, ""}} {
		c := runCommand("", "check", "--git", "HEAD", "--strict", row.path)
		if c.status != row.status || !strings.Contains(c.out+c.err, row.want) || row.want != "" && strings.Contains(c.out, "nothing changed") {
			t.Errorf("%s: status %d, want %d with %q\n%s%s", row.path, c.status, row.status, row.want, c.out, c.err)
		}
	}
}

// TestAsGitHolds: what is not on the disk as git holds it is checked all the same.
func TestAsGitHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T)
		files  map[string]string
		status int
		says   string
	}{
		{"re-encoded by .gitattributes", func(t *testing.T) {
			writeFile(t, ".gitattributes", "*.yaml working-tree-encoding=UTF-16LE\n")
			writeFile(t, "claim.yaml", utf16le(claim("data", "slow")))
			runGit(t, "add", "-A")
			runGit(t, "commit", "-qm", "encoded")
		}, map[string]string{"claim.yaml": claim("data", "fast")}, exitRefused, "spec.storageClassName"},
		{"left out by a sparse checkout", func(t *testing.T) {
			writeFile(t, "apps/claim.yaml", claim("data", "slow"))
			runGit(t, "commit", "-qam", "slow")
			runGit(t, "sparse-checkout", "set", "--no-cone", "docs")
		}, map[string]string{"apps/claim.yaml": claim("data", "fast"), "docs/a.md": "a"}, exitRefused, "apps/claim.yaml"},
		{"a sparse checkout of a change elsewhere", func(t *testing.T) {
			writeFile(t, "docs/a.md", "b")
			runGit(t, "commit", "-qam", "docs")
			runGit(t, "sparse-checkout", "set", "--no-cone", "docs")
		}, map[string]string{"apps/claim.yaml": claim("data", "fast"), "docs/a.md": "a"}, exitClean, "✓ nothing changed"},
		{"a name that is not UTF-8", func(t *testing.T) { writeFile(t, "caf\xe9/cl\xffaim.yaml", claim("data", "slow")) },
			map[string]string{"caf\xe9/cl\xffaim.yaml": claim("data", "fast")}, exitRefused, "spec.storageClassName"},
		{"a unit in a directory that is not UTF-8 is told", func(t *testing.T) { writeFile(t, "caf\xe9/claim.yaml", claim("data", "slow")) },
			map[string]string{"caf\xe9/kustomization.yaml": "resources: [claim.yaml]\n", "caf\xe9/claim.yaml": claim("data", "fast")}, exitClean, "? not checked"},
		{"a backslash in a name", func(t *testing.T) { writeFile(t, "claim.yaml", claim("data", "slow")) },
			map[string]string{"claim.yaml": claim("data", "fast"), `img\a.png`: "x", `b\claim.yaml`: claim("other", "fast")}, exitRefused, "spec.storageClassName"},
		{"a changed file with a backslash", func(t *testing.T) { writeFile(t, `b\claim.yaml`, claim("data", "slow")) },
			map[string]string{`b\claim.yaml`: claim("data", "fast")}, exitRefused, "spec.storageClassName"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.files, nil)
			runGit(t, "tag", "start")
			c.change(t)
			if got := runCommand("", "check", "--git", "start"); got.status != c.status || !strings.Contains(got.out, c.says) {
				t.Errorf("status %d, want %d and %q\n%s%s", got.status, c.status, c.says, got.out, got.err)
			}
		})
	}
}

// utf16le encodes a text of ASCII.
func utf16le(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteByte(c)
		b.WriteByte(0)
	}
	return b.String()
}
