package unit

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/settings"
	"github.com/fieldlock/fieldlock/internal/tool"
)

func TestMain(m *testing.M) {
	if worker.Asked(os.Args) {
		os.Exit(worker.Main(Renderers()))
	}
	os.Exit(m.Run())
}

// files are a tree: texts by their paths. A text that begins with "-> " is a link.
type files map[string]string

// with returns the files with changes, a path and a text each; "" removes a file.
func (f files) with(changes ...string) files {
	all := files{}
	for name, text := range f {
		all[name] = text
	}
	for i := 0; i < len(changes); i += 2 {
		if all[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(all, changes[i])
		}
	}
	return all
}

// tree writes the files.
func (f files) tree(t *testing.T) *Directory {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// side is the tree of the files, of which those with objects are read as they are written. Paths select some.
func (f files) side(t *testing.T, paths ...string) *Side {
	t.Helper()
	s := &Side{Tree: f.tree(t), Paths: paths}
	var others []manifest.File
	for _, name := range s.Tree.Paths() {
		if !manifest.HasObjects(name) || manifest.IsHidden(name) {
			continue
		}
		if file := (manifest.File{Name: name, Path: name}); s.names(name) {
			s.Files = append(s.Files, file)
		} else {
			others = append(others, file)
		}
	}
	s.Others = func() []manifest.File { return slices.Clone(others) }
	return s
}

// object is a ConfigMap with a value.
func object(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  a: " + value + "\n"
}

const (
	gitSource = "sourceRef: {kind: GitRepository, name: flux-system}"
	chartFile = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
)

// fluxUnit is a Flux Kustomization or a HelmRelease with the fields of its spec.
func fluxUnit(group, kind, name, spec string) string {
	return "apiVersion: " + group + ".toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {interval: 1h, " + spec + "}\n"
}

// argoUnit is an Application with the fields of its source.
func argoUnit(name, source string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: default\n" +
		"  source: {repoURL: 'https://example.com/deploy.git', " + source + "}\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
}

// update is a change of a tree, and what Compare makes of it.
type update struct {
	name, reason string
	old, new     files
	want         string // lines as compared returns them
	options      Options
	paths        []string
}

// compareEach compares both sides of each update.
func compareEach(t *testing.T, updates []update) {
	t.Helper()
	for _, u := range updates {
		t.Run(u.name, func(t *testing.T) {
			got := strings.Join(compared(t, u.new.side(t, u.paths...), u.old.side(t, u.paths...), u.options), "\n")
			if want := strings.ReplaceAll(strings.TrimSpace(u.want), "\t", ""); got != want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, want, u.reason)
			}
		})
	}
}

