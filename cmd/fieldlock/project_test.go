package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsOfAChange: with --git, accept counts from NEW, refuse-deletions, locks, aliases and strict from both
// sides, and all else from OLD, so that a change cannot excuse itself. In each row NEW changes the storage class of a
// claim, unless it says otherwise.
func TestSettingsOfAChange(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const (
		file    = ".fieldlock.yaml"
		later   = ".fieldlock.yaml: the change of "
		ignored = "warning: the settings of OLD do not count, except for locks and refused deletions: "
		left    = "excluded: "
		refused = "spec.storageClassName"
	)
	plain := map[string]string{"apps/claim.yaml": claim("data", "fast")}
	moved := with(plain, "apps/claim.yaml", claim("data", "slow"))
	web := func(strategy string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  " + strategy +
			"\n  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}\n"
	}
	rolling, recreate := map[string]string{"web.yaml": web("replicas: 1")}, map[string]string{"web.yaml": web("strategy: {type: Recreate}")}
	bound := func(role string) map[string]string {
		return map[string]string{"a.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a, namespace: shop}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\n"}
	}
	elsewhere := func(version string) map[string]string { // a chart that is not in the tree
		return map[string]string{"films.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: films, namespace: shop}\nspec:\n  interval: 1h\n" +
			"  chart: {spec: {chart: films, version: " + version + ".0.0, sourceRef: {kind: HelmRepository, name: films}}}\n"}
	}
	shop := map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/values.yaml": "class: none\n",
		"shop/templates/claim.yaml": claim("data", "{{ .Values.class }}"), "env/prod.yaml": "class: fast\n", "env/other.yaml": "class: fast\n",
	}
	byVersion := with(shop, "shop/templates/claim.yaml", claim("data", `{{ if eq .Capabilities.KubeVersion.Minor "35" }}{{ .Values.class }}{{ else }}same{{ end }}`))
	const prod = "charts: {shop: [env/prod.yaml]}\n"
	const several = "charts: {shop: [{name: shop-eu, namespace: eu, values: [env/prod.yaml]}, {name: shop-us, namespace: us, values: [env/other.yaml]}]}\n"
	const storageClass = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a}\nprovisioner: '{{ .Values.class }}'\n"
	overlay := map[string]string{"lib/kustomization.yaml": "resources: [claim.yaml]\n", "lib/claim.yaml": claim("data", "fast"), "prod/kustomization.yaml": "resources: [../lib]\n"}
	for _, c := range []struct {
		name, reason string
		old, new     map[string]string
		args         string
		status       int
		says         []string // on both outputs
		silent       []string
	}{
		{"exclude", "OLD has it", with(plain, file, "exclude: [apps]\n"), with(moved, file, "exclude: [apps]\n"), "", exitClean, []string{left + "1 changed file (apps/claim.yaml)"}, []string{later, refused}},
		{"exclude, and --strict", "what is excluded is no reason against a tick", with(plain, file, "exclude: [apps]\n"), with(moved, file, "exclude: [apps]\n"), "--strict", exitClean, []string{"✓ nothing changed; " + left}, nil},
		{"exclude, nothing changed", "silence", with(plain, file, "exclude: [apps]\n"), with(plain, file, "exclude: [apps]\n", "z.txt", "z"), "--strict", exitClean, nil, []string{left, "warning"}},
		{"exclude appears", "it counts after the merge", plain, with(moved, file, "exclude: ['**']\n"), "", exitRefused, []string{later + "exclude takes effect after the merge", refused}, []string{left}},
		{"exclude grows", "it counts after the merge", with(plain, file, "exclude: [lib]\n"), with(moved, file, "exclude: [lib, apps]\n"), "", exitRefused, []string{later + "exclude takes", refused}, nil},
		{"exclude goes", "it counts until the merge", with(plain, file, "exclude: [apps]\n"), moved, "", exitClean, []string{later + "exclude takes", left}, []string{refused}},
		{"excluded file removed", "it changed", with(plain, file, "exclude: [apps]\n"), map[string]string{file: "exclude: [apps]\n"}, "", exitClean, []string{left}, []string{"deleted"}},
		{"a file moves to where OLD excludes", "the object is not gone", with(plain, file, "exclude: [old]\n"), map[string]string{file: "exclude: [old]\n", "old/claim.yaml": claim("data", "slow")},
			"", exitClean, []string{"? PersistentVolumeClaim data", "exclude in the settings leaves out", refused, left}, nil},
		{"the same, and --strict", "", with(plain, file, "exclude: [old]\n"), map[string]string{file: "exclude: [old]\n", "old/claim.yaml": claim("data", "slow")}, "--strict", exitRefused, []string{"? not checked: 1 unknown verdict", refused}, nil},
		{"a base that is excluded", "the overlay reads it", with(overlay, file, "exclude: [lib]\n"), with(overlay, file, "exclude: [lib]\n", "lib/claim.yaml", claim("data", "slow")), "", exitRefused, []string{refused}, []string{left}},
		{"an overlay that is excluded", "its base is read as it is written", with(overlay, file, "exclude: [prod]\n"), with(overlay, file, "exclude: [prod]\n", "lib/claim.yaml", claim("data", "slow")), "", exitRefused, []string{refused}, nil},
		{"a chart that is excluded", "its files are told, also those without objects", with(shop, file, "exclude: [shop]\n"), with(shop, file, "exclude: [shop]\n", "shop/values.yaml", "class: slow\n", "shop/templates/_a.tpl", "a"), "", exitClean,
			[]string{left + "2 changed files (shop/templates/_a.tpl, shop/values.yaml)"}, []string{refused}},
		{"exclude, files as they are written", "--plain", with(plain, file, "exclude: [apps]\n"), with(moved, file, "exclude: [apps]\n"), "--plain", exitClean, []string{left}, []string{refused}},

		{"applier", "OLD has it", with(rolling, file, "applier: server-side\n"), with(recreate, file, "applier: server-side\n"), "", exitRefused, []string{"may not be specified when strategy"}, nil},
		{"applier changes", "it counts after the merge", with(rolling, file, "applier: server-side\n"), with(recreate, file, "applier: client-side\n"), "", exitRefused, []string{later + "applier takes", "may not be specified"}, nil},
		{"applier goes", "it counts until the merge", with(rolling, file, "applier: server-side\n"), recreate, "", exitRefused, []string{later + "applier takes"}, nil},
		{"a flag beats the applier", "", with(rolling, file, "applier: server-side\n"), with(recreate, file, "applier: server-side\n"), "--applier client-side", exitClean, nil, nil},

		{"tool", "OLD has it", with(rolling, file, "tool: flux\n"), with(recreate, file, "tool: flux\n"), "", exitRefused, []string{"may not be specified when strategy", "kustomize.toolkit.fluxcd.io/force"}, nil},
		{"tool changes", "it counts after the merge", with(rolling, file, "tool: flux\n"), with(recreate, file, "tool: argo-cd\n"), "", exitRefused, []string{later + "tool takes", "may not be specified"}, nil},
		{"tool is Argo CD", "it applies client-side", with(rolling, file, "tool: argo-cd\n"), with(recreate, file, "tool: argo-cd\n"), "", exitClean, []string{"✓"}, []string{"?"}},
		{"tool is kubectl", "it applies client-side", with(rolling, file, "tool: kubectl\n"), with(recreate, file, "tool: kubectl\n"), "", exitClean, []string{"✓"}, []string{"?"}},
		{"tool is Helm", "of which version, nobody knows", with(rolling, file, "tool: helm\n"), with(recreate, file, "tool: helm\n"), "", exitClean, []string{"? not checked: 1 unknown verdict"}, nil},
		{"tools", "the longest path counts", with(rolling, file, "tool: argo-cd\ntools: {web.yaml: flux}\n"), with(recreate, file, "tool: argo-cd\ntools: {web.yaml: flux}\n"), "", exitRefused, []string{"may not be specified"}, nil},
		{"tools appear", "they count after the merge", rolling, with(recreate, file, "tools: {.: argo-cd}\n"), "", exitClean, []string{later + "tools takes", "? not checked"}, nil},
		{"the applier beats the tool", "", with(rolling, file, "tool: flux\napplier: client-side\n"), with(recreate, file, "tool: flux\napplier: client-side\n"), "", exitClean, []string{"✓"}, nil},
		{"a flag beats the tool", "", with(rolling, file, "tool: argo-cd\n"), with(recreate, file, "tool: argo-cd\n"), "--applier server-side", exitRefused, []string{"may not be specified"}, nil},
		{"a role that Argo CD replaces", "--applier says how, the tool says who", with(bound("view"), file, "tool: argo-cd\n"), with(bound("edit"), file, "tool: argo-cd\n"), "--applier client-side", exitClean, []string{"requested replacement"}, []string{"✗"}},
		{"a role under kubectl", "it replaces nothing", with(bound("view"), file, "tool: kubectl\n"), with(bound("edit"), file, "tool: kubectl\n"), "", exitRefused, []string{"kubectl delete rolebinding/a"}, []string{"argocd"}},
		{"the tool of a kustomization", "", with(overlay, file, "tool: argo-cd\n"), with(overlay, file, "tool: argo-cd\n", "lib/claim.yaml", claim("data", "slow")), "", exitRefused, []string{"argocd app sync APPLICATION"}, nil},
		{"the tool of a chart", "Flux has Helm install it", with(shop, file, "tool: argo-cd\ntools: {shop: flux}\n"), with(shop, file, "tool: argo-cd\ntools: {shop: flux}\n", "shop/values.yaml", "class: slow\n"), "", exitRefused,
			[]string{"flux resume helmrelease RELEASE -n NAMESPACE"}, nil},
		{"a chart that nobody deploys", "its release is not known", shop, with(shop, "shop/values.yaml", "class: slow\n"), "", exitRefused,
			[]string{"persistentvolumeclaim/data -n NAMESPACE && helm upgrade RELEASE shop -n NAMESPACE"}, []string{"-n default"}},
		{"a kind without namespaces, of a chart that nobody deploys", "", with(shop, "shop/templates/claim.yaml", storageClass), with(shop, "shop/templates/claim.yaml", storageClass, "shop/values.yaml", "class: slow\n"), "", exitRefused,
			[]string{"kubectl delete storageclass/a && helm upgrade RELEASE shop -n NAMESPACE"}, []string{"storageclass/a -n"}},

		{"charts", "OLD names the values", with(shop, file, prod), with(shop, file, prod, "env/prod.yaml", "class: slow\n"), "", exitRefused, []string{refused}, []string{later}},
		{"charts, several releases", "each has its values", with(shop, file, several), with(shop, file, several, "env/other.yaml", "class: slow\n"), "", exitRefused, []string{"1 object refused", "chart shop as us/shop-us"}, []string{"shop-eu"}},
		{"charts points elsewhere", "it counts after the merge", with(shop, file, prod), with(shop, file, "charts: {shop: [env/other.yaml]}\n", "env/prod.yaml", "class: slow\n"), "", exitRefused, []string{refused, later + "charts takes"}, nil},
		{"charts points to nothing", "", with(shop, file, prod), with(shop, file, "charts: {shop: [], nothing: [a]}\n", "env/prod.yaml", "class: slow\n"), "", exitRefused, []string{refused, later + "charts takes"}, nil},
		{"the values of charts go", "nobody knows what is deployed", with(shop, file, prod), with(shop, file, prod, "env/prod.yaml", ""), "", exitUnread, []string{"the tree has no file env/prod.yaml, which the settings name"}, nil},
		{"the values of charts move", "", with(shop, file, prod), with(shop, file, "charts: {shop: [env/new.yaml]}\n", "env/prod.yaml", "", "env/new.yaml", "class: slow\n"), "", exitUnread, []string{"env/prod.yaml", later}, nil},
		{"values out of the tree", "they cannot be read", with(shop, file, "charts: {shop: [../prod.yaml]}\n"), with(shop, file, "charts: {shop: [../prod.yaml]}\n", "shop/values.yaml", "class: slow\n"), "", exitClean, []string{"not covered"}, nil},

		{"kubernetes-version", "charts see it", with(byVersion, file, "kubernetes-version: 1.35\n"), with(byVersion, file, "kubernetes-version: 1.35\n", "shop/values.yaml", "class: slow\n"), "", exitRefused, []string{refused}, nil},
		{"kubernetes-version changes", "it counts after the merge", with(byVersion, file, "kubernetes-version: 1.35\n"), with(byVersion, file, "kubernetes-version: 1.36\n", "shop/values.yaml", "class: slow\n"), "", exitRefused, []string{refused, later + "kubernetes-version"}, nil},
		{"a flag beats the version", "", with(byVersion, file, "kubernetes-version: 1.35\n"), with(byVersion, file, "kubernetes-version: 1.35\n", "shop/values.yaml", "class: slow\n"), "--kubernetes-version 1.36", exitClean, nil, []string{refused}},

		{"refuse-deletions", "both have it", with(plain, file, "refuse-deletions: [data]\n"), map[string]string{file: "refuse-deletions: [data]\n", "z.yaml": "# z\n"}, "", exitRefused, []string{"deletions of cost data are refused"}, nil},
		{"refuse-deletions goes", "OLD has it", with(plain, file, "refuse-deletions: [data]\n"), map[string]string{"z.yaml": "# z\n"}, "", exitRefused, []string{"deletions of cost data are refused"}, []string{later}},
		{"refuse-deletions appears", "NEW has it", plain, map[string]string{file: "refuse-deletions: [data]\n"}, "", exitRefused, []string{"deletions of cost data are refused"}, []string{later}},
		{"a flag beats refuse-deletions", "", with(plain, file, "refuse-deletions: [data]\n"), map[string]string{file: "refuse-deletions: [data]\n"}, "--refuse-deletions cascade", exitClean, nil, nil},
		{"a deletion is accepted", "accept counts from NEW", with(plain, file, "refuse-deletions: [data]\n"), map[string]string{file: "refuse-deletions: [data]\naccept: [{kind: PersistentVolumeClaim, reason: it was copied}]\n"}, "", exitClean, []string{"it was copied"}, nil},

		{"strict", "both have it", with(elsewhere("1"), file, "strict: true\n"), with(elsewhere("2"), file, "strict: true\n"), "", exitRefused, []string{"? not checked: 1 HelmRelease (shop/films)"}, nil},
		{"strict goes", "OLD has it", with(elsewhere("1"), file, "strict: true\n"), elsewhere("2"), "", exitRefused, []string{"? not checked"}, []string{later}},
		{"strict appears", "NEW has it", elsewhere("1"), with(elsewhere("2"), file, "strict: true\n"), "", exitRefused, []string{"? not checked"}, []string{later}},
		{"strict, and nothing changed", "silence", with(elsewhere("1"), file, "strict: true\n"), with(elsewhere("1"), file, "strict: true\n"), "", exitClean, []string{"✓ nothing changed"}, []string{"?"}},
		{"neither strict", "? does not fail", elsewhere("1"), elsewhere("2"), "", exitClean, []string{"? not checked: 1 HelmRelease (shop/films)"}, nil},
		{"strict, and advisory", "", with(elsewhere("1"), file, "strict: true\nmode: advisory\n"), with(elsewhere("2"), file, "strict: true\nmode: advisory\n"), "", exitClean, []string{"? not checked"}, nil},

		{"NEW cannot be read", "the rest is checked", plain, with(moved, file, "exlude: ['**']\n"), "", exitUnread, []string{refused, ".fieldlock.yaml:1: document 1: exlude: the key is not known; did you mean exclude?"}, nil},
		{"NEW is no YAML", "the rest is checked", plain, with(moved, file, "a: [\n"), "", exitUnread, []string{refused, ".fieldlock.yaml"}, nil},
		{"NEW is a link out of the tree", "the rest is checked", with(plain, file, "mode: enforcing\n"), with(moved, file, "-> ../../settings.yaml"), "", exitUnread, []string{refused, "it is a link"}, nil},
		{"NEW is a directory", "the rest is checked", plain, with(moved, file+"/a", "mode: advisory\n"), "", exitUnread, []string{refused, "it is not a file"}, nil},
		{"OLD cannot be read", "it is as if it said nothing", with(plain, file, "exclude: ['**'\n"), with(moved, file, "exclude: ['**']\n"), "", exitRefused, []string{refused, ignored, later + "exclude takes"}, nil},
		{"OLD has an unknown key beside refuse-deletions", "what adds refusals counts", with(plain, file, "refuse-deletions: [data]\nx: y\n"), map[string]string{"z.yaml": "# z\n"}, "", exitRefused, []string{"deletions of cost data", ignored}, nil},
		{"OLD has an unknown key", "all of it is ignored", with(plain, file, "exclude: ['**']\nx: y\n"), with(moved, file, "exclude: ['**']\n"), "", exitRefused, []string{refused, ignored}, nil},
		{"OLD is a link", "it is as if it said nothing", with(plain, file, "-> list", "list", "mode: advisory\n"), with(moved, file, "mode: advisory\n"), "", exitRefused, []string{refused, ignored}, nil},
		{"the file moves", "OLD's still counts", with(plain, file, "refuse-deletions: [data]\n"), map[string]string{"apps/" + file: "mode: advisory\nexclude: ['**']\n"}, "", exitRefused, []string{"deletions of cost data"}, nil},
		{"the file has another spelling", "it is not read", plain, with(moved, ".fieldlock.yml", "exclude: ['**']\n", ".Fieldlock.yaml", "mode: advisory\n"), "", exitRefused, []string{refused}, nil},
		{"everything at once", "", plain, with(moved, file, "mode: advisory\nexclude: ['**']\nkubernetes-version: 1.35\napplier: replace\ncharts: {a: []}\n"), "", exitRefused,
			[]string{refused, later + "mode, exclude, charts, kubernetes-version, applier takes effect after the merge"}, nil},
		{"--accept replaces only accept", "the rest counts", with(plain, file, "refuse-deletions: [data]\n", "list.yaml", "accept: []\n"),
			map[string]string{file: "refuse-deletions: [data]\naccept: [{reason: all}]\n", "list.yaml": "accept: []\nmode: advisory\n"}, "--accept list.yaml", exitRefused, []string{"deletions of cost data"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, c.new)
			got := runCommand("", append([]string{"check", "--git", "HEAD"}, strings.Fields(c.args)...)...)
			if got.status != c.status {
				t.Errorf("%s: status %d, want %d", c.reason, got.status, c.status)
			}
			for _, text := range c.says {
				if !strings.Contains(got.out+got.err, text) {
					t.Errorf("%s: it does not say %q", c.reason, text)
				}
			}
			for _, text := range c.silent {
				if strings.Contains(got.out+got.err, text) {
					t.Errorf("%s: it says %q", c.reason, text)
				}
			}
			if t.Failed() {
				t.Logf("%s%s", got.out, got.err)
			}
		})
	}
}

