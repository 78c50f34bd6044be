package unit

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
)

var varsReference = flux.Reference{Kind: "ConfigMap", Namespace: "flux-system", Name: "vars"}

// kustomizationOfVars is a Flux Kustomization that refers to the ConfigMap vars.
func kustomizationOfVars(name, path string) string {
	return fluxUnit("kustomize", "Kustomization", name, "path: ./"+path+", "+gitSource+", postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}")
}

// varsOf is the ConfigMap vars.
func varsOf(class string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {CLASS: " + class + "}\n"
}

// unitOf returns the unit with a name, the file of its definition, and that of the unit that prints it if it is given.
func unitOf(t *testing.T, s *side, want string) *Unit {
	t.Helper()
	i := slices.IndexFunc(s.units, func(u *Unit) bool { return describe(u) == want || strings.HasPrefix(describe(u), want+" ") })
	if i < 0 {
		t.Fatalf("no unit %s among %v", want, s.units)
	}
	return s.units[i]
}

// describe returns the name of a unit, the file of its definition, and that of the unit that prints it.
func describe(u *Unit) string {
	text := strings.TrimPrefix(u.Name, "flux-system/") + " " + u.File
	if u.parent != nil {
		text += " " + u.parent.File
	}
	return text
}

// TestReferences: which files a reference of a Kustomization means, and which unit or directory decides that.
func TestReferences(t *testing.T) {
	kustomization, vars := kustomizationOfVars, varsOf
	generator := func(class string) string {
		return "configMapGenerator: [{name: vars, literals: [CLASS=" + class + "]}]\n"
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		unit    string   // with the reference, the file of its definition, and the file of the unit that prints that
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
		{"another cluster, of roots, with an equal object", map[string]string{"a/root.yaml": kustomization("root", "a/all"), "a/all/apps.yaml": kustomization("apps", "apps"), "a/config.yaml": kustomization("config", "config/a"),
			"b/root.yaml": kustomization("root", "b/all"), "b/all/apps.yaml": kustomization("apps", "apps"), "b/config.yaml": kustomization("config", "config/b"),
			"config/a/vars.yaml": vars("a"), "config/b/vars.yaml": vars("a")}, "apps b/all/apps.yaml", []string{"config/b/vars.yaml"}, false},
		{"another cluster, of roots in one directory", map[string]string{"clusters/a.yaml": kustomization("root", "a"), "clusters/b.yaml": kustomization("root", "b"),
			"a/apps.yaml": kustomization("apps", "apps"), "b/apps.yaml": kustomization("apps", "apps"), "a/vars.yaml": vars("a"), "b/vars.yaml": vars("a")},
			"apps b/apps.yaml", []string{"b/vars.yaml"}, false},
		{"another cluster, that shares the definition", map[string]string{"a/root.yaml": kustomization("root", "a/all"), "b/root.yaml": kustomization("root", "b/all"),
			"a/all/kustomization.yaml": "resources: [../../shared/apps.yaml, vars.yaml]\n", "b/all/kustomization.yaml": "resources: [../../shared/apps.yaml, vars.yaml]\n",
			"shared/apps.yaml": kustomization("apps", "apps"), "a/all/vars.yaml": vars("a"), "b/all/vars.yaml": vars("a")}, "apps shared/apps.yaml b/root.yaml", []string{"b/all/vars.yaml"}, false},
		{"another cluster, of units whose roots have other names", map[string]string{"clusters/a.yaml": kustomization("a", "infra/a"), "clusters/b.yaml": kustomization("b", "infra/b"),
			"infra/a/mid.yaml": kustomization("mid", "conf/a"), "infra/b/mid.yaml": kustomization("mid", "conf/b"), "conf/b/apps.yaml": kustomization("apps", "apps"),
			"conf/a/vars.yaml": vars("a"), "conf/b/vars.yaml": vars("a")}, "apps conf/b/apps.yaml", []string{"conf/b/vars.yaml"}, false},
		{"another cluster, of one file", map[string]string{"clusters/a.yaml": kustomization("apps", "apps") + "---\n" + vars("a"), "clusters/b.yaml": kustomization("apps", "apps") + "---\n" + vars("b")},
			"apps clusters/b.yaml", []string{"clusters/b.yaml"}, false},
		{"one in the directory of the root of its root", map[string]string{"r/root.yaml": kustomization("root", "cluster"), "cluster/kustomization.yaml": "resources: [mid.yaml]\n", "cluster/mid.yaml": kustomization("mid", "cluster/sub"),
			"cluster/sub/kustomization.yaml": "resources: [../apps.yaml]\n", "cluster/apps.yaml": kustomization("apps", "apps"), "r/vars.yaml": vars("a"), "z/vars.yaml": vars("b")},
			"apps cluster/apps.yaml cluster/mid.yaml", []string{"r/vars.yaml"}, false},
		{"one that is generated", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "apps/kustomization.yaml": generator("a"), "b/kustomization.yaml": generator("b")},
			"apps a/apps.yaml", []string{"apps/kustomization.yaml"}, false},
		{"different generators", map[string]string{"a/apps.yaml": kustomization("apps", "apps"), "b/kustomization.yaml": generator("a"), "c/kustomization.yaml": generator("b")},
			"apps a/apps.yaml", []string{"b/kustomization.yaml", "c/kustomization.yaml"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["apps/claim.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
			s := sideOf(t, c.files)
			u := unitOf(t, s, c.unit)
			if m := u.refers[varsReference]; !slices.Equal(m.files, c.want) || (m.unclear != "") != c.unclear {
				t.Errorf("it means %q, want %q; %q", m.files, c.want, m.unclear)
			}
		})
	}
}

