package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	reports "github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
)

func TestCheck(t *testing.T) {
	const locked = "class: {type: string, x-kubernetes-immutable: true}"
	for _, test := range []struct {
		name, reason  string
		crd, old, new string
		flags         []string
		checked       int
		skipped       int
		violations    []string // "object path lock"
		note          string   // in standard error
	}{
		{
			name: "changed", reason: "the plain case",
			crd: classLocked, old: widget("v1", "a", "x", "{class: p}"), new: widget("v1", "a", "x", "{class: q}"),
			checked: 1, violations: []string{"a/x spec.class immutable"},
		},
		{
			name: "no namespace", reason: "a cluster-scoped object is named without a slash",
			crd: classLocked, old: widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{class: q}"),
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "create and delete", reason: "both are allowed and count as checked, but nothing was compared, which has to be said",
			crd: classLocked, old: widget("v1", "a", "x", "{class: p}"), new: widget("v1", "b", "x", "{class: q}"),
			checked: 2, note: "no object is in both OLD and NEW (1 created, 1 deleted)",
		},
		{
			name: "create, and an object of a kind without a schema on both sides", reason: "the object on both sides was skipped",
			crd: classLocked, old: "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: s}\n", new: "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: s}\nspec: {}\n" + widget("v1", "b", "x", "{class: q}"),
			checked: 1, skipped: 1, note: "no object that a schema covers is in both OLD and NEW (1 created, 0 deleted)",
		},
		{
			name: "no old object at all", reason: "the first commit of a file",
			crd: classLocked, new: widget("v1", "a", "x", "{class: p}"),
			checked: 1, note: "nothing was compared",
		},
		{
			name: "namespace on one side", reason: "a manifest without a namespace is compared with the object that the cluster has in one",
			crd: classLocked, old: widget("v1", "default", "x", "{class: p}"), new: widget("v1", "", "x", "{class: q}"),
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "namespace on one side, and the same name in the other", reason: "the exact pair goes first",
			crd: classLocked, old: widget("v1", "a", "x", "{class: p}") + widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{class: q}") + widget("v1", "b", "x", "{class: q}"),
			checked: 3, violations: []string{"x spec.class immutable"},
		},
		{
			name: "generated names", reason: "each is another object: it is created, and the old one is not there any more",
			crd: classLocked, old: generated("{class: p}") + generated("{class: q}"), new: generated("{class: r}"),
			checked: 3, note: "no object is in both OLD and NEW (1 created, 2 deleted)",
		},
		{
			name: "skipped once", reason: "an object that no schema covers counts once, though it is on both sides",
			crd: classLocked, old: "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: s}\n" + widget("v1", "", "x", "{}"), new: "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: s}\n" + widget("v1", "", "x", "{}"),
			checked: 1, skipped: 1,
		},
		{
			name: "all skipped", reason: "a clean result in which nothing was checked has to say so",
			crd: classLocked, old: "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: s}\n", new: "apiVersion: other.com/v1\nkind: Gadget\nmetadata: {name: s}\n",
			skipped: 1, note: "nothing was checked: no schema covers any of the objects; give the CRDs of Gadget with --schema",
		},
		{
			name: "CRDs for objects", reason: "who compares two CRDs wants lint --old", flags: []string{"--no-builtin"},
			crd: classLocked, old: classLocked, new: classLocked,
			skipped: 1, note: "use fieldlock lint --old OLD NEW",
		},
		{
			name: "unknown key", reason: "check alone in a pipeline would never tell that the key locks nothing",
			crd: widgets("None", "class: {type: string, x-kubernetes-shoe-size: 41}\nzone: {type: string, x-kubernetes-immutable: true}", ""),
			old: widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{class: q}"),
			checked: 1, note: "crd.yaml:22: spec.class: Kubernetes and fieldlock do not know x-kubernetes-shoe-size",
		},
		{
			name: "same kind of another group", reason: "the group is part of the kind",
			crd: classLocked, old: widget("v1", "", "x", "{class: p}"), new: "apiVersion: other.com/v1\nkind: Widget\nmetadata: {name: x}\n",
			checked: 1, skipped: 1, note: "nothing was compared",
		},
		{
			name: "unlocked CRD", reason: "a CRD that came through a stock API server has lost its marks; a clean result would be a silent pass",
			crd: widgets("None", "class: {type: string}", locked), old: widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{class: q}"),
			checked: 1, note: "version v1 of widgets.example.com has no locks",
		},
		{
			name: "a List", reason: "what kubectl get -o yaml prints",
			crd: classLocked,
			old: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: example.com/v1, kind: Widget, metadata: {name: x}, spec: {class: p}}\n",
			new: widget("v1", "", "x", "{class: q}"), checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "default applies", reason: "leaving the default out is no change",
			crd: widgets("None", "class: {type: string, default: p, x-kubernetes-immutable: true}", locked),
			old: widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{}"), checked: 1,
		},
		{
			name: "no defaults", reason: "as written, the value is unset",
			crd: widgets("None", "class: {type: string, default: p, x-kubernetes-immutable: true}", locked),
			old: widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{}"), flags: []string{"--no-defaults"},
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "another version, equal", reason: "conversion None changes the apiVersion only",
			crd: classLocked, old: widget("v1", "", "x", "{class: p, free: a}"), new: widget("v2", "", "x", "{class: p, free: b}"), checked: 1,
		},
		{
			name: "another version, changed", reason: "both versions find the change, which is one violation",
			crd: classLocked, old: widget("v1", "", "x", "{class: p}"), new: widget("v2", "", "x", "{class: q}"),
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "another version without the lock", reason: "a write through the version that lacks the lock must not get around it",
			crd: widgets("None", locked, "class: {type: string}"), old: widget("v1", "", "x", "{class: p}"), new: widget("v2", "", "x", "{class: q}"),
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "another version without the field", reason: "the field is pruned on the way through: its value is lost",
			crd: widgets("None", locked, ""), old: widget("v1", "", "x", "{class: p}"), new: widget("v2", "", "x", "{}"),
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "another version with a default", reason: "the old object gets the default of the new version, as it does when it is read through it",
			crd: widgets("None", "", "class: {type: string, default: p, x-kubernetes-immutable: true}"), old: widget("v1", "", "x", "{}"), new: widget("v2", "", "x", "{class: p}"),
			checked: 1,
		},
		{
			name: "another version, same one by webhook", reason: "conversion does not matter within one version",
			crd: strings.Replace(classLocked, "strategy: None", "strategy: Webhook", 1), old: widget("v1", "", "x", "{class: p}"), new: widget("v1", "", "x", "{class: q}"),
			checked: 1, violations: []string{"x spec.class immutable"},
		},
		{
			name: "sorted by number", reason: "indices are numbers, in objects that two versions checked too",
			crd: widgets("None", "list: {type: array, items: {type: string, x-kubernetes-immutable: true}}", "list: {type: array, items: {type: string, x-kubernetes-immutable: true}}"),
			old: widget("v1", "", "x", "{list: [a, b, c, d, e, f, g, h, i, j, k]}"), new: widget("v2", "", "x", "{list: [a, b, X, d, e, f, g, h, i, j, X]}"),
			checked: 1, violations: []string{"x spec.list[2] immutable", "x spec.list[10] immutable"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, report := checkTexts(t, test.crd, test.old, test.new, test.flags...)
			status := exitClean
			if len(test.violations) > 0 {
				status = exitRefused
			}
			var got []string
			for _, v := range report.Violations {
				got = append(got, v.Object+" "+v.Path+" "+v.Lock)
			}
			if c.status != status || !slices.Equal(got, test.violations) || report.Checked != test.checked || report.Skipped != test.skipped {
				t.Errorf("%s:\ngot status %d, %d checked, %d skipped, violations %q\nwant %d, %d checked, %d skipped, violations %q\n%s",
					test.reason, c.status, report.Checked, report.Skipped, got, status, test.checked, test.skipped, test.violations, c.err)
			}
			if report.Allowed != (len(test.violations) == 0) || report.Violations == nil && c.status != exitUnread {
				t.Errorf("got allowed %t and violations %v", report.Allowed, report.Violations)
			}
			if !strings.Contains(c.err, test.note) || test.note == "" && c.err != "" {
				t.Errorf("got the note %q, want %q", c.err, test.note)
			}
		})
	}
}

