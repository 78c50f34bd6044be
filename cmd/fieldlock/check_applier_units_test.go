package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAppliersOfUnits: the unit says who applies its objects, whether it replaces them, and whether it deletes what is
// gone.
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
	argoSet := func(options string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: shops, namespace: argocd}\n" +
			"spec: {generators: [{list: {elements: [{name: shop}]}}], template: {metadata: {name: '{{name}}'}, " +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}, syncPolicy: {" + options + "}}}}\n"
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
		{"an ApplicationSet", argoSet(""), argoSet(""), deployment(recreate, "web") + claim, nil, 0, "no refused change"},
		{"an ApplicationSet, server-side", argoSet("syncOptions: [ServerSideApply=true]"), argoSet("syncOptions: [ServerSideApply=true]"), deployment(recreate, "web") + claim, nil, 1, "may not be specified when strategy"},
		{"an ApplicationSet prunes", argoSet("automated: {prune: true}"), argoSet("automated: {prune: true}"), deployment("", "web"), []string{"--refuse-deletions", "data"}, 1, "deletions of cost data are refused"},
		{"an ApplicationSet does not prune", argoSet("automated: {}"), argoSet("automated: {}"), deployment("", "web"), []string{"--refuse-deletions", "data"}, 0, "its tool does not prune"},
		{"a flag", argo(""), argo(""), deployment(recreate, "web") + claim, []string{"--applier", "server-side"}, 1, "may not be specified when strategy"},
		{"Flux replaces", flux("prune: true, force: true"), flux("prune: true, force: true"), deployment("", "other") + claim, nil, 0, "not counted"},
		{"the change makes Flux replace", flux("prune: true"), flux("prune: true, force: true"), deployment("", "other") + claim, nil, 1, "field is immutable"},
		{"the change makes Flux replace, which the report says", flux("prune: true"), flux("prune: true, force: true"), deployment("", "other") + claim, nil, 1, "; spec.force of the Kustomization does not count yet, since this change adds it\n"},
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

// TestNamespacesOfUnits: an object without a namespace gets the namespace of its Application or HelmRelease. It moves
// with that namespace, and commands name it.
func TestNamespacesOfUnits(t *testing.T) {
	const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	class := func(provisioner string) string {
		return "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: " + provisioner + "\n"
	}
	web := func(label string) string { return strings.ReplaceAll(deployment, "app: web", "app: "+label) }
	argo := func(namespace string) map[string]string {
		return map[string]string{"unit.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n" +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: " + namespace +
			"}, syncPolicy: {automated: {prune: true}}}\n"}
	}
	release := func(target string) map[string]string {
		return map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "unit.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
			"metadata: {name: r, namespace: flux-system}\nspec: {url: https://example.com/r.git, interval: 1m}\n---\n" +
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, " + target + "chart: {spec: {chart: ./shop, sourceRef: {kind: GitRepository, name: r}}}}\n"}
	}
	for _, row := range []struct {
		name             string
		oldUnit, newUnit map[string]string
		old, new         string
		status           int
		want             []string
	}{
		{"an Application", argo("a"), argo("a"), web("web"), web("shop"), exitRefused, []string{"Deployment a/web (", "kubectl delete deployment/web -n a --cascade=orphan && argocd app sync shop"}},
		{"an Application that moves", argo("a"), argo("b"), claim, claim, exitRefused, []string{"PersistentVolumeClaim a/data (", "deletions of cost data are refused"}},
		{"an Application that moves, with a namespace in the object", argo("a"), argo("b"),
			strings.Replace(claim, "name: data", "name: data, namespace: c", 1), strings.Replace(claim, "name: data", "name: data, namespace: c", 1), exitClean, nil},
		{"a kind without namespaces", argo("a"), argo("b"), class("x"), class("y"), exitRefused, []string{"StorageClass fast ("}},
		{"files that become an Application", nil, argo("a"), web("web"), web("shop"), exitRefused, []string{"Deployment web (", "? Deployment a/web", "spec.selector"}},
		{"an Application that becomes files", argo("a"), nil, web("web"), web("shop"), exitRefused, []string{"Deployment web (", "spec.selector"}},
		{"a HelmRelease", release("targetNamespace: a, "), release("targetNamespace: a, "), web("web"), web("shop"), exitRefused, []string{"Deployment a/web (", "deployment/web -n a --cascade"}},
		{"a HelmRelease without a target", release(""), release(""), web("web"), web("shop"), exitRefused, []string{"Deployment flux-system/web ("}},
	} {
		files := map[string]string{"old/shop/templates/o.yaml": row.old, "new/shop/templates/o.yaml": row.new}
		if len(row.oldUnit)+len(row.newUnit) < 4 {
			files = map[string]string{"old/shop/o.yaml": row.old, "new/shop/o.yaml": row.new}
		}
		for name, text := range row.oldUnit {
			files["old/"+name] = text
		}
		for name, text := range row.newUnit {
			files["new/"+name] = text
		}
		dir := writeFiles(t, files)
		c := runCommand("", "check", "--refuse-deletions", "data", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
		for _, want := range row.want {
			if !strings.Contains(c.out, want) {
				t.Errorf("%s: no %q:\n%s%s", row.name, want, c.out, c.err)
			}
		}
		if c.status != row.status {
			t.Errorf("%s: status %d, want %d:\n%s%s", row.name, c.status, row.status, c.out, c.err)
		}
	}
}