// TestSettingsHere: without --git the settings of the current directory count, or those at the root of its repository;
// paths are relative to their file.
func TestSettingsHere(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"old/vendor/claim.yaml": claim("data", "fast"), "new/vendor/claim.yaml": claim("data", "slow"),
		".fieldlock.yaml": "exclude: [new/vendor]\nrefuse-deletions: [data]\n", ".git/HEAD": "", "sub/x.txt": "",
	})
	check := func(where, want string, status int, args ...string) {
		t.Helper()
		t.Chdir(filepath.Join(dir, where))
		if c := runCommand("", append([]string{"check"}, args...)...); c.status != status || !strings.Contains(c.out+c.err, want) {
			t.Errorf("%s %v: status %d, want %d with %q\n%s%s", where, args, c.status, status, want, c.out, c.err)
		}
	}
	check(".", "excluded: 1 changed file (vendor/claim.yaml)", exitClean, "old", "new")
	check("sub", "excluded: 1 changed file (vendor/claim.yaml)", exitClean, "../old", "../new")
	check("sub", "spec.storageClassName", exitRefused, "../old/vendor/claim.yaml", "../new/vendor/claim.yaml") // files that are named
	writeFile(t, filepath.Join(dir, "new/z.yaml"), "# z\n")
	if err := os.RemoveAll(filepath.Join(dir, "new/vendor")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "sub/.fieldlock.yaml"), "exclude: []\n")
	check("sub", "if you delete it (cost: data)", exitClean, "../old", "../new")
	writeFile(t, filepath.Join(dir, "sub/.fieldlock.yaml"), "refuse-deletions: data\n")
	check("sub", "deletions of cost data are refused", exitRefused, "../old", "../new")
	writeFile(t, filepath.Join(dir, "sub/.fieldlock.yaml"), "refuse-deletion: data\n")
	check("sub", "did you mean refuse-deletions?", exitUnread, "../old", "../new")
	check("sub", "if you delete it (cost: data)", exitUnread, "../old", "../new")
}