// TestCheckValues: null is a value, absent is none, and every JSON text is exact.
func TestCheckValues(t *testing.T) {
	crd := widgets("None", `
a: {type: string, nullable: true, x-kubernetes-immutable: true}
b: {type: integer, x-kubernetes-immutable: true}
c: {type: object, additionalProperties: {type: string}, x-kubernetes-addition-only: true}
d: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-immutable: true}
`, "")
	_, report := checkTexts(t, crd,
		widget("v1", "ns", "x", `{a: null, b: 9007199254740993, c: {k: v}, d: {p: [1, {q: r}], s: t}}`),
		widget("v1", "ns", "x", `{a: x, b: 9007199254740992, c: {}, d: {p: [1, {q: null}], u: 1.5}}`))
	want := `[
  {
    "object": "ns/x",
    "kind": "Widget",
    "apiVersion": "example.com/v1",
    "file": "new.yaml",
    "line": 5,
    "oldFile": "old.yaml",
    "oldLine": 5,
    "path": "spec.a",
    "lock": "immutable",
    "schemaPath": "/properties/spec/properties/a",
    "old": null,
    "new": "x",
    "message": "field is immutable"
  },
  {
    "object": "ns/x",
    "kind": "Widget",
    "apiVersion": "example.com/v1",
    "file": "new.yaml",
    "line": 5,
    "oldFile": "old.yaml",
    "oldLine": 5,
    "path": "spec.b",
    "lock": "immutable",
    "schemaPath": "/properties/spec/properties/b",
    "old": 9007199254740993,
    "new": 9007199254740992,
    "message": "field is immutable"
  },
  {
    "object": "ns/x",
    "kind": "Widget",
    "apiVersion": "example.com/v1",
    "file": "new.yaml",
    "line": 5,
    "oldFile": "old.yaml",
    "oldLine": 5,
    "path": "spec.c",
    "lock": "addition-only",
    "schemaPath": "/properties/spec/properties/c",
    "old": {
      "k": "v"
    },
    "new": {},
    "key": "k",
    "message": "field is immutable: \"k\" may not be removed"
  },
  {
    "object": "ns/x",
    "kind": "Widget",
    "apiVersion": "example.com/v1",
    "file": "new.yaml",
    "line": 5,
    "oldFile": "old.yaml",
    "oldLine": 5,
    "path": "spec.d",
    "lock": "immutable",
    "schemaPath": "/properties/spec/properties/d",
    "old": {
      "p": [
        1,
        {
          "q": "r"
        }
      ],
      "s": "t"
    },
    "new": {
      "p": [
        1,
        {
          "q": null
        }
      ],
      "u": 1.5
    },
    "differences": [
      {
        "path": "spec.d.p[1].q",
        "old": "r",
        "new": null
      },
      {
        "path": "spec.d.s",
        "old": "t"
      },
      {
        "path": "spec.d.u",
        "new": 1.5
      }
    ],
    "message": "field is immutable: spec.d.p[1].q \"r\" → null, spec.d.s \"t\" → absent, spec.d.u absent → 1.5"
  }
]
`
	var got strings.Builder
	for i := range report.Violations {
		report.Violations[i].File = filepath.Base(report.Violations[i].File)
		report.Violations[i].OldFile = filepath.Base(report.Violations[i].OldFile)
	}
	if err := reports.WriteJSON(&got, report.Violations); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCheckSides: what a side of the comparison can be.
func TestCheckSides(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"crds/widgets.yaml":       classLocked,
		"crds/README.md":          "not read",
		"crds/kustomization.yaml": "resources: [widgets.yaml]\n",
		"old/a/x.yml":             widget("v1", "", "x", "{class: p}"),
		"old/z.json":              `{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "z"}, "spec": {"class": "p"}}`,
		"old/notes.txt":           "{{ not read }}",
		"old/.git/z.yaml":         "{{ not read }}",
		"old/kustomization.yaml":  "resources: [a/x.yml]\n",
		"new.yaml":                widget("v1", "", "x", "{class: q}") + widget("v1", "", "z", "{class: q}"),
	})
	path := func(name string) string { return filepath.Join(dir, name) }
	text := widget("v1", "", "x", "{class: q}") + widget("v1", "", "z", "{class: q}")
	want := "✗ 2 objects refused, 2 violations: 2 objects checked (2 updates); skipped: 1 document that is not an object\n"
	for name, args := range map[string][]string{
		"directories":                     {"--schema", path("crds"), path("old"), path("new.yaml")},
		"the schema twice":                {"--schema", path("crds"), "--schema", path("crds/widgets.yaml"), path("old"), path("new.yaml")},
		"schemas that the shell spread":   {"--schema", path("crds"), path("crds/widgets.yaml"), path("old"), path("new.yaml")},
		"new objects from standard input": {"--schema", path("crds"), path("old"), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			c := runCommand(text, append([]string{"check"}, args...)...)
			if c.status != exitRefused || !strings.HasSuffix(c.out, want) {
				t.Errorf("got status %d and\n%s%s\nwant status 1 and at the end\n%s", c.status, c.out, c.err, want)
			}
		})
	}
}

