package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// files parses texts as files of a directory, by their path.
func files(texts map[string]string) []manifest.File {
	var list []manifest.File
	for path, text := range texts {
		f := manifest.File{Name: path, Path: path, Found: true}
		f.Parse([]byte(text))
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b manifest.File) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// check compares directories.
func check(t *testing.T, news, olds map[string]string, o Options) *Report {
	t.Helper()
	r, err := Check(Input{New: files(news), Old: files(olds)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// found lists what a report found, one line each.
func found(r *Report) []string {
	var lines []string
	for _, v := range r.Violations {
		line := v.Object + " " + v.Path + " " + v.Lock
		if v.Rule != "" {
			line += " [" + v.Rule + "]"
		}
		if v.OnlyOld {
			line += " only in OLD"
		}
		lines = append(lines, line)
	}
	for _, u := range r.Unknown {
		lines = append(lines, "unknown "+u.Object+" "+u.Path)
	}
	for _, n := range r.Notes {
		lines = append(lines, "note "+n.Object)
	}
	for _, e := range r.Errors {
		lines = append(lines, "error "+e.Text)
	}
	return lines
}

const locked = "class: {type: string, x-kubernetes-immutable: true}"

// classLocked is a CRD with one lock in both versions.
var classLocked = widgets("None", locked, locked)

// keysLocked is a CRD whose lock covers an object with known members.
var keysLocked = widgets("None", "m: {type: object, x-kubernetes-immutable: true, additionalProperties: {type: object, properties: {a: {type: string}}}}", "")

// brokenCRD is a CRD whose lock is a mistake.
var brokenCRD = widgets("None", "class: {type: string, x-kubernetes-immutable: false}\nzone: {type: string}", "")

// emptyCRD is a CRD that no API server accepts.
const emptyCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced}
`

// twoLocks is a CRD with two of them.
var twoLocks = widgets("None", locked+"\nzone: {type: string, x-kubernetes-immutable: true}", "")

func TestCheck(t *testing.T) {
	type dir = map[string]string
	rule := func(text string) string {
		return widgets("None", "class: {type: string, default: a, x-kubernetes-validations: [{rule: "+text+"}]}\nzone: {type: string}", "")
	}
	p, q := widget("v1", "a", "x", "{class: p}"), widget("v1", "a", "x", "{class: q}")
	for _, test := range []struct {
		name, reason string
		olds, news   dir
		options      Options
		want         []string
	}{
		{
			name: "the same object in dev and prod", reason: "each is compared with its own file",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": q}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": q},
		},
		{
			name: "changed in prod only", reason: "the file of prod has the change",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": q},
			want: []string{"a/x spec.class immutable"},
		},
		{
			name: "moved to another file", reason: "moving an object changes nothing",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "y/z.yaml": q},
			want: []string{"a/x spec.class immutable"},
		},
		{
			name: "copied to a second file", reason: "the file that is there already keeps its pair; the copy is a create in another cluster, and an update in the same one",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": q},
			want: []string{"unknown a/x metadata.name"},
		},
		{
			name: "copied to a second file as it is", reason: "whatever cluster it goes to, it breaks nothing",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": p},
		},
		{
			name: "copied without its namespace", reason: "a client may put it into the namespace of the other one",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": strings.Replace(q, ", namespace: a", "", 1)},
			want: []string{"unknown x metadata.name"},
		},
		{
			name: "copied to another namespace", reason: "it is another object",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": strings.Replace(q, "namespace: a", "namespace: b", 1)},
		},
		{
			name: "becomes a hook", reason: "its tool makes it anew, who applies it does not",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "x.yaml": strings.Replace(q, "{name: x", "{annotations: {helm.sh/hook: pre-install}, name: x", 1)},
			want: []string{"unknown a/x metadata.annotations"},
		},
		{
			name: "becomes a hook, nothing locked changed", reason: "whoever applies it, nothing is refused",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "x.yaml": strings.Replace(p, "{name: x", "{annotations: {helm.sh/hook: pre-install}, name: x", 1)},
		},
		{
			name: "stays a hook", reason: "nothing is ever updated",
			olds: dir{"crd.yaml": classLocked, "x.yaml": strings.Replace(p, "{name: x", "{annotations: {helm.sh/hook: pre-install}, name: x", 1)},
			news: dir{"crd.yaml": classLocked, "x.yaml": strings.Replace(q, "{name: x", "{annotations: {helm.sh/hook: pre-install}, name: x", 1)},
		},
		{
			name: "moved and copied", reason: "which file it was cannot be told",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": q},
			want: []string{"unknown a/x metadata.name", "unknown a/x metadata.name"},
		},
		{
			name: "moved and copied, nothing locked changed", reason: "whichever it was, it is allowed",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": widget("v1", "a", "x", "{class: p, free: b}")},
		},
		{
			name: "moved, copied and changed", reason: "whichever it was, it is refused: copies cannot hide a change",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "dev/x.yaml": q, "prod/x.yaml": q},
			want: []string{"a/x spec.class immutable", "a/x spec.class immutable"},
		},
		{
			name: "moved, copied and changed in different fields", reason: "each is reported with its own change",
			olds: dir{"crd.yaml": twoLocks, "x.yaml": widget("v1", "a", "x", "{class: p, zone: p}")}, news: dir{"crd.yaml": twoLocks, "dev/x.yaml": widget("v1", "a", "x", "{class: q, zone: p}"), "prod/x.yaml": widget("v1", "a", "x", "{class: p, zone: q}")},
			want: []string{"a/x spec.class immutable", "a/x spec.zone immutable"},
		},
		{
			name: "two equal ones become one", reason: "it does not matter which of them it was",
			olds: dir{"crd.yaml": classLocked, "dev/x.yaml": p, "prod/x.yaml": p}, news: dir{"crd.yaml": classLocked, "x.yaml": q},
			want: []string{"a/x spec.class immutable"},
		},
		{
			name: "several namespaces for none", reason: "an object without a namespace goes where the client says, and OLD has it in two",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p + widget("v1", "b", "x", "{class: q}")}, news: dir{"crd.yaml": classLocked, "x.yaml": widget("v1", "", "x", "{class: q}")},
			want: []string{"unknown x metadata.name"},
		},
		{
			name: "twice in one file", reason: "a client would apply one over the other",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "x.yaml": p + q},
			want: []string{"unknown a/x metadata.name", "error x.yaml:7: document 2, Widget a/x: the object appears twice, first at x.yaml:2; a file may contain each object once"},
		},
		{
			name: "a lock dropped and broken at once", reason: "OLD's CRD counts too, or a pull request could take the lock away",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": widgets("None", "class: {type: string}", ""), "x.yaml": q},
			want: []string{"a/x spec.class immutable only in OLD"},
		},
		{
			name: "a CRD dropped with its lock", reason: "the same, with the whole CRD",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"x.yaml": q},
			want: []string{"a/x spec.class immutable only in OLD"},
		},
		{
			name: "a lock added and broken at once", reason: "NEW's CRD counts",
			olds: dir{"crd.yaml": widgets("None", "class: {type: string}", ""), "x.yaml": p}, news: dir{"crd.yaml": classLocked, "x.yaml": q},
			want: []string{"a/x spec.class immutable"},
		},
		{
			name: "a CRD that moved elsewhere, and an object in its new version", reason: "NEW is not mistaken; what the new version locks is not known",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"x.yaml": widget("v3", "a", "x", "{class: q}"), "y.yaml": widget("v3", "a", "z", "{class: q}")},
			want: []string{"unknown a/x apiVersion"},
		},
		{
			name: "a version that the CRD does not have", reason: "the object is mistaken",
			olds: dir{"crd.yaml": classLocked}, news: dir{"crd.yaml": classLocked, "x.yaml": widget("v3", "a", "x", "{class: q}")},
			want: []string{"error x.yaml:2: document 1, Widget a/x: apiVersion: the CRD of Widget has no version \"v3\"; its versions are v1, v2"},
		},
		{
			name: "conversion by webhook", reason: "nobody but the webhook knows what becomes of the object",
			olds: dir{"crd.yaml": widgets("Webhook", locked, locked), "x.yaml": p}, news: dir{"crd.yaml": widgets("Webhook", locked, locked), "x.yaml": widget("v2", "a", "x", "{class: q}")},
			want: []string{"unknown a/x apiVersion"},
		},
		{
			name: "a rule that equals a lock", reason: "it is reported once, with the lock and its values",
			olds: dir{"crd.yaml": rule("self == oldSelf"), "x.yaml": p}, news: dir{"crd.yaml": rule("self == oldSelf"), "x.yaml": q},
			want: []string{"a/x spec.class immutable [self == oldSelf]"},
		},
		{
			name: "a rule that equals no lock", reason: "the API server's validator runs it",
			olds: dir{"crd.yaml": rule("self >= oldSelf"), "x.yaml": q}, news: dir{"crd.yaml": rule("self >= oldSelf"), "x.yaml": p},
			want: []string{"a/x spec.class rule [self >= oldSelf]"},
		},
		{
			name: "a rule that holds", reason: "no violation",
			olds: dir{"crd.yaml": rule("self >= oldSelf"), "x.yaml": p}, news: dir{"crd.yaml": rule("self >= oldSelf"), "x.yaml": q},
		},
		{
			name: "a template beside manifests", reason: "one error names the way to check it; the rest is checked",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p},
			news: dir{"crd.yaml": classLocked, "x.yaml": q, "shop/Chart.yaml": "apiVersion: v2\nname: shop\n", "shop/templates/a.yaml": "{{ if .Values.a }}\napiVersion: v1\nkind: A\n{{ end }}\n", "shop/templates/b.yaml": "{{ include \"shop.object\" . }}\n"},
			want: []string{"a/x spec.class immutable", "error shop/templates/a.yaml: it is a template, not YAML, and so is 1 more file: check the manifests that the chart renders to, with --render 'helm template shop'"},
		},
		{
			name: "a template on both sides", reason: "one error is enough",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p, "shop/Chart.yaml": "apiVersion: v2\nname: shop\n", "shop/templates/a.yaml": "{{ if .Values.a }}\napiVersion: v1\nkind: A\n{{ end }}\n"},
			news: dir{"crd.yaml": classLocked, "x.yaml": q, "shop/Chart.yaml": "apiVersion: v2\nname: shop\n", "shop/templates/a.yaml": "{{ if .Values.a }}\napiVersion: v1\nkind: A\n{{ end }}\n"},
			want: []string{"a/x spec.class immutable", "error shop/templates/a.yaml: it is a template, not YAML: check the manifests that the chart renders to, with --render 'helm template shop'"},
		},
		{
			name: "a patch of a kustomization", reason: "it is no object of its own",
			olds: dir{"crd.yaml": classLocked, "base/x.yaml": p, "kustomization.yaml": "patches:\n- path: patch.yaml\n", "patch.yaml": p},
			news: dir{"crd.yaml": classLocked, "base/x.yaml": p, "kustomization.yaml": "patches:\n- path: patch.yaml\n", "patch.yaml": q},
			want: []string{"note a/x"},
		},
		{
			name: "one broken document", reason: "the others are checked",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": classLocked, "x.yaml": q, "y.yaml": "apiVersion: v1\nkind: A\na: [1\nb"},
			want: []string{"a/x spec.class immutable", "error y.yaml:3: document 1: the YAML is malformed: did not find expected ',' or ']'"},
		},
		{
			name: "strict, and nobody can tell", reason: "what is unknown is allowed, and not complete",
			olds: dir{"x.yaml": p}, news: dir{"y/x.yaml": p, "z/x.yaml": q, "crd.yaml": classLocked},
			options: Options{Strict: true},
			want: []string{
				"unknown a/x metadata.name", "unknown a/x metadata.name",
			},
		},
		{
			name: "a CRD with a wrong lock, the same on both sides", reason: "the change did not bring the mistake, but nobody can tell what the lock refuses",
			olds: dir{"crd.yaml": brokenCRD, "x.yaml": p}, news: dir{"crd.yaml": brokenCRD, "x.yaml": q},
			want: []string{"unknown a/x apiVersion"},
		},
		{
			name: "a CRD without versions, the same on both sides", reason: "so it is where the CRD cannot be read at all",
			olds: dir{"crd.yaml": emptyCRD, "x.yaml": p}, news: dir{"crd.yaml": emptyCRD, "x.yaml": q},
			want: []string{"unknown a/x apiVersion"},
		},
		{
			name: "CRDs with mistakes, and no changed object", reason: "what both sides have is silent",
			olds: dir{"crd.yaml": brokenCRD, "other.yaml": emptyCRD, "x.yaml": p}, news: dir{"crd.yaml": brokenCRD, "other.yaml": emptyCRD, "x.yaml": p},
		},
		{
			name: "a CRD that loses its versions", reason: "the change brings the mistake; the lock of OLD counts",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": emptyCRD, "x.yaml": q},
			want: []string{
				"a/x spec.class immutable only in OLD",
				"error crd.yaml:5: document 1, CustomResourceDefinition widgets.example.com: spec.versions: there is no version; a CustomResourceDefinition has at least one, with name, served, storage and schema",
			},
		},
		{
			name: "a lock that becomes a wrong one", reason: "the change touches it",
			olds: dir{"crd.yaml": classLocked, "x.yaml": p}, news: dir{"crd.yaml": brokenCRD, "x.yaml": q},
			want: []string{
				"a/x spec.class immutable only in OLD",
				"error crd.yaml:22: CustomResourceDefinition widgets.example.com, version v1: spec.class: x-kubernetes-immutable is false: the only value is true, and a child cannot lift the lock of its parent; remove the key",
			},
		},
		{
			name: "one object, and a file that cannot be read", reason: "the two are something to check",
			olds: dir{"x.yaml": p}, news: dir{"y.yaml": "apiVersion: [\nkind: A\n"},
			want: []string{"error y.yaml:2: document 1: the YAML is malformed: did not find expected ',' or ']'"},
		},
		{
			name: "moved and copied, with a rule that cannot run", reason: "nothing is allowed unseen",
			olds: dir{"crd.yaml": rule("self.none == oldSelf"), "x.yaml": p}, news: dir{"crd.yaml": rule("self.none == oldSelf"), "dev/x.yaml": q, "prod/x.yaml": q},
			want: []string{
				"unknown a/x metadata.name", "unknown a/x metadata.name",
				"error dev/x.yaml:2: document 1, Widget a/x: the CEL rules of its CRD cannot be run: a rule at \"/properties/spec/properties/class\" does not compile",
				"error prod/x.yaml:2: document 1, Widget a/x: the CEL rules of its CRD cannot be run: a rule at \"/properties/spec/properties/class\" does not compile",
			},
		},
		{
			name: "a field that is not in the schema", reason: "the server prunes it",
			olds: dir{"crd.yaml": keysLocked, "x.yaml": widget("v1", "a", "x", "{m: {k: {a: b}}}")}, news: dir{"crd.yaml": keysLocked, "x.yaml": widget("v1", "a", "x", "{m: {k: {a: b, unknown: c}}}")},
		},
		{
			name: "a field that is not in the schema, as it is written", reason: "nothing is pruned",
			olds: dir{"crd.yaml": keysLocked, "x.yaml": widget("v1", "a", "x", "{m: {k: {a: b}}}")}, news: dir{"crd.yaml": keysLocked, "x.yaml": widget("v1", "a", "x", "{m: {k: {a: b, unknown: c}}}")},
			options: Options{NoDefaults: true},
			want:    []string{"a/x spec.m immutable"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, test.news, test.olds, test.options)
			got := found(r)
			for i, line := range got { // what follows are CEL's words
				got[i], _, _ = strings.Cut(line, ": rule compile error")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if slices.Contains(test.want, "unknown a/x metadata.annotations") && !strings.Contains(r.Unknown[0].Message, "if the tool updates it instead, the update is refused: spec.class: field is immutable") {
				t.Errorf("%s: %s", test.reason, r.Unknown[0].Message)
			}
			if text := strings.Join(r.Warnings, "\n"); strings.Contains(text, "the locks of a CRD in OLD do not count") {
				t.Errorf("%s: the warnings are %s", test.reason, text)
			}
			refused := slices.ContainsFunc(r.Violations, func(v result.Violation) bool { return v.Refused() })
			if r.Allowed == refused {
				t.Errorf("allowed is %t", r.Allowed)
			}
		})
	}
}

// TestTwiceInOld: nobody can tell which of two objects in a file of OLD the cluster has, and a change that takes one
// away is no mistake.
func TestTwiceInOld(t *testing.T) {
	p, q := widget("v1", "a", "x", "{class: p}"), widget("v1", "a", "x", "{class: q}")
	for _, row := range []struct {
		name       string
		news, olds string
		want       int
	}{
		{"the first one stays", p, p + q, 1},
		{"the last one stays", q, p + q, 1},
		{"both go", "", p + q, 1},
		{"both stay", p + q, p + q, 0},
		{"they are equal", q, p + p, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := check(t, map[string]string{"crd.yaml": classLocked, "x.yaml": row.news}, map[string]string{"crd.yaml": classLocked, "x.yaml": row.olds}, Options{})
			if len(r.Errors) != 0 || len(r.Uncovered()) != row.want || r.Complete == (row.want > 0) {
				t.Errorf("complete is %t, errors %v, not covered %+v", r.Complete, r.Errors, r.NotCovered)
			}
		})
	}
}

// TestSkippedChanges: of objects that no schema covers, those count that both sides have and that differ.
func TestSkippedChanges(t *testing.T) {
	type dir = map[string]string
	gadget := func(name, spec string) string {
		return "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: " + name + "}\nspec: {a: " + spec + "}\n"
	}
	for _, c := range []struct {
		name             string
		news, olds       dir
		objects, changed int
	}{
		{"created", dir{"a.yaml": gadget("s", "1")}, dir{"b.yaml": gadget("t", "1")}, 2, 0},
		{"unchanged", dir{"a.yaml": gadget("s", "1")}, dir{"a.yaml": gadget("s", "1")}, 1, 0},
		{"moved", dir{"b/a.yaml": gadget("s", "1")}, dir{"a.yaml": gadget("s", "1")}, 1, 0},
		{"changed", dir{"a.yaml": gadget("s", "1")}, dir{"a.yaml": gadget("s", "2")}, 1, 1},
		{"moved and changed", dir{"b/a.yaml": gadget("s", "1"), "c.yaml": gadget("t", "1")}, dir{"a.yaml": gadget("s", "2")}, 2, 1},
		{"copied and changed", dir{"b.yaml": gadget("s", "1"), "c.yaml": gadget("s", "2")}, dir{"a.yaml": gadget("s", "3")}, 2, 2},
	} {
		r := check(t, c.news, c.olds, Options{})
		if len(r.SkippedKinds) != 1 || r.SkippedKinds[0].Objects != c.objects || r.SkippedKinds[0].Changed != c.changed || r.Complete != (c.changed == 0) {
			t.Errorf("%s: %+v, complete %t", c.name, r.SkippedKinds, r.Complete)
		}
	}
}

// TestMetadata: a change of nothing but metadata counts, for what the server stores otherwise than it is written and
// for the identity of objects of all kinds.
func TestMetadata(t *testing.T) {
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	object := func(kind, metadata string) string {
		return kind + "\nmetadata: {name: x, namespace: a" + metadata + "}\n"
	}
	const (
		secret  = "apiVersion: v1\nkind: Secret\nimmutable: true\ndata: {}"
		config  = "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}"
		custom  = "apiVersion: example.com/v1\nkind: Widget\nspec: {class: a, size: 1}"
		another = ", labels: {a: b}"
	)
	if got, want := found(check(t, map[string]string{"x.yaml": object(config, ", uid: u1")}, nil, Options{Builtin: kinds})), []string{"unknown a/x metadata.uid"}; !slices.Equal(got, want) {
		t.Errorf("a new object with a uid: got %q, want %q", got, want)
	}
	for _, c := range []struct {
		name, kind, newMetadata, oldMetadata string
		want                                 []string
	}{
		{"an immutable Secret that is empty, unchanged", secret, "", "", nil},
		{"an immutable Secret that is empty, with a label", secret, another, "", []string{"unknown a/x data"}},
		{"a label", config, another, "", nil},
		{"a label of a custom resource", custom, another, "", nil},
		{"another uid", config, ", uid: u2", ", uid: u1", []string{"a/x metadata.uid immutable"}},
		{"another uid of a custom resource", custom, ", uid: u2", ", uid: u1", []string{"a/x metadata.uid immutable"}},
		{"a uid", custom, ", uid: u2", "", []string{"unknown a/x metadata.uid"}},
		{"a uid of a built-in kind", config, ", uid: u2", "", []string{"unknown a/x metadata.uid"}},
		{"no uid any more", custom, "", ", uid: u1", nil},
		{"the same uid, and a label", custom, ", uid: u1" + another, ", uid: u1", nil},
	} {
		crd := widgets("None", locked, "")
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": object(c.kind, c.newMetadata)}, map[string]string{"crd.yaml": crd, "x.yaml": object(c.kind, c.oldMetadata)}, Options{Builtin: kinds})
		if got := found(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if refused := slices.ContainsFunc(r.Violations, func(v result.Violation) bool { return v.Path == "metadata.uid" }); refused && len(r.Replacements) != 1 {
			t.Errorf("%s: %d ways out", c.name, len(r.Replacements))
		}
		for _, re := range r.Replacements {
			if len(re.How) == 0 || c.newMetadata == ", uid: u2" && !strings.Contains(re.How[0], "leave metadata.uid out") {
				t.Errorf("%s: the ways out are %q", c.name, re.How)
			}
		}
	}
}

// TestMoreViolations: what a verdict leaves out counts, whatever is accepted of the rest.
func TestMoreViolations(t *testing.T) {
	set := manifest.Objects(files(map[string]string{"x.yaml": widget("v1", "a", "x", "{class: p}")}))
	c := &checker{report: &Report{}}
	c.add(&printer{}, pair{new: set.Objects[0]}, &verdict{Verdict: result.Verdict{MoreViolations: 20, Notes: []result.Remark{{Path: "spec.class", Message: "it has no effect"}}}})
	if len(c.report.Notes) != 1 || c.report.Notes[0].Path != "spec.class" || c.report.Notes[0].Message != "it has no effect" {
		t.Errorf("the notes are %+v", c.report.Notes)
	}
	if c.report.finish(false); c.report.Allowed || c.report.MoreViolations != 20 || !slices.Equal(c.report.Warnings, []string{"Widget a/x has 20 more violations than are listed"}) {
		t.Errorf("allowed %v, %d more, the warnings %q", c.report.Allowed, c.report.MoreViolations, c.report.Warnings)
	}
}

// TestIncomparable: the violation has the reason by itself.
func TestIncomparable(t *testing.T) {
	crd := widgets("None", "l: {type: array, items: {type: string, x-kubernetes-immutable: true}}", "")
	r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{l: {a: b}}")}, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{l: [a]}")}, Options{})
	if !slices.Equal(found(r), []string{"a/x spec.l incomparable"}) || r.Violations[0].Reason == "" || r.Violations[0].Message != "field is immutable: "+r.Violations[0].Reason {
		t.Errorf("%q, %+v", found(r), r.Violations)
	}
}

// TestRepeatedKeysAreCounted: what is not listed is counted.
func TestRepeatedKeysAreCounted(t *testing.T) {
	for _, n := range []int{maxRepeatedKeys, maxRepeatedKeys + 1} {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
		for i := range n {
			text += fmt.Sprintf("  k%d: a\n  k%d: b\n", i, i)
		}
		var warned []string
		for _, w := range check(t, map[string]string{"x.yaml": text}, map[string]string{}, Options{}).Warnings {
			if strings.Contains(w, "twice") {
				warned = append(warned, w)
			}
		}
		if len(warned) != n || n > maxRepeatedKeys && warned[n-1] != "1 more keys are there twice in NEW" {
			t.Errorf("%d keys twice: %q", n, warned)
		}
	}
}

// TestHidden: an object that is only in a hidden directory of NEW is compared with its old one.
func TestHidden(t *testing.T) {
	for _, c := range []struct {
		name, hidden string
		want         []string
	}{
		{"unchanged", widget("v1", "a", "x", "{class: p}"), []string{"note a/x"}},
		{"changed", widget("v1", "a", "x", "{class: q}"), []string{"unknown a/x spec.class"}},
		{"another name", widget("v1", "a", "z", "{class: q}"), nil},
		{"twice", widget("v1", "a", "x", "{class: p}") + widget("v1", "a", "x", "{class: q}"), []string{"note a/x"}},
		{"a version that is not there", widget("v3", "a", "x", "{class: q}"), []string{"unknown a/x "}},
	} {
		var asked []string
		r, err := Check(Input{
			New: files(map[string]string{"crd.yaml": classLocked, "z.yaml": widget("v1", "a", "y", "{class: p}")}),
			Old: files(map[string]string{"crd.yaml": classLocked, "x.yaml": widget("v1", "a", "x", "{class: p}"), "z.yaml": widget("v1", "a", "y", "{class: p}")}),
			Hidden: func(names []string) []manifest.File {
				asked = names
				return files(map[string]string{".hidden/x.yaml": c.hidden})
			},
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found(r), c.want) || !slices.Equal(asked, []string{"x"}) || r.Deleted != 1 {
			t.Errorf("%s: got %q, want %q; asked for %q, %d deleted", c.name, found(r), c.want, asked, r.Deleted)
		}
	}
}

// TestPlaces: a message names three places and counts the others.
func TestPlaces(t *testing.T) {
	object := func(file, namespace string) *manifest.Object {
		return manifest.Objects(files(map[string]string{file: widget("v1", namespace, "x", "{class: p}")})).Objects[0]
	}
	objects := []*manifest.Object{object("c.yaml", "c"), object("a.yaml", ""), object("b.yaml", "b"), object("d.yaml", "d")}
	const three = "a.yaml:2 (namespace not given), b.yaml:2 (namespace b), c.yaml:2 (namespace c)"
	if got := places(objects[:3]); got != three {
		t.Errorf("three: %s", got)
	}
	if got := places(objects); got != three+", and 1 more" {
		t.Errorf("four: %s", got)
	}
}

// TestRepeatedKeyIsNew: what OLD has once excuses one place of NEW.
func TestRepeatedKeyIsNew(t *testing.T) {
	text := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  k: a\n  k: b\n"
	}
	var warned int
	for _, w := range check(t, map[string]string{"x.yaml": text("x"), "y.yaml": text("y")}, map[string]string{"x.yaml": text("x")}, Options{}).Warnings {
		if strings.Contains(w, "twice") {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings about two places, one of which OLD has: want 1", warned)
	}
}