// TestSettingsOfRender: render shows what check sees, with the same settings.
func TestSettingsOfRender(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a repository")
	}
	files := map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/templates/claim.yaml": claim("data", "{{ .Values.class }}-{{ .Capabilities.KubeVersion.Minor }}"),
		"env/prod.yaml": "class: fast\n", "vendor/claim.yaml": claim("vendor", "none"),
		".fieldlock.yaml": "charts: {shop: [env/prod.yaml]}\nkubernetes-version: '1.35'\nexclude: [vendor]\n",
	}
	repositoryOf(t, files, map[string]string{".fieldlock.yaml": "kubernetes-version: '1.36'\n", "shop/values.yaml": "class: slow\n"})
	render := func(args ...string) string {
		t.Helper()
		c := runCommand("", append([]string{"render"}, args...)...)
		if c.status != exitClean {
			t.Errorf("%v: status %d\n%s", args, c.status, c.err)
		}
		return c.out + c.err
	}
	if got := render(); !strings.Contains(got, "storageClassName: slow-36") || !strings.Contains(got, "name: vendor") {
		t.Errorf("the settings here do not count:\n%s", got)
	}
	got := render("--git", "HEAD")
	if !strings.Contains(got, "storageClassName: fast-35") || !strings.Contains(got, "# unit: chart shop with env/prod.yaml") || strings.Contains(got, "name: vendor") {
		t.Errorf("the settings of the revision do not count:\n%s", got)
	}
	if !strings.Contains(got, "not covered: file vendor/claim.yaml: exclude in the settings leaves it out") {
		t.Errorf("it does not name what it leaves out:\n%s", got)
	}
	if got := render("--git", "HEAD", "vendor"); strings.Contains(got, "storageClassName: none") {
		t.Errorf("a directory that is no unit is left out:\n%s", got)
	}
	writeFile(t, ".fieldlock.yaml", "charts: 5\n")
	if c := runCommand("", "render"); c.status != exitUnread || !strings.Contains(c.err, ".fieldlock.yaml:1") || !strings.Contains(c.out, "name: vendor") {
		t.Errorf("status %d\n%s%s", c.status, c.out, c.err)
	}
}