// compared compares two trees, and lists what came of it, sorted:
//
//   - ConfigMap a of FILE          an object that only NEW has; - for OLD, ~ for one that differs, = for one that both have alike
//     ? chart shop: REASON           something that changed and is not covered
//     unit chart shop                a changed unit
//     error MESSAGE, warning MESSAGE
func compared(t *testing.T, newSide, oldSide *Side, o Options) []string {
	t.Helper()
	c, err := Compare(newSide, oldSide, o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	add := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		for _, s := range []*Side{newSide, oldSide} {
			line = strings.ReplaceAll(line, s.Tree.Name(".")+"/", "")
		}
		lines = append(lines, line)
	}
	list := func(files []manifest.File) map[string]map[string]any {
		all := map[string]map[string]any{}
		for _, f := range files {
			if f.Err != nil {
				add("error %v", f.Err)
			}
			for _, d := range f.Documents {
				name := fmt.Sprintf("%v %s of %s", d.Object["kind"], nameOf(d.Object), cmp.Or(f.Unit, f.Path))
				if f.AppliedBy.Uninstalls != "" {
					name += ", uninstalled first"
				}
				all[name] = d.Object
			}
		}
		return all
	}
	news, olds := list(c.New), list(c.Old)
	for name, n := range news {
		mark := "="
		if old, ok := olds[name]; !ok {
			mark = "+"
		} else if !reflect.DeepEqual(n, old) {
			mark = "~"
		}
		add("%s %s", mark, name)
	}
	for name := range olds {
		if _, ok := news[name]; !ok {
			add("- %s", name)
		}
	}
	for _, u := range c.Units {
		if u.Changed {
			add("unit %s %s", u.Kind, u.Unit)
		}
	}
	for _, n := range c.NotCovered {
		if n.Changed {
			add("? %s %s: %s", n.Kind, n.Unit, n.Reason)
		}
	}
	for _, err := range c.Errs {
		add("error %v", err)
	}
	for _, w := range c.Warnings {
		add("warning %s", w)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestApplier: who applies the objects of a unit, with which command, and what it keeps.
func TestApplier(t *testing.T) {
	tree := chart.with(
		"ks.yaml", fluxUnit("kustomize", "Kustomization", "apps", "path: ./apps, prune: false, force: true, "+gitSource), "apps/a.yaml", object("a", "one"),
		"apps/inner.yaml", fluxUnit("helm", "HelmRelease", "inner", "chart: {spec: {chart: ./shop, "+gitSource+"}}"),
		"release.yaml", fluxUnit("helm", "HelmRelease", "shop", "targetNamespace: team, chart: {spec: {chart: ./shop, "+gitSource+"}}, upgrade: {force: true}"),
		"app.yaml", argoUnit("app", "path: app")+"  syncPolicy: {automated: {prune: true}, syncOptions: [ServerSideApply=true]}\n", "app/a.yaml", object("b", "one"),
		"other/Chart.yaml", chartFile, "other/templates/a.yaml", object("c", "one"), "other/values-a.yaml", "a: b\n", "env/b c.yaml", "a: c\n", "prod/kustomization.yaml", overlay["prod/kustomization.yaml"], "prod/a.yaml", object("d", "one"),
		"charts/kustomization.yaml", "helmCharts: [{name: shop, releaseName: shop}]\nhelmGlobals: {chartHome: .}\n", "charts/shop/Chart.yaml", chartFile, "charts/shop/values.yaml", "a: b\n", "charts/shop/templates/a.yaml", object("g", "one"),
		"above/kustomization.yaml", "resources: [../charts]\n",
		"oci.yaml", fluxUnit("kustomize", "Kustomization", "pushed", "path: ./pushed, prune: false, force: true, sourceRef: {kind: OCIRepository, name: deploy}"),
		"deploy/pushed/kustomization.yaml", "resources: [a.yaml]\n", "deploy/pushed/a.yaml", object("e", "one"),
		"variable.yaml", argoUnit("'${APP}'", "path: variable")+"  syncPolicy: {automated: {prune: true}}\n", "variable/a.yaml", object("f", "one"),
	)
	const fetchHome, anywhere = ", fetched with flux reconcile source git flux-system -n flux-system", ", fetched with " + tool.FluxReconcile
	set, err := Load(tree.side(t), Options{Charts: map[string][]settings.Release{"other": {{Name: "rel", Namespace: "ns", Values: []string{"other/values-a.yaml", "env/b c.yaml"}}}}})
	if err != nil || len(set.Errs) > 0 {
		t.Fatal(err, set.Errs)
	}
	got := map[string]string{}
	for _, u := range set.Units {
		a := set.side.manifests(u.Unit, nil)[0].AppliedBy
		apply := strings.ReplaceAll(a.Apply, path.Dir(set.side.tree.Name("app.yaml"))+"/", "")
		got[u.String()] = fmt.Sprintf("%s %v in %q, keeps %t, forced %t: %s", a.Tool, a.Methods, a.Namespace, a.Keeps, a.Forced, apply)
		if a.Fetch != "" {
			got[u.String()] += ", fetched with " + a.Fetch
		}
	}
	want := map[string]string{
		"kustomization prod":  ` [] in "", keeps false, forced false: kubectl apply -k prod`,
		"kustomization above": ` [] in "", keeps false, forced false: kustomize build --enable-helm above | kubectl apply -f -`,
		"chart other as ns/rel with values-a.yaml, env/b c.yaml": `Helm [] in "ns", keeps false, forced false: helm upgrade rel other -n ns -f other/values-a.yaml -f 'env/b c.yaml'`,
		"Flux Kustomization flux-system/apps":                    `Flux [] in "", keeps true, forced true: flux reconcile kustomization apps -n flux-system --with-source` + fetchHome,
		"HelmRelease flux-system/shop":                           `Helm [server-side replace] in "team", keeps false, forced false: flux reconcile helmrelease shop -n flux-system --with-source --force` + anywhere,
		"HelmRelease flux-system/inner": `Helm [] in "flux-system", keeps false, forced false: flux reconcile helmrelease inner -n flux-system --with-source --force` +
			", fetched with flux reconcile kustomization apps -n flux-system --with-source",
		"Application argocd/app": `Argo CD [server-side] in "shop", keeps false, forced false: argocd app sync app`,
		"kustomization deploy/pushed": `Flux [server-side client-side] in "", keeps false, forced false: flux reconcile kustomization pushed -n flux-system --with-source` +
			", fetched with flux reconcile source oci deploy -n flux-system",
		"Application argocd/${APP}": `Argo CD [client-side] in "shop", keeps false, forced false: argocd app sync APPLICATION`,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
