package settings

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// TestParse: every key is read.
func TestParse(t *testing.T) {
	s, err := Parse("f", []byte(`accept: [{kind: Job, reason: a}]
locks: [{kind: Ingress, path: spec.ingressClassName, lock: immutable}]
aliases: {x-deckhouse-immutable: [NoUnset]}
refuse-deletions: [data, cascade]
mode: advisory
exclude: ['**/testdata']
charts: {shop: [prod.yaml, eu.yaml], cart: [], pay: [{name: eu, namespace: pay-eu, values: [eu.yaml]}, {name: us}]}
kubernetes-version: 1.36
applier: server-side
tool: argo-cd
tools: {clusters/: flux, apps/web.yaml: kubectl}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Accept.Entries) != 1 || len(s.Locks.Entries) != 1 || len(s.Locks.Aliases) != 1 || !reflect.DeepEqual(s.RefuseDeletions, []result.Cost{"data", "cascade"}) ||
		!s.Advisory || !reflect.DeepEqual(s.exclude, []string{"**/testdata"}) || !reflect.DeepEqual(s.charts["shop"], []Release{{Values: []string{"prod.yaml", "eu.yaml"}}}) || s.charts["cart"] == nil ||
		!reflect.DeepEqual(s.charts["pay"], []Release{{"eu", "pay-eu", []string{"eu.yaml"}}, {"us", "", []string{}}}) ||
		s.KubernetesVersion != "1.36" || s.Applier != tool.ServerSide || s.Tool != tool.ArgoCD ||
		!reflect.DeepEqual(s.tools, map[string]tool.Name{"clusters": tool.Flux, "apps/web.yaml": tool.Kubectl}) {
		t.Errorf("got %+v", s)
	}
	for _, text := range []string{"", "# nothing\n", "accept: []\n", "mode: enforcing\n", `kubernetes-version: "1.37"`, "exclude: vendor\n", "refuse-deletions: []\n"} {
		if s, err := Parse("f", []byte(text)); err != nil || s.Advisory || len(s.Accept.Entries) > 0 {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// TestMistakes: what is not understood is an error, with its line.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"render: rm -rf /\n", "f:1: document 1: render: the key is not known; the file has the keys accept, locks, aliases, refuse-deletions, strict, mode, exclude, charts"},
		{"mode: advisory\nexlude: []\n", "f:2: document 1: exlude: the key is not known; did you mean exclude?"},
		{"acept: []\n", "did you mean accept?"},
		{"kubernetes_version: '1.36'\n", "did you mean kubernetes-version?"},
		{"Applier: helm\n", "did you mean applier?"},
		{"refuse-deletion: [data]\n", "did you mean refuse-deletions?"},
		{"mode: off\n", "the mode is advisory or enforcing"},
		{"mode: true\n", "the mode is advisory or enforcing"},
		{"accept: []\n---\nmode: advisory\n", "several documents"},
		{"accept: [{kind: Job}]\n", "the entry has no reason"},
		{"locks: [{kind: Job}]\n", "the entry needs kind and path"},
		{"applier: argo\n", "who applies is one of [server-side client-side helm replace]"},
		{"applier: [helm]\n", "it is a list"},
		{"tool: argo\n", "tool: it is the string \"argo\"; the tool is one of [argo-cd flux helm kubectl]"},
		{"tool: {a: flux}\n", "the tool is one of"},
		{"tools: flux\n", "an object with a tool for each path"},
		{"tools: {apps: kapp}\n", "tools.apps: it is the string \"kapp\"; the tool is one of"},
		{"tools: {../apps: flux}\n", "is not a path below the settings"},
		{"fetch-hosts: [https://a]\n", "is not a host"},
		{"fetch-hosts: [a, '*.b']\n", "is not a host"},
		{"fetch-hosts: 7\n", "it is a list of strings"},
		{"kubernetes-version: '1.20'\n", "f:1: document 1: kubernetes-version: "},
		{"kubernetes-version: [1]\n", `it is a minor such as "1.36"`},
		{"refuse-deletions: [data, dta]\n", `refuse-deletions[1]: there is no cost "dta"; the costs are none, restart`},
		{"refuse-deletions: {data: true}\n", "it is a list of strings"},
		{"strict: 1\n", "it is true or false"},
		{"exclude: [5]\n", "exclude[0]: it is the number 5"},
		{"exclude: ['a[']\n", "the pattern \"a[\" is malformed"},
		{"exclude: ['!a']\n", "cannot take back"},
		{"exclude: [/etc]\n", "leads out"},
		{"exclude: [a/../../b]\n", "leads out"},
		{"exclude: ['']\n", "is empty"},
		{"charts: [shop]\n", "an object with the files of values"},
		{"charts: {shop: [{nam: a}]}\n", "charts.shop[0].nam: a rendering of a chart has the texts name and namespace"},
		{"charts: {shop: [{name: a}, b.yaml]}\n", "an object with name, namespace and values"},
		{"charts: {shop: [/etc/passwd]}\n", "charts.shop: \"/etc/passwd\" is not a path relative to the settings"},
		{"charts: {/shop: []}\n", "not a path relative"},
		{"exclude: []\nexclude: ['**']\n", "exclude"},
		{"a: [\n", "f:"},
		{"- a\n", "f:"},
	} {
		if _, err := Parse("f", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// TestMistakesKeepRefusals: a mistake takes nothing away that only adds refusals.
func TestMistakesKeepRefusals(t *testing.T) {
	const adds = "locks: [{kind: Ingress, path: spec.ingressClassName, lock: immutable}]\nrefuse-deletions: [data]\n"
	for _, mistake := range []string{"mod: x\n", "mode: off\n", "applier: x\n", "accept: [{kind: a}]\n", "exclude: [/]\n"} {
		s, err := Parse("f", []byte("kubernetes-version: 1.36\n"+adds+mistake))
		if err == nil || len(s.Locks.Entries) != 1 || len(s.RefuseDeletions) != 1 || s.KubernetesVersion != "" || s.Accept != nil {
			t.Errorf("%q: %+v, %v", mistake, s, err)
		}
	}
	if s, err := Parse("f", []byte("refuse-deletions: [data]\nlocks: [{kind: a}]\n")); err == nil || len(s.RefuseDeletions) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := Parse("f", []byte("refuse-deletions: [dta]\n")); err == nil || s.RefuseDeletions != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestTools: the longest path that holds a file decides, then tool.
func TestTools(t *testing.T) {
	s, err := Parse("f", []byte("tool: argo-cd\ntools: {clusters/: flux, clusters/a/: helm, clusters/a/b.yaml: kubectl}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.Dir = "."
	for name, want := range map[string]tool.Name{
		"a.yaml": tool.ArgoCD, "clusters.yaml": tool.ArgoCD, "clustersets/a.yaml": tool.ArgoCD, "clusters/a.yaml": tool.Flux,
		"clusters/a/a.yaml": tool.Helm, "clusters/a/b.yaml": tool.Kubectl, "clusters": tool.Flux,
	} {
		if got := s.Tools(".")(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if got := (&Settings{}).Tools(".")("a.yaml"); got != "" {
		t.Errorf("without settings: got %s", got)
	}
}

// TestExcludes: patterns are those of paths, "**" stands for any number of directories, and a directory for what is in
// it.
func TestExcludes(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a.yaml", "a.yaml", true},
		{"a.yaml", "b/a.yaml", false},
		{"*.yaml", "a.yaml", true},
		{"*.yaml", "b/a.yaml", false},
		{"vendor", "vendor/a/b.yaml", true},
		{"vendor/", "vendor/a/b.yaml", true},
		{"./vendor", "vendor/a.yaml", true},
		{"vendor", "vendored/a.yaml", false},
		{"vendor/**", "vendor/a/b.yaml", true},
		{"**/testdata", "testdata/a.yaml", true},
		{"**/testdata", "x/y/testdata/z/a.yaml", true},
		{"**/testdata", "x/testdata.yaml", false},
		{"**/testdata/**/a*.yaml", "x/testdata/testdata/y/ab.yaml", true},
		{"**/testdata/**/a*.yaml", "testdata/b.yaml", false},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b/c", true},
		{"a/**/b", "b", false},
		{"**", "a", true},
		{".", "x/a", true},
		{"[ab].yaml", "b.yaml", true},
		{"a?c", "a/c", false},
		{"**/*.json", "a/b.json", true},
		{"**/a/**/b", "a/a/x/c/b", true},
	} {
		s := &Settings{Dir: ".", exclude: []string{"none", c.pattern}}
		if got := s.Excludes(".")(c.name); got != c.want {
			t.Errorf("%s and %s: %t", c.pattern, c.name, got)
		}
	}
	if (&Settings{}).Excludes(".") != nil {
		t.Error("nothing is hidden, and there is a function")
	}
	long := strings.Repeat("a/", 2000) + "a"
	s := &Settings{Dir: ".", exclude: []string{strings.Repeat("**/a/", 50) + "b"}}
	if s.Excludes(".")(long) {
		t.Error("there is no b")
	}
}

// TestPlaces: paths are relative to the file, wherever the trees are.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		reason      string
		dir, path   string
		roots       []string
		name, chart string // what is excluded, and the directory of the chart in the tree
		is          bool
	}{
		{"git, at the root", ".", "a/b", []string{"."}, "a/b", "a/b", true},
		{"git, in a directory", "deploy", "a/b", []string{"."}, "deploy/a/b", "deploy/a/b", true},
		{"git, beside the directory", "deploy", "a/b", []string{"."}, "a/b", "deploy/a/b", false},
		{"the tree is above the file", at("x/deploy"), "a", []string{at("x")}, "deploy/a", "deploy/a", true},
		{"the tree is below the file", at("x"), "new/a", []string{at("x/new"), at("x/old")}, "a", "a", true},
		{"the same path on the other side", at("x"), "old/a", []string{at("x/new"), at("x/old")}, "a", "a", true},
		{"a pattern for both", at("x"), "*/a", []string{at("x/new"), at("x/old")}, "a", "", true},
		{"one side is elsewhere", at("x"), "a", []string{at("x"), at("old")}, "a", "a", true},
		{"both sides are elsewhere", at("x"), "a", []string{at("new"), at("old")}, "a", "a", true},
		{"a side that is elsewhere does not match by its name", at("x"), "a", []string{at("x/new"), at("old")}, "a", "", false},
	} {
		s := &Settings{Dir: c.dir, exclude: []string{c.path}, charts: map[string][]Release{c.path: {{Values: []string{c.path + "/v.yaml"}}}}}
		if got := s.Excludes(c.roots...)(c.name); got != c.is {
			t.Errorf("%s: excluded %t", c.reason, got)
		}
		if got := s.Charts(c.roots...)[c.chart]; c.chart != "" && !reflect.DeepEqual(got, []Release{{Values: []string{c.chart + "/v.yaml"}}}) {
			t.Errorf("%s: the values are %v", c.reason, got)
		}
	}
}

// TestPostponed: which keys of a change count after the merge.
func TestPostponed(t *testing.T) {
	parse := func(text string) *Settings {
		t.Helper()
		s, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s.Dir = "."
		return s
	}
	none := parse("")
	for text, want := range map[string]string{
		"accept: [{reason: a}]\nlocks: []\naliases: {}\nrefuse-deletions: [data]\n": "", "mode: enforcing\n": "", "exclude: []\n": "", "charts: {}\n": "",
		"mode: advisory\nexclude: ['**']\ncharts: {a: []}\nkubernetes-version: 1.36\napplier: helm\nfetch-hosts: [a]\n": "mode exclude charts kubernetes-version applier fetch-hosts",
	} {
		if got := strings.Join(Postponed(parse(text), none), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := Postponed(parse(text), parse(text)); got != nil {
			t.Errorf("%q: unchanged, and got %q", text, got)
		}
	}
}