// TestUnlisted: a tool deletes what its unit no longer lists, though the files are still there.
func TestUnlisted(t *testing.T) {
	flux := func(name, path string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\n" +
			"spec: {interval: 1m, path: ./" + path + ", prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n"
	}
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: shop}\n" +
		"spec: {interval: 1m, chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}}\n"
	files := map[string]string{"clusters/apps.yaml": flux("apps", "apps"),
		"apps/file/claim.yaml": claim("file", "fast"),
		"apps/dir/claim.yaml":  claim("dir", "fast"), "apps/dir/kustomization.yaml": "resources: [claim.yaml]\n",
		"apps/ks/ks.yaml": flux("ks", "apps/ks/app"), "apps/ks/app/claim.yaml": claim("ks", "fast"), "apps/ks/app/kustomization.yaml": "resources: [claim.yaml]\n",
		"apps/both/ks.yaml": flux("both", "apps/both/app"), "apps/both/kustomization.yaml": "resources: [ks.yaml]\n",
		"apps/both/app/release.yaml": release, "apps/both/app/kustomization.yaml": "resources: [release.yaml]\n",
		"chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "chart/templates/claim.yaml": claim("shop", "fast")}
	all := []string{"file/claim.yaml", "dir", "ks/ks.yaml", "both"}
	listing := func(names []string) string { return "resources: [" + strings.Join(names, ", ") + "]\n" }
	another := with(files, "clusters/dir.yaml", flux("dir", "apps/dir"))
	for _, row := range []struct {
		name, goes string
		new        map[string]string
		want       []string
	}{
		{"a file", "file/claim.yaml", files, []string{"PersistentVolumeClaim data"}},
		{"a directory", "dir", files, []string{"PersistentVolumeClaim data"}},
		{"a directory that another unit deploys now", "dir", another, nil},
		{"a Kustomization", "ks/ks.yaml", files, []string{"Kustomization data"}},
		{"the directory of a Kustomization with a release", "both", files, []string{"Kustomization data"}},
		{"nothing", "none", files, nil},
	} {
		left := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == row.goes })
		dir := writeFiles(t, nil)
		for side, tree := range map[string]map[string]string{"old": with(files, "apps/kustomization.yaml", listing(all)), "new": with(row.new, "apps/kustomization.yaml", listing(left))} {
			for name, text := range tree {
				writeFile(t, filepath.Join(dir, side, name), text)
			}
		}
		c := runCommand("", "check", "-o", "json", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
		var r struct{ Deletions []struct{ Kind, Cost string } }
		if err := json.Unmarshal([]byte(c.out), &r); err != nil {
			t.Fatalf("%v\n%s%s", err, c.out, c.err)
		}
		var got []string
		for _, d := range r.Deletions {
			got = append(got, d.Kind+" "+d.Cost)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q\n%s", row.name, got, row.want, c.err)
		}
	}
}

