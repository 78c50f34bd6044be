package unit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestDirectory: tree.go reads a directory, and no file outside of it.
func TestDirectory(t *testing.T) {
	d := files{"a/x": "one", "a/y": "one", "b": "-> a/x", "out": "-> /etc/hostname", ".git/config": "x"}.tree(t)
	if got, want := d.Paths(), []string{"a/x", "a/y", "b", "out"}; !slices.Equal(got, want) {
		t.Errorf("paths %v, want %v", got, want)
	}
	if _, err := d.ReadFile("out"); err == nil {
		t.Error("a link out of the directory is read")
	}
	if _, err := d.ReadFile("a"); err == nil {
		t.Error("a directory is read")
	}
	id := func(name string) string {
		id, err := d.ID(name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if id("a/x") != id("a/y") || id("a/x") != id("b") {
		t.Error("files with the same content have different IDs")
	}
	if text, err := d.ReadFile("b"); err != nil || string(text) != "one" {
		t.Errorf("the link: %q, %v", text, err)
	}
}

// TestTrace: what was found out in one tree is taken over only if another tree would have answered alike.
func TestTrace(t *testing.T) {
	base := files{"a/x": "one", "a/y": "one", "b/z": "one", "l": "-> a/x"}
	looks := map[string]func(*trace){
		"a file":      func(n *trace) { n.ReadFile("a/x") },
		"none":        func(n *trace) { n.Stat("a/none") },
		"a link":      func(n *trace) { n.Lstat("l") },
		"its text":    func(n *trace) { n.ReadLink("l") },
		"a directory": func(n *trace) { n.ReadDir("a") },
		"opened":      func(n *trace) { n.Open("a") },
		"everything":  func(n *trace) { n.Paths() },
	}
	for _, row := range []struct {
		name   string
		other  files
		differ []string
	}{
		{"equal", base, nil},
		{"another file", base.with("b/z", "two"), nil},
		{"the file", base.with("a/x", "two"), []string{"a file", "a link", "its text"}},
		{"a new file", base.with("a/none", "one"), []string{"a directory", "everything", "none", "opened"}},
		{"a file instead of a link", base.with("l", "one"), []string{"a link", "its text"}},
		{"another target", base.with("l", "-> a/y"), []string{"a link", "its text"}},
		{"a file that goes", base.with("b/z", ""), []string{"everything"}},
	} {
		var differ []string
		for name, look := range looks {
			n := newTrace(base.tree(t))
			if look(n); !n.sameIn(row.other.tree(t)) {
				differ = append(differ, name)
			}
		}
		if slices.Sort(differ); !slices.Equal(differ, row.differ) {
			t.Errorf("%s: these differ: %v, want %v", row.name, differ, row.differ)
		}
	}
}

// TestPlaces: origin.go names the line that decides a value: in the manifest, a patch, or the template.
func TestPlaces(t *testing.T) {
	tree := files{
		"prod/kustomization.yaml": "resources: [a.yaml, b.yaml]\nnamePrefix: x-\ncommonLabels:\n  env: live\n  app: shop\n  tier: web\npatches:\n- path: patch.yaml\n",
		"prod/a.yaml":             "# a comment\n" + object("a", "one"),
		"prod/b.yaml":             object("b", "one"),
		"prod/patch.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  a: patched\n",
		"shop/Chart.yaml":         chartFile, "shop/values.yaml": "v: one\n", "shop/templates/a.yaml": "# a template\n" + object("a", "{{ .Values.v }}"),
	}
	set, err := Load(tree.side(t), Options{})
	if err != nil || len(set.Errs) > 0 || len(set.NotCovered) > 0 {
		t.Fatal(err, set)
	}
	var documents []*yamldoc.Document
	for _, f := range set.Manifests() {
		documents = append(documents, f.Documents...)
	}
	for _, row := range []struct {
		object, reason string
		steps          []any
		want           string
	}{
		{"x-a", "", []any{"data", "a"}, "prod/a.yaml:6"},
		{"x-a", "the kustomization has it", []any{"metadata", "labels", "env"}, "prod/kustomization.yaml:4"},
		{"x-a", "several members differ: the first by name", []any{"metadata", "labels"}, "prod/kustomization.yaml:5"},
		{"x-a", "the object itself", nil, "prod/a.yaml:2"},
		{"x-b", "the patch has it", []any{"data", "a"}, "prod/patch.yaml:5"},
		{"a", "the only line with the key", []any{"data"}, "shop/templates/a.yaml:5"},
		{"a", "no line has the key: the nearest parent", []any{"data", "none"}, "shop/templates/a.yaml:5"},
	} {
		i := slices.IndexFunc(documents, func(d *yamldoc.Document) bool { return nameOf(d.Object) == row.object })
		if i < 0 {
			t.Fatalf("there is no %s", row.object)
		}
		for range 20 { // the answer is the same each time
			at := documents[i].Place(row.steps)
			if got := fmt.Sprintf("%s:%d", at.File, at.Line); !strings.HasSuffix(got, "/"+row.want) {
				t.Fatalf("%s %v: %s, want %s: %s", row.object, row.steps, got, row.want, row.reason)
			}
		}
	}
}

// TestLoad: set.go renders a tree, or the unit alone that a path is.
func TestLoad(t *testing.T) {
	tree := overlay.with("base/kustomization.yaml", "resources: [c.yaml]\n", "base/c.yaml", object("c", "one"), "prod/kustomization.yaml", "resources: [a.yaml, ../base]\n",
		"lost/kustomization.yaml", "resources: ['https://example.com/a//b?ref=v1']\n", "bad/kustomization.yaml", "resources: [none.yaml]\n", "tpl.yaml", object("t", "{{ x }}"))
	for _, row := range []struct {
		name  string
		paths []string
		want  []string // objects
		rest  []string // what is not covered, and mistakes
	}{
		{"everything", nil, []string{"a", "b", "c"}, []string{"bad/", "lost", "tpl.yaml"}},
		{"a base alone", []string{"base"}, []string{"c"}, nil},
		{"a file of a unit", []string{"prod/a.yaml"}, []string{"a", "c"}, nil},
		{"a file", []string{"other.yaml"}, []string{"b"}, nil},
	} {
		set, err := Load(tree.side(t, row.paths...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got, rest []string
		for _, f := range set.Manifests() {
			for _, d := range f.Documents {
				got = append(got, nameOf(d.Object))
			}
		}
		for _, n := range set.NotCovered {
			rest = append(rest, n.Unit)
		}
		for _, err := range set.Errs {
			rest = append(rest, err.Error())
		}
		slices.Sort(got)
		slices.Sort(rest)
		if !slices.Equal(got, row.want) || !slices.EqualFunc(rest, row.rest, strings.Contains) {
			t.Errorf("%s: %v and %q, want %v and %q", row.name, got, rest, row.want, row.rest)
		}
	}
}

// tagged is a repository with a tag and a branch, whose revisions are directories.
type tagged map[string]*Directory

func (r tagged) Tags() []string             { return []string{"v1.2.0", "v1.10.0", "v2.0.0-rc.1", "stable"} }
func (r tagged) HasBranch(name string) bool { return name == "main" }
func (r tagged) At(revision string) (Tree, func(), error) {
	if d, ok := r[revision]; ok {
		return d, func() {}, nil
	}
	return nil, nil, fs.ErrNotExist
}

// TestRevisions: which tree a source names; nil is the tree under check.
func TestRevisions(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	repository := tagged{}
	for _, name := range []string{"refs/tags/v1.2.0", "refs/tags/v1.10.0", "refs/tags/stable", commit, "0123456"} {
		repository[name] = files{"f": name}.tree(t)
	}
	e := newEngine(Options{Repository: repository})
	defer e.close()
	named := func(tree Tree, err error) string {
		var missing interface{ Error() string }
		switch {
		case errors.As(err, &missing):
			return "error " + missing.Error()
		case tree == nil:
			return "here"
		}
		text, _ := tree.ReadFile("f")
		return strings.TrimPrefix(string(text), "refs/tags/")
	}
	source := func(ref map[string]any) map[string]any { return map[string]any{"spec": map[string]any{"ref": ref}} }
	for name, want := range map[string]string{
		"": "here", "HEAD": "here", "main": "here", "refs/heads/main": "here", "unknown": "here", "refs/heads/unknown": "here",
		"stable": "stable", "refs/tags/stable": "stable", "v1.2.0": "v1.2.0", "v1.*": "v1.10.0", ">=1.0.0 <1.5.0": "v1.2.0",
		commit: commit, strings.ToUpper(commit): commit, "0123456": "0123456",
		"v3.0.0": "error", "v9.*": "error", "fedcba9": "error", strings.Repeat("f", 40): "error", "refs/tags/none": "error",
	} {
		if got := named(e.revisions.argoRevision(name)); got != want && !(want == "error" && strings.HasPrefix(got, "error")) {
			t.Errorf("Argo CD %q: %s, want %s", name, got, want)
		}
	}
	for _, row := range []struct {
		ref  map[string]any
		want string
	}{
		{nil, "here"}, {map[string]any{"branch": "main"}, "here"}, {map[string]any{"name": "refs/heads/main"}, "here"},
		{map[string]any{"tag": "stable", "branch": "main"}, "stable"}, {map[string]any{"name": "refs/tags/stable^{}"}, "stable"},
		{map[string]any{"semver": "1.x"}, "v1.10.0"}, {map[string]any{"commit": commit, "tag": "stable"}, commit},
		{map[string]any{"commit": "0123456"}, "error"}, {map[string]any{"tag": "none"}, "error"}, {map[string]any{"semver": "9.x"}, "error"},
		{map[string]any{"semver": "x.y"}, "error"}, {map[string]any{"name": "refs/pull/1/head"}, "error"},
	} {
		if got := named(e.revisions.fluxRevision(source(row.ref))); got != row.want && !(row.want == "error" && strings.HasPrefix(got, "error")) {
			t.Errorf("Flux %v: %s, want %s", row.ref, got, row.want)
		}
	}
	e.revisions.repository = nil
	if got := named(e.revisions.argoRevision("v1.2.0")) + named(e.revisions.fluxRevision(source(map[string]any{"tag": "stable"}))); got != "herehere" {
		t.Errorf("without a repository: %s", got)
	}
}

// TestGrafted: an ignored field has the value of OLD, also none.
func TestGrafted(t *testing.T) {
	of := func(text string) map[string]any {
		documents, err := yamldoc.Read("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return documents[0].Object
	}
	for _, row := range []struct{ object, other, steps, want string }{
		{"{a: {b: x}}", "{a: {b: y1}}", "a.b", "map[a:map[b:y1]]"},
		{"{a: {b: x}}", "{a: {c: y1}}", "a.b", "map[a:map[]]"},
		{"{a: {b: x}}", "{c: y1}", "a.b", "map[a:map[]]"},
		{"{c: x}", "{a: {b: y1}}", "a.b", "map[a:map[b:y1] c:x]"},
		{"{c: x}", "{d: x}", "a.b", "map[c:x]"},
		{"{a: [x]}", "{a: {b: y1}}", "a.b", "map[a:[x]]"},
		{"{a: null}", "{a: {b: {c: y1}}}", "a.b.c", "map[a:map[b:map[c:y1]]]"},
	} {
		if got := fmt.Sprint(grafted(of(row.object), of(row.other), fieldpath.Parse(row.steps))); got != row.want {
			t.Errorf("%s with %s of %s: %s, want %s", row.object, row.steps, row.other, got, row.want)
		}
	}
}