// TestUnusable: every mistake in the input has one sentence that names file and path, and what would be right.
func TestUnusable(t *testing.T) {
	const object = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\n"
	good := map[string]string{"crd.yaml": classLocked, "old.yaml": object, "new.yaml": object}
	check := []string{"check", "--schema", "crd.yaml", "old.yaml", "new.yaml"}
	for _, test := range []struct {
		name  string
		files map[string]string // in place of the good ones
		args  []string          // check unless given
		want  string
	}{
		{"no arguments", nil, []string{"check"}, "check compares two versions: give OLD and NEW (each a file, a directory or -), --git REV [PATH...] or --live NEW; got nothing"},
		{"no new side", nil, []string{"check", "--schema", "crd.yaml", "old.yaml"}, "check compares two versions: give OLD and NEW (each a file, a directory or -), --git REV [PATH...] or --live NEW; got old.yaml"},
		{"unknown format", nil, append(check, "-o", "xml"), "the formats are text, json, github, gitlab, junit, sarif"},
		{"unknown flag", nil, append(check, "--nope"), "unknown flag: --nope"},
		{"unknown command", nil, []string{"chekc"}, `unknown command "chekc"`},
		{"missing file", nil, []string{"check", "--schema", "crd.yaml", "gone.yaml", "new.yaml"}, "gone.yaml: cannot be read: no such file or directory; give a file"},
		{"missing schema", nil, []string{"check", "--schema", "gone.yaml", "old.yaml", "new.yaml"}, "gone.yaml: cannot be read"},
		{"empty directory", map[string]string{"dir/notes.txt": ""}, []string{"check", "--schema", "crd.yaml", "dir", "new.yaml"}, "dir: the directory has no file that ends in .yaml, .yml or .json"},
		{"standard input twice", nil, []string{"check", "--schema", "crd.yaml", "-", "-"}, "standard input is named twice"},
		{"broken YAML", map[string]string{"old.yaml": "a: [1\nb"}, nil, "old.yaml:2: document 1: the YAML is malformed"},
		{"a template", map[string]string{"new.yaml": "{{- if .Values.on }}\n" + object + "{{- end }}\n"}, nil, "it looks like a template: check the manifests that it renders to"},
		{"a template of values", map[string]string{"new.yaml": strings.Replace(object, "name: x", "name: {{ .Release.Name }}", 1)}, nil, "it looks like a template: check the manifests that it renders to"},
		{"a list for an object", map[string]string{"new.yaml": "- {op: add}\n"}, nil, "new.yaml:1: document 1: it is a list; a document is an object"},
		{"a patch for a CRD", map[string]string{"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"}, nil, "crd.yaml:1: document 1, CustomResourceDefinition x: spec: it is missing"},
		{"a directory of patches", map[string]string{"crds/x.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"}, []string{"lint", "crds"}, "crds: there is no CustomResourceDefinition in it"},
		{"a directory for a file", map[string]string{"dir/crd.yaml": classLocked}, []string{"export", "cel", "dir"}, "dir: it is a directory; give one of its files"},
		{"no file", nil, []string{"import", "cel"}, "import cel needs one file, or - for standard input; it has none"},
		{"two files", nil, []string{"export", "policy", "crd.yaml", "old.yaml"}, "export policy needs one file, or - for standard input; it has crd.yaml, old.yaml"},
		{"broken JSON", map[string]string{"old.json": `{"a": 1,}}`}, []string{"check", "--schema", "crd.yaml", "old.json", "new.yaml"}, "old.json:1: document 1: the JSON is malformed"},
		{"no object at all", map[string]string{"old.yaml": "", "new.yaml": "# nothing\n"}, nil, "OLD and NEW hold no object; there is nothing to check (in old.yaml, new.yaml)"},
		{"scalar for an object", map[string]string{"new.yaml": "--- 5\n"}, nil, "new.yaml:1: document 1: it is the number 5; a document is an object with apiVersion and kind"},
		{"two keys of one name", map[string]string{"new.yaml": object + "spec: {1: a, '1': b}\n"}, nil, "new.yaml:4"},
		{"key twice in a CRD", map[string]string{"crd.yaml": classLocked + "kind: CustomResourceDefinition\nkind: Other\n"}, []string{"lint", "crd.yaml"}, `the mapping has the key "kind" twice, with two values`},
		{"no kind", map[string]string{"new.yaml": "apiVersion: example.com/v1\n"}, nil, "new.yaml:1: document 1: kind: it is missing; it has to be the kind of the object"},
		{"kind of the wrong type", map[string]string{"new.yaml": "apiVersion: example.com/v1\nkind: 5\n"}, nil, "new.yaml:2: document 1: kind: it is the number 5; it has to be the kind"},
		{"no apiVersion", map[string]string{"new.yaml": "kind: Widget\n"}, nil, "apiVersion: it is missing"},
		{"not a Kubernetes object", map[string]string{"new.yaml": "replicas: 3\n"}, nil, "new.yaml:1: document 1: apiVersion: it is missing"},
		{"no metadata", map[string]string{"new.yaml": "apiVersion: example.com/v1\nkind: Widget\n"}, nil, "new.yaml:1: document 1, Widget: metadata: it is missing"},
		{"scalar metadata", map[string]string{"new.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: x\n"}, nil, `new.yaml:3: document 1, Widget: metadata: it is the string "x"; it has to be an object`},
		{"no name", map[string]string{"new.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {namespace: x}\n"}, nil, "metadata.name: it is missing; objects are paired by kind, namespace and name"},
		{"numeric name", map[string]string{"new.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: 5}\n"}, nil, "metadata.name: it is the number 5; it has to be a string, in quotes"},
		{"object twice", map[string]string{"new.yaml": object + "---\n" + object}, nil, "new.yaml:5: document 2, Widget x: the object appears twice, first at new.yaml:1"},
		{"unknown version", map[string]string{"new.yaml": strings.Replace(object, "v1", "v3", 1)}, nil, `new.yaml:1: document 1, Widget x: apiVersion: the CRD of Widget has no version "v3"; its versions are v1, v2`},
		{"unknown version of a new object", map[string]string{"old.yaml": "", "new.yaml": strings.Replace(object, "v1", "v3", 1)}, nil, `has no version "v3"`},
		{"a version that is not served, of a new object", map[string]string{"old.yaml": "", "new.yaml": object, "crd.yaml": strings.Replace(classLocked, "served: true", "served: false", 1)}, nil, `the CRD of Widget does not serve the version "v1"`},
		{"a version that is no longer served, of an unchanged object", map[string]string{
			"old/crd.yaml": classLocked, "old/x.yaml": object,
			"new/crd.yaml": strings.Replace(classLocked, "served: true", "served: false", 1), "new/x.yaml": object,
		}, []string{"check", "old", "new"}, `x.yaml:1: document 1, Widget x: apiVersion: the CRD of Widget does not serve the version "v1"`},
		{"the same, of an object that a kustomization prints", map[string]string{
			"old/crd.yaml": classLocked, "old/app/x.yaml": "# a comment\n" + object, "old/app/kustomization.yaml": "resources: [x.yaml]\n",
			"new/crd.yaml": strings.Replace(classLocked, "served: true", "served: false", 1), "new/app/x.yaml": "# a comment\n" + object, "new/app/kustomization.yaml": "resources: [x.yaml]\n",
		}, []string{"check", "old", "new"}, `new/app/x.yaml:2: Widget x: apiVersion: the CRD of Widget does not serve the version "v1"`},
		{"schema without a CRD", map[string]string{"crd.yaml": object}, nil, "crd.yaml: there is no CustomResourceDefinition in it"},
		{"CRD without a schema", map[string]string{"crd.yaml": classLocked[:strings.Index(classLocked, "      schema:")]}, nil, "version \"v1\" has no schema"},
		{"lock in the wrong place", map[string]string{"crd.yaml": strings.Replace(classLocked, "x-kubernetes-immutable: true", "x-kubernetes-immutable-keys: true", 1)}, nil, "CustomResourceDefinition widgets.example.com, version v1: spec.class: x-kubernetes-immutable-keys is on a field without keys"},
		{"misspelled lock", map[string]string{"crd.yaml": strings.Replace(classLocked, "x-kubernetes-immutable: true", "x-kubernetes-imutable: true", 1)}, nil, "spec.class: Kubernetes and fieldlock do not know x-kubernetes-imutable, so it does nothing: did you mean x-kubernetes-immutable?"},
		{"schema that is not structural", map[string]string{"crd.yaml": widgets("None", "class: {type: string, x-kubernetes-immutable: true}\nmore: {type: object, patternProperties: {a: {type: string}}}", ""), "new.yaml": object + "spec: {class: q}\n"}, nil, "use additionalProperties; --no-defaults compares objects as they are written"},
		{"several mistakes", map[string]string{"old.yaml": "kind: Widget\n", "new.yaml": "kind: Widget\n"}, nil, "2 mistakes:\n  old.yaml:1"},
		{"many mistakes", map[string]string{"new.yaml": strings.Repeat("---\nkind: Widget\n", 22)}, nil, "22 mistakes:\n"},
		{"the last of many mistakes", map[string]string{"new.yaml": strings.Repeat("---\nkind: Widget\n", 22)}, nil, "\n  and 2 more\n"},
		{"a list of accepted violations that is not there", nil, append(check, "--accept", "none.yaml"), "--accept: open none.yaml: no such file"},
		{"no repository", nil, []string{"check", "--git", "HEAD"}, "--git: cannot read a git repository here"},
		{"lint of two old sides", nil, []string{"lint", "--old", "crd.yaml", "--git", "HEAD", "crd.yaml"}, "--old and --git exclude each other"},
		{"lint without a repository", nil, []string{"lint", "--git", "HEAD", "crd.yaml"}, "--git: cannot read a git repository here"},
		{"lint without CRDs", nil, []string{"lint"}, "lint needs CRDs"},
		{"lint of something else", nil, []string{"lint", "old.yaml"}, "old.yaml: there is no CustomResourceDefinition in it"},
		{"lint of an old something else", nil, []string{"lint", "--old", "old.yaml", "crd.yaml"}, "old.yaml: there is no CustomResourceDefinition in it"},
		{"locks of an unknown kind", nil, []string{"locks", "gadget"}, "gadget is neither a file nor a known kind"},
		{"locks of an unknown minor", nil, []string{"locks", "--kubernetes-version", "1.9", "sts"}, "--kubernetes-version:"},
		{"locks of a CRD with mistakes", map[string]string{"crd.yaml": strings.Replace(classLocked, "x-kubernetes-immutable: true", "x-kubernetes-immutable: false", 1)}, []string{"locks", "crd.yaml"}, "crd.yaml:22: CustomResourceDefinition widgets.example.com, version v1: spec.class: x-kubernetes-immutable is false"},
		{"locks in two formats", nil, []string{"locks", "--markdown", "-o", "json", "crd.yaml"}, "--markdown and -o exclude each other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{}
			for _, layer := range []map[string]string{good, test.files} {
				for name, text := range layer {
					files[name] = text
				}
			}
			t.Chdir(writeFiles(t, files))
			args := test.args
			if args == nil {
				args = check
			}
			c := runCommand("", args...)
			if c.status != exitUnread || strings.Contains(c.out, "✓") || !strings.Contains(c.err, test.want) {
				t.Errorf("got status %d, output %q and error %q\nwant status 2, no clean result and an error with %q", c.status, c.out, c.err, test.want)
			}
		})
	}
}