// TestGoneUnits: an object that defines a unit costs the worst of what it has applied, unless that stays.
func TestGoneUnits(t *testing.T) {
	const (
		claim  = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"
		other  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
	)
	kept := func(annotation string) string {
		return strings.Replace(claim, "namespace: shop", "namespace: shop, annotations: {"+annotation+"}", 1)
	}
	flux := func(options string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, path: ./shop, sourceRef: {kind: GitRepository, name: flux-system}, " + options + "}\n"
	}
	argo := func(metadata, options string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd" + metadata + "}\n" +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}, syncPolicy: {" + options + "}}\n"
	}
	set := func(policy string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: shops, namespace: argocd}\n" +
			"spec: {generators: [{list: {elements: [{name: shop}]}}], " + policy + "template: {metadata: {name: '{{name}}'}, " +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}}}}\n"
	}
	release := func(chart, options string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: shop}\n" +
			"spec: {interval: 1m, " + options + "chart: {spec: {chart: " + chart + "}}}\n"
	}
	const inTree, elsewhere = "./chart, sourceRef: {kind: GitRepository, name: flux-system}", "shop, sourceRef: {kind: HelmRepository, name: shops}"
	const finalizer = ", finalizers: [resources-finalizer.argocd.argoproj.io]"
	for _, row := range []struct {
		name, unit, objects string
		want                string // of the unit's own deletion: its cost, and "kept"
		objectsGo           bool   // the claim costs data, too
	}{
		{"Flux", flux("prune: true"), claim, "data", true},
		{"Flux, without data", flux("prune: true"), config, "none", false},
		{"Flux does not prune", flux("prune: false"), claim, "data kept", false},
		{"Flux does not prune, and deletes in the end", flux("prune: false, deletionPolicy: Delete"), claim, "data", true},
		{"Flux prunes, and leaves all in the end", flux("prune: true, deletionPolicy: Orphan"), claim, "data kept", false},
		{"Flux is suspended", flux("prune: true, suspend: true"), claim, "data kept", false},
		{"Flux, marked", flux("prune: true"), kept("kustomize.toolkit.fluxcd.io/prune: disabled"), "none", false},
		{"Argo CD", argo(finalizer, "automated: {prune: true}"), claim, "data", true},
		{"Argo CD does not prune, and has the finalizer", argo(finalizer, ""), claim, "data", true},
		{"Argo CD prunes, and has no finalizer", argo("", "automated: {prune: true}"), claim, "data kept", false},
		{"Argo CD, background", argo(", finalizers: [resources-finalizer.argocd.argoproj.io/background]", ""), claim, "data", true},
		{"Argo CD, another finalizer", argo(", finalizers: [post-delete-finalizer.argocd.argoproj.io]", ""), claim, "data kept", false},
		{"Argo CD, Delete=false of all", argo(finalizer, "syncOptions: [Delete=false]"), claim, "data kept", false},
		{"Argo CD, Delete=false", argo(finalizer, ""), kept("argocd.argoproj.io/sync-options: Delete=false"), "none", false},
		{"Argo CD, Prune=false is for syncs", argo(finalizer, ""), kept("argocd.argoproj.io/sync-options: Prune=false"), "data", true},
		{"an ApplicationSet", set(""), claim, "data", true},
		{"an ApplicationSet that preserves", set("syncPolicy: {preserveResourcesOnDeletion: true}, "), claim, "none", false},
		{"an ApplicationSet that deletes nothing", set("syncPolicy: {applicationsSync: create-update}, "), claim, "data kept", false},
		{"a HelmRelease", release(inTree, ""), claim, "data", true},
		{"a HelmRelease that is suspended", release(inTree, "suspend: true, "), claim, "data kept", false},
		{"a HelmRelease, marked", release(inTree, ""), kept("helm.sh/resource-policy: keep"), "none", false},
		{"a HelmRelease of a chart elsewhere", release(elsewhere, ""), config, "unknown", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]string{"old/units/unit.yaml": row.unit, "old/other.yaml": other, "new/other.yaml": other}
			if strings.Contains(row.unit, "HelmRelease") {
				files["old/chart/templates/objects.yaml"], files["old/chart/Chart.yaml"] = row.objects, "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
			} else {
				files["old/shop/objects.yaml"] = row.objects
			}
			dir := writeFiles(t, files)
			c := runCommand("", "check", "-o", "json", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			var r struct {
				Deletions []struct {
					Kind, Cost, Message string
					Kept                bool
				}
			}
			if err := json.Unmarshal([]byte(c.out), &r); err != nil {
				t.Fatalf("%v\n%s%s", err, c.out, c.err)
			}
			got, objectsGo := "", false
			for _, d := range r.Deletions {
				switch d.Kind {
				case "Kustomization", "Application", "ApplicationSet", "HelmRelease":
					if got != "" && strings.Contains(row.unit, "ApplicationSet") && d.Kind == "Application" {
						continue // one of the set's
					}
					got = d.Cost
					if d.Kept {
						got += " kept"
					}
				case "PersistentVolumeClaim":
					objectsGo = objectsGo || !d.Kept
				}
			}
			if got != row.want || objectsGo != row.objectsGo {
				t.Errorf("got %q and %t, want %q and %t:\n%s", got, objectsGo, row.want, row.objectsGo, c.out)
			}
			c = runCommand("", "check", "--refuse-deletions", "data", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			if refused := c.status == 1; refused != (row.want == "data") {
				t.Errorf("status %d:\n%s%s", c.status, c.out, c.err)
			}
		})
	}
}

