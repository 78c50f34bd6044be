package unit

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
)

// TestReferences: which files a reference of a Kustomization means, and which unit or directory decides that.
func TestReferences(t *testing.T) {
	kustomization := func(name, path string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {path: ./" + path +
			", sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}}\n"
	}
	vars := func(class string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {CLASS: " + class + "}\n"
	}
	generator := func(class string) string {
		return "configMapGenerator: [{name: vars, literals: [CLASS=" + class + "]}]\n"
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		unit    string   // with the reference, and the file of its definition
		want    []string // files
		unclear bool
	}{
		{"the only one", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "b/c/vars.yaml": vars("a")}, "apps a/apps.yaml", []string{"b/c/vars.yaml"}, false},
		{"none", map[string]string{"a/apps.yaml": kustomization("apps", "apps")}, "apps a/apps.yaml", nil, false},
		{"none of its namespace", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "a/vars.yaml": strings.Replace(vars("a"), "flux-system", "other", 1)}, "apps a/apps.yaml", nil, false},
		{"equal ones", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "b/vars.yaml": vars("a"), "c/vars.yaml": strings.Replace(vars("a"), "name: vars", "name: vars, labels: {a: b}", 1)},
			"apps a/apps.yaml", []string{"b/vars.yaml", "c/vars.yaml"}, false},
		{"different ones", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "b/vars.yaml": vars("a"), "c/vars.yaml": vars("b")},
			"apps a/apps.yaml", []string{"b/vars.yaml", "c/vars.yaml"}, true},
		{"of one file the last", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "b/vars.yaml": vars("b") + "---\n" + vars("a"), "c/vars.yaml": vars("a")},
			"apps a/apps.yaml", []string{"b/vars.yaml", "c/vars.yaml"}, false},
		{"one in its directory", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "a/vars.yaml": vars("a"), "c/vars.yaml": vars("b")},
			"apps a/apps.yaml", []string{"a/vars.yaml"}, false},
		{"one that it prints", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "apps/vars.yaml": vars("a"), "c/vars.yaml": vars("b")},
			"apps a/apps.yaml", []string{"apps/vars.yaml"}, false},
		{"one that its root prints", map[string]string{"root.yaml": kustomization("root", "cluster"), "cluster/apps.yaml": kustomization("apps", "apps"),
			"cluster/config/vars.yaml": vars("a"), "apps2/vars.yaml": vars("b")}, "apps cluster/apps.yaml", []string{"cluster/config/vars.yaml"}, false},
		{"one that a unit of its root prints", map[string]string{"root.yaml": kustomization("root", "cluster"), "cluster/apps.yaml": kustomization("apps", "apps"),
			"cluster/config.yaml": kustomization("config", "config"), "config/vars.yaml": vars("a"), "other/vars.yaml": vars("b")}, "apps cluster/apps.yaml", []string{"config/vars.yaml"}, false},
		{"another cluster, of files", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "a/config/vars.yaml": vars("a"), "b/apps.yaml": kustomization("apps", "apps"), "b/config/vars.yaml": vars("b")},
			"apps b/apps.yaml", []string{"b/config/vars.yaml"}, false},
		{"another cluster, of roots", map[string]string{"a/root.yaml": kustomization("root", "a/all"), "a/all/apps.yaml": kustomization("apps", "apps"), "a/config.yaml": kustomization("config", "config/a"),
			"b/root.yaml": kustomization("root", "b/all"), "b/all/apps.yaml": kustomization("apps", "apps"), "b/config.yaml": kustomization("config", "config/b"),
			"config/a/vars.yaml": vars("a"), "config/b/vars.yaml": vars("b")}, "apps b/all/apps.yaml", []string{"config/b/vars.yaml"}, false},
		{"one that is generated", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "apps/kustomization.yaml": generator("a"), "b/kustomization.yaml": generator("b")},
			"apps a/apps.yaml", []string{"apps/kustomization.yaml"}, false},
		{"different generators", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "b/kustomization.yaml": generator("a"), "c/kustomization.yaml": generator("b")},
			"apps a/apps.yaml", []string{"b/kustomization.yaml", "c/kustomization.yaml"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["apps/claim.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
			s := sideOf(t, c.files)
			i := slices.IndexFunc(s.units, func(u *Unit) bool { return strings.TrimPrefix(u.Name, "flux-system/")+" "+u.File == c.unit })
			if i < 0 {
				t.Fatalf("no unit %s among %v", c.unit, s.units)
			}
			m := s.units[i].refers[flux.Reference{Kind: "ConfigMap", Namespace: "flux-system", Name: "vars"}]
			if !slices.Equal(m.files, c.want) || (s.units[i].unclear != "") != c.unclear {
				t.Errorf("it means %q, want %q; %q", m.files, c.want, s.units[i].unclear)
			}
		})
	}
}

// sideOf finds the units of a tree of files.
func sideOf(t *testing.T, in files) *side {
	t.Helper()
	e := newEngine(Options{})
	t.Cleanup(e.close)
	s, err := e.find(in.tree(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMeans: a reference means an object of its kind and name; a namespace counts where both sides give one.
func TestMeans(t *testing.T) {
	object := func(kind, namespace, name string) map[string]any {
		metadata := map[string]any{"name": name}
		if namespace != "" {
			metadata["namespace"] = namespace
		}
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata}
	}
	in, anywhere := flux.Reference{Kind: "ConfigMap", Namespace: "a", Name: "vars"}, flux.Reference{Kind: "ConfigMap", Name: "vars"}
	for _, row := range []struct {
		name   string
		r      flux.Reference
		object map[string]any
		want   bool
	}{
		{"the same namespace", in, object("ConfigMap", "a", "vars"), true},
		{"another namespace", in, object("ConfigMap", "b", "vars"), false},
		{"an object whose kustomization sets the namespace", in, object("ConfigMap", "", "vars"), true},
		{"a reference without a namespace", anywhere, object("ConfigMap", "b", "vars"), true},
		{"neither has one", anywhere, object("ConfigMap", "", "vars"), true},
		{"another kind", in, object("Secret", "a", "vars"), false},
		{"another name", in, object("ConfigMap", "a", "values"), false},
	} {
		if got := means(row.r, row.object); got != row.want {
			t.Errorf("%s: %t, want %t", row.name, got, row.want)
		}
	}
}