// TestManyRemovedKeys: the container of a removed key stands with each of them, but not a gigabyte of it.
func TestManyRemovedKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("it prints 16 MB")
	}
	crd := widgets("None", "class: {type: string}\ntags: {type: array, x-kubernetes-list-type: set, x-kubernetes-addition-only: true, items: {type: string}}", "")
	tags := make([]string, 11_000)
	for i := range tags {
		tags[i] = "tag-" + strconv.Itoa(i)
	}
	c, report := checkTexts(t, crd, widget("v1", "", "x", "{class: a, tags: ["+strings.Join(tags, ", ")+"]}"), widget("v1", "", "x", "{class: a, tags: []}"))
	first, last := report.Violations[0], report.Violations[len(report.Violations)-1]
	if n := len(report.Violations) + report.MoreViolations; n != len(tags) || !first.Old.OK || first.ValuesLeftOut {
		t.Errorf("%d violations, the first without its value: %t", n, first.ValuesLeftOut)
	}
	if last.Old.OK || !last.ValuesLeftOut || !last.Key.OK || len(c.out) > 100<<20 {
		t.Errorf("the report has %d bytes, its last violation is %.200v", len(c.out), last)
	}
}

func TestProgress(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out, stop: make(chan struct{})}
	p.begin("read", "file", 0)
	p.draw()
	p.step()
	p.draw()
	p.begin("checked", "object", 500)
	for range 100 {
		p.step()
	}
	p.draw()
	p.end()
	if got, want := out.String(), "\r\x1b[Kreading\r\x1b[Kread 1 file\r\x1b[Kchecked 100 of 500 objects\r\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	p = &progress{w: &out, inLog: true, stop: make(chan struct{})}
	p.begin("checked", "object", 500)
	p.step()
	p.draw()
	p.end()
	if got, want := out.String(), "fieldlock: checked 1 of 500 objects\n"; got != want {
		t.Errorf("in a log: got %q, want %q", got, want)
	}
	out.Reset()
	p = &progress{w: &out, stop: make(chan struct{})}
	p.end()
	if out.String() != "" {
		t.Errorf("work that was done at once: got %q, want nothing", out.String())
	}
	p = newProgress(&out)
	p.begin("read", "file", 0)
	p.step()
	p.end()
	if p != nil || out.String() != "" {
		t.Errorf("something that is no terminal: got %q, want nothing", out.String())
	}
}

// full is a device without room, as /dev/full is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullDisk: a report that cannot be written is an error, also one without refusals.
func TestFullDisk(t *testing.T) {
	dir := writeFiles(t, map[string]string{"fast.yaml": claim("data", "fast"), "slow.yaml": claim("data", "slow")})
	for _, format := range []string{"text", "json", "sarif", "junit", "github", "gitlab", "markdown"} {
		for _, name := range []string{"fast.yaml", "slow.yaml"} {
			var messages bytes.Buffer
			status := run([]string{"check", "-o", format, filepath.Join(dir, "fast.yaml"), filepath.Join(dir, name)}, streams{in: strings.NewReader(""), out: full{}, err: &messages})
			if status != exitUnread || !strings.Contains(messages.String(), "no space left") {
				t.Errorf("%s, %s: status %d, %s", format, name, status, messages.String())
			}
		}
	}
}