// TestLeavesUnit: an object that its unit no longer applies is deleted, if the tool prunes, although its manifest stays
// in the tree as a file that no unit reads. The manifest is compared as an update too, because people may apply the
// file themselves.
func TestLeavesUnit(t *testing.T) {
	const (
		claim  = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"
	)
	flux := func(options string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, path: ./shop, sourceRef: {kind: GitRepository, name: flux-system}, " + options + "}\n"
	}
	argo := func(options string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n" +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}" + options + "}\n"
	}
	const all, without = "resources: [claim.yaml, config.yaml]\n", "resources: [config.yaml]\n"
	for _, row := range []struct {
		name, unit, claim, kustomization string
		more                             map[string]string
		deleted                          bool
	}{
		{"Flux prunes", flux("prune: true"), claim, without, nil, true},
		{"nothing is left", flux("prune: true"), claim, "resources: []\nnamespace: shop\n", nil, true},
		{"Flux does not prune", flux("prune: false"), claim, without, nil, false},
		{"an object that Flux keeps", flux("prune: true"), strings.Replace(claim, "namespace: shop", "namespace: shop, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", 1), without, nil, false},
		{"Argo CD prunes", argo(", syncPolicy: {automated: {prune: true}}"), claim, without, nil, true},
		{"Argo CD does not prune", argo(""), claim, without, nil, false},
		{"kubectl", config, claim, without, nil, false},
		{"another unit applies it", flux("prune: true"), claim, without, map[string]string{"new/other/kustomization.yaml": "resources: [claim.yaml]\n", "new/other/claim.yaml": claim}, false},
		{"a unit that cannot be rendered", flux("prune: true"), claim, "resources: ['https://example.com/a//b?ref=v1']\npatches: [{path: p.yaml, target: {name: data}}]\n", map[string]string{"new/shop/p.yaml": "metadata: {labels: {a: b}}\n", "new/shop/claim.yaml": claim}, false},
		{"it is still applied", flux("prune: true"), claim, "resources: [config.yaml, claim.yaml]\n", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree := map[string]string{}
			for side, kustomization := range map[string]string{"old": all, "new": row.kustomization} {
				tree[side+"/unit.yaml"], tree[side+"/shop/kustomization.yaml"] = row.unit, kustomization
				tree[side+"/shop/claim.yaml"], tree[side+"/shop/config.yaml"] = row.claim, config
			}
			if row.more != nil {
				delete(tree, "new/shop/claim.yaml")
			}
			maps.Copy(tree, row.more)
			dir := writeFiles(t, tree)
			c := runCommand("", "check", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			if deleted := strings.Contains(c.out, "\n    deleted (cost: data): the volume"); deleted != row.deleted || c.status != exitClean {
				t.Errorf("deleted: %t, want %t; status %d:\n%s%s", deleted, row.deleted, c.status, c.out, c.err)
			}
		})
	}
}