// TestPrinters: which units may print the object that a Kustomization refers to.
func TestPrinters(t *testing.T) {
	kustomization, vars := kustomizationOfVars, varsOf
	for _, c := range []struct {
		name  string
		files map[string]string
		unit  string
		want  []string
	}{
		{"one that another prints, not as it is written", map[string]string{"cluster/root.yaml": kustomization("root", "cluster"), "cluster/config.yaml": kustomization("config", "config"),
			"cluster/apps.yaml": kustomization("apps", "apps"), "config/vars.yaml": vars("a")}, "apps cluster/apps.yaml", []string{"config cluster/config.yaml cluster/root.yaml"}},
		{"one of two equal objects", map[string]string{"apps.yaml": kustomization("apps", "apps"), "config.yaml": kustomization("config", "config"), "config/a.yaml": vars("a"), "config/b.yaml": vars("a")},
			"apps apps.yaml", []string{"config config.yaml"}},
		{"of several those of its cluster", map[string]string{"clusters/a.yaml": kustomization("root", "a"), "clusters/b.yaml": kustomization("root", "b"),
			"a/apps.yaml": kustomization("apps", "apps"), "b/apps.yaml": kustomization("apps", "apps"), "a/kustomization.yaml": "resources: [apps.yaml, ../shared]\n",
			"b/kustomization.yaml": "resources: [apps.yaml, ../shared]\n", "shared/kustomization.yaml": "resources: [vars.yaml]\n", "shared/vars.yaml": vars("a")}, "apps b/apps.yaml", []string{"root clusters/b.yaml"}},
		{"of several those of its cluster, whose roots have other names", map[string]string{"clusters/a.yaml": kustomization("a", "infra/a"), "clusters/b.yaml": kustomization("b", "infra/b"),
			"infra/a/mid.yaml": kustomization("mid", "conf/a"), "infra/b/mid.yaml": kustomization("mid", "conf/b"), "conf/a/kustomization.yaml": "resources: [../../shared]\n",
			"conf/b/kustomization.yaml": "resources: [apps.yaml, ../../shared]\n", "conf/b/apps.yaml": kustomization("apps", "apps"), "shared/kustomization.yaml": "resources: [vars.yaml]\n", "shared/vars.yaml": vars("a")},
			"apps conf/b/apps.yaml", []string{"mid infra/b/mid.yaml clusters/b.yaml"}},
		{"of several those that are not in the directory of another cluster", map[string]string{"a/root.yaml": kustomization("a", "a/all"), "b/root.yaml": kustomization("b", "b/all"), "a/all/apps.yaml": kustomization("apps", "apps"),
			"b/all/apps.yaml": kustomization("apps", "apps"), "a/infra/config.yaml": kustomization("config-a", "shared"), "b/infra/config.yaml": kustomization("config-b", "shared"),
			"shared/vars.yaml": vars("a")}, "apps b/all/apps.yaml", []string{"config-b b/infra/config.yaml"}},
		{"of these those of its root", map[string]string{"a/root.yaml": kustomization("a", "a/all"), "a/all/apps.yaml": kustomization("apps", "apps"),
			"a/config.yaml": kustomization("config", "shared"), "b/other.yaml": kustomization("other", "shared"), "shared/vars.yaml": vars("a")}, "apps a/all/apps.yaml", []string{"config a/config.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["apps/claim.yaml"] = object("c", "one")
			s := sideOf(t, c.files)
			u := unitOf(t, s, c.unit)
			var got []string
			for _, p := range s.printers(u, u.refers[varsReference]) {
				got = append(got, describe(p))
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestUnsure: a candidate that changes makes a unit unsure if it may be meant, and has another content than what is
// meant.
func TestUnsure(t *testing.T) {
	refersTo := func(files []string, apart map[string]bool, contents map[string]string) *Unit {
		return &Unit{refers: references{varsReference: {files: files, apart: apart, contents: contents}}}
	}
	type contents = map[string]string
	a, c := []string{"a"}, map[string]bool{"c": true}
	for _, row := range []struct {
		name      string
		new, old  *Unit
		wantsFile string
	}{
		{"nothing changes", refersTo(a, nil, contents{"a": "1", "b": "2"}), refersTo(a, nil, contents{"a": "1", "b": "2"}), ""},
		{"what is meant changes", refersTo(a, nil, contents{"a": "2"}), refersTo(a, nil, contents{"a": "1"}), ""},
		{"another one changes", refersTo(a, nil, contents{"a": "1", "b": "3"}), refersTo(a, nil, contents{"a": "1", "b": "2"}), "b"},
		{"another one is added", refersTo(a, nil, contents{"a": "1", "b": "2"}), refersTo(a, nil, contents{"a": "1"}), "b"},
		{"another one is removed", refersTo(a, nil, contents{"a": "1"}), refersTo(a, nil, contents{"a": "1", "b": "2"}), "b"},
		{"an equal one is added", refersTo(a, nil, contents{"a": "1", "b": "1"}), refersTo(a, nil, contents{"a": "1"}), ""},
		{"one becomes equal", refersTo(a, nil, contents{"a": "1", "b": "1"}), refersTo(a, nil, contents{"a": "1", "b": "2"}), "b"},
		{"one of another cluster changes", refersTo(a, c, contents{"a": "1", "c": "3"}), refersTo(a, c, contents{"a": "1", "c": "2"}), ""},
		{"one of another cluster is added", refersTo(a, c, contents{"a": "1", "c": "3"}), refersTo(a, nil, contents{"a": "1"}), ""},
		{"one of another cluster is removed", refersTo(a, nil, contents{"a": "1"}), refersTo(a, c, contents{"a": "1", "c": "3"}), ""},
		{"one that was of another cluster changes", refersTo(a, nil, contents{"a": "1", "c": "3"}), refersTo(a, c, contents{"a": "1", "c": "2"}), "c"},
		{"one that is of another cluster now changes", refersTo(a, c, contents{"a": "1", "c": "3"}), refersTo(a, nil, contents{"a": "1", "c": "2"}), "c"},
		{"OLD has no such reference", refersTo(a, nil, contents{"a": "1", "b": "3"}), &Unit{}, ""},
	} {
		if got := row.new.unsureFile(row.old); got != row.wantsFile {
			t.Errorf("%s: %q, want %q", row.name, got, row.wantsFile)
		}
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