// TestReinstalledReleases: Flux uninstalls a release first if its name, its namespaces or the name of its chart change.
// No object is updated, and all of OLD go with their cost, but for those that Helm keeps.
func TestReinstalledReleases(t *testing.T) {
	release := func(options string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: shop}\n" +
			"spec: {interval: 1m, " + options + "chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}}\n"
	}
	chart := func(name string) string { return "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n" }
	objects := func(annotations string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data" + annotations + "}\n" +
			"spec: {accessModes: [ReadWriteOnce], storageClassName: {{ .Values.class }}, resources: {requests: {storage: 1Gi}}}\n"
	}
	const deleted = "Flux uninstalls the release first, since its "
	for _, row := range []struct {
		name, options, chart, annotations string
		status                            int
		want                              string
	}{
		{"values", "", "shop", "", exitRefused, "spec.storageClassName"},
		{"the name of the release", "releaseName: other, ", "shop", "", exitClean, deleted + "name changes"},
		{"the target namespace", "targetNamespace: other, releaseName: shop, ", "shop", "", exitClean, deleted + "target namespace changes"},
		{"the storage namespace", "storageNamespace: other, ", "shop", "", exitClean, deleted + "storage namespace changes"},
		{"the name of the chart", "", "other", "", exitClean, deleted + "chart has another name"},
		{"the name of the chart, in place", "upgrade: {chartNameChangeStrategy: InPlaceUpdate}, ", "other", "", exitRefused, "spec.storageClassName"},
		{"an object that Helm keeps", "storageNamespace: other, ", "shop", ", annotations: {helm.sh/resource-policy: keep}", exitRefused, "spec.storageClassName"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{
				"old/unit.yaml": release("values: {class: fast}, "), "old/chart/Chart.yaml": chart("shop"), "old/chart/templates/claim.yaml": objects(row.annotations),
				"new/unit.yaml": release("values: {class: slow}, " + row.options), "new/chart/Chart.yaml": chart(row.chart), "new/chart/templates/claim.yaml": objects(row.annotations),
			})
			c := runCommand("", "check", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			lost := strings.HasPrefix(c.out, "! deleted: 1 PersistentVolumeClaim (data)")
			if c.status != row.status || !strings.Contains(c.out, row.want) || lost != strings.HasPrefix(row.want, deleted) {
				t.Errorf("status %d, want %d with %q:\n%s%s", c.status, row.status, row.want, c.out, c.err)
			}
		})
	}
}

// TestSyncedByArgoCD: of two manifests of one object in an Application the last one counts, and fields that it ignores
// stay as they are if its syncs respect that.
func TestSyncedByArgoCD(t *testing.T) {
	deployment := func(label string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: " + label + "}}\n" +
			"  template: {metadata: {labels: {app: " + label + "}}, spec: {containers: [{name: web, image: web}]}}\n"
	}
	application := func(options string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n" +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}, " + options + "}\n"
	}
	ignore := func(fields string) string {
		return application("syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}, ignoreDifferences: [{" + fields + "}]")
	}
	second := map[string]string{"new/shop/b.yaml": deployment("shop")}
	changed := map[string]string{"new/shop/a.yaml": deployment("shop")}
	for _, row := range []struct {
		name, unit string
		files      map[string]string
		status     int
		want       string
	}{
		{"a second manifest", application(""), second, exitRefused, "spec.selector"},
		{"a second manifest before the first one", application(""), map[string]string{"new/shop/0.yaml": deployment("shop")}, exitClean, "no refused change"},
		{"no option", application("ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/selector]}]"), changed, exitRefused, "spec.selector"},
		{"the field", ignore("group: apps, kind: Deployment, jsonPointers: [/spec/selector]"), changed, exitClean, "✓"},
		{"an expression", ignore("group: '*', kind: Deploy*, jqPathExpressions: [.spec.selector.matchLabels]"), changed, exitClean, "✓"},
		{"an expression that selects", ignore("group: apps, kind: Deployment, jqPathExpressions: ['.spec | .selector']"), changed, exitClean, "?"},
		{"a manager", ignore("group: apps, kind: Deployment, managedFieldsManagers: [other]"), changed, exitClean, "?"},
		{"another field", ignore("group: apps, kind: Deployment, jsonPointers: [/spec/replicas]"), changed, exitRefused, "spec.selector"},
		{"another kind", ignore("group: apps, kind: StatefulSet, jsonPointers: [/spec/selector]"), changed, exitRefused, "spec.selector"},
		{"another name", ignore("group: apps, kind: Deployment, name: other, jsonPointers: [/spec/selector]"), changed, exitRefused, "spec.selector"},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]string{"old/unit.yaml": row.unit, "new/unit.yaml": row.unit, "old/shop/a.yaml": deployment("web"), "new/shop/a.yaml": deployment("web")}
			for name, text := range row.files {
				files[name] = text
			}
			dir := writeFiles(t, files)
			c := runCommand("", "check", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			if c.status != row.status || !strings.Contains(c.out, row.want) {
				t.Errorf("status %d, want %d with %q:\n%s%s", c.status, row.status, row.want, c.out, c.err)
			}
		})
	}
}

// TestWaysOutOfUnits: Helm and Argo CD put objects that name no namespace into one that the unit names, so the commands
// of ways out name it, too; kinds without namespaces are left alone.
func TestWaysOutOfUnits(t *testing.T) {
	const (
		crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n" +
			"spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, schema: {\n" +
			"  openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}}}}}]}\n"
		objects = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}\n" +
			"---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: job, namespace: other}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}\n" +
			"---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: a1\n" +
			"---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: widget}\nspec: {class: a1}\n" +
			"---\napiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: run}\nspec: {taskRef: {name: a1}}\n" +
			"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: a1, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: flux-system}\n" +
			"spec: {interval: 1m, targetNamespace: shop, chart: {spec: {chart: ./shop, sourceRef: {kind: GitRepository, name: flux-system}}}}\n"
		application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n" +
			"spec: {project: default, source: {repoURL: https://example.com/r.git, path: shop, targetRevision: HEAD}, destination: {namespace: shop}}\n"
	)
	changed := strings.NewReplacer("a:1", "a:2", "a1", "a2").Replace(objects)
	const flux = " && flux reconcile helmrelease shop -n flux-system --with-source --force"
	for _, row := range []struct {
		name, unit, file string
		wants            []string
	}{
		{"a HelmRelease", release, "shop/templates/objects.yaml", []string{
			"kubectl delete job/job -n shop" + flux + "\n    kubectl delete job/job -n other" + flux, "kubectl delete storageclass/fast" + flux,
			"kubectl delete widgets.example.com widget --namespace shop" + flux, "kubectl delete taskruns.tekton.dev/run -n shop" + flux,
		}},
		{"an Application", application, "shop/objects.yaml", []string{
			"kubectl delete persistentvolumeclaim/data -n shop && kubectl annotate application shop -n argocd --overwrite argocd.argoproj.io/skip-reconcile- argocd.argoproj.io/refresh=normal && argocd app sync shop",
		}},
	} {
		files := map[string]string{"old/crd.yaml": crd, "new/crd.yaml": crd, "old/unit.yaml": row.unit, "new/unit.yaml": row.unit, "old/" + row.file: objects, "new/" + row.file: changed}
		if strings.Contains(row.file, "templates") {
			files["old/shop/Chart.yaml"] = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
			files["new/shop/Chart.yaml"] = files["old/shop/Chart.yaml"]
		}
		dir := writeFiles(t, files)
		c := runCommand("", "check", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
		for _, want := range row.wants {
			if !strings.Contains(c.out, want+"\n") {
				t.Errorf("%s: no way out %q:\n%s%s", row.name, want, c.out, c.err)
			}
		}
	}
}
