package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

func TestLint(t *testing.T) {
	const locked = "class: {type: string, x-kubernetes-immutable: true}"
	const free = "class: {type: string}"
	const rule = "class: {type: string, default: a, x-kubernetes-validations: [{rule: self == oldSelf}]}"
	requiredSpec := strings.NewReplacer("        openAPIV3Schema:\n", "        openAPIV3Schema:\n          required: [spec]\n")
	other := strings.NewReplacer("Widget", "Gadget", "widgets", "gadgets").Replace(classLocked)
	beta := func(text string) string {
		return strings.Replace(strings.Replace(text, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1), "scope:", "preserveUnknownFields: false\n  scope:", 1)
	}
	for _, test := range []struct {
		name, reason string
		files        map[string]string
		args         []string
		status       int
		findings     []string // "severity rule path", in any order
		note         string
	}{
		{
			name: "hole", reason: "spec is optional: it takes the lock with it",
			files: map[string]string{"crd.yaml": classLocked}, args: []string{"crd.yaml"},
			findings: []string{"warning optional-parent spec", "warning optional-parent spec"},
		},
		{
			name: "strict", reason: "the same, for a pipeline that wants no hole",
			files: map[string]string{"crd.yaml": classLocked}, args: []string{"--strict", "crd.yaml"}, status: exitRefused,
			findings: []string{"warning optional-parent spec", "warning optional-parent spec"},
		},
		{
			name: "error", reason: "a schema with errors is what lint is for: status 1, not 2",
			files: map[string]string{"crd.yaml": widgets("None", "class: {type: string, x-kubernetes-immutable: maybe}", free)}, args: []string{"crd.yaml"}, status: exitRefused,
			findings: []string{"error lock-value spec.class"},
		},
		{
			name: "two versions", reason: "the version without the lock is the way around it",
			files: map[string]string{"crd.yaml": widgets("None", locked, free)}, args: []string{"crd.yaml"},
			findings: []string{"warning optional-parent spec", "warning version-unlocked spec.class"},
		},
		{
			name: "CEL rules", reason: "any CRD can be audited; of the two texts about the version without the rule there is one",
			files: map[string]string{"crd.yaml": widgets("None", "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}", free)}, args: []string{"crd.yaml"},
			findings: []string{"warning cel-unset-then-set spec.class", "warning cel-version-without-rule spec.class"},
		},
		{
			name: "no lock", reason: "a clean result that means nothing has to say so",
			files: map[string]string{"crd.yaml": widgets("None", free, free)}, args: []string{"crd.yaml"},
			note: "the CRDs have neither locks nor CEL transition rules",
		},
		{
			name: "rules without a hole", reason: "a CRD with transition rules only is not one that has lost its locks",
			files: map[string]string{"crd.yaml": requiredSpec.Replace(widgets("None", rule, rule))}, args: []string{"crd.yaml"},
		},
		{
			name: "what kubebuilder puts beside CRDs", reason: "a directory of CRDs for kustomize has patches, strategic and JSON ones, which are no CRDs",
			files: map[string]string{
				"crd/bases/widgets.yaml":       classLocked,
				"crd/kustomization.yaml":       "resources: [bases/widgets.yaml]\n",
				"crd/kustomizeconfig.yaml":     "nameReference: []\n",
				"crd/patches/cainjection.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n",
				"crd/patches/webhook.yaml":     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {conversion: {strategy: Webhook}}\n",
				"crd/patches/json.yaml":        "- {op: add, path: /metadata/labels, value: {}}\n",
			},
			args:     []string{"crd"},
			findings: []string{"warning optional-parent spec", "warning optional-parent spec"},
		},
		{
			name: "update drops a lock", reason: "clients may rely on it",
			files:    map[string]string{"old.yaml": classLocked, "new.yaml": widgets("None", free, locked)},
			args:     []string{"--old", "old.yaml", "new.yaml"},
			status:   exitRefused,
			findings: []string{"error lock-dropped spec.class", "warning optional-parent spec", "warning version-unlocked spec.class"},
		},
		{
			name: "update of v1beta1 gains a lock", reason: "the proposal allows that in v1 only",
			files: map[string]string{"old.yaml": beta(widgets("None", free, free)), "new.yaml": beta(classLocked)},
			args:  []string{"--old", "old.yaml", "new.yaml"}, status: exitRefused,
			findings: []string{"error v1beta1-lock spec.class", "error v1beta1-lock spec.class", "warning optional-parent spec", "warning optional-parent spec"},
		},
		{
			name: "update of v1beta1 keeps a lock", reason: "ratcheting",
			files:    map[string]string{"old.yaml": beta(classLocked), "new.yaml": beta(classLocked)},
			args:     []string{"--old", "old.yaml", "new.yaml"},
			findings: []string{"warning optional-parent spec", "warning optional-parent spec"},
		},
		{
			name: "update of another CRD", reason: "two files that do not belong together are a mistake, not two new CRDs",
			files: map[string]string{"old.yaml": other, "new.yaml": widgets("None", free, free)},
			args:  []string{"--old", "old.yaml", "new.yaml"}, status: exitRefused,
			findings: []string{"error other-crd "},
		},
		{
			name: "directories", reason: "CRDs are paired by group and kind; one that is new has no old one",
			files: map[string]string{"old/a.yaml": widgets("None", locked, locked), "new/b.yaml": widgets("None", free, free), "new/c.yaml": other},
			args:  []string{"--old", "old", "new"}, status: exitRefused,
			findings: []string{
				"error lock-dropped spec.class", "error lock-dropped spec.class", "warning optional-parent spec", "warning optional-parent spec",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(writeFiles(t, test.files))
			c := runCommand("", append([]string{"lint", "-o", "json"}, test.args...)...)
			if c.status != test.status {
				t.Errorf("%s: got status %d, want %d\n%s", test.reason, c.status, test.status, c.err)
			}
			var report struct {
				Findings []struct {
					File, Path, Severity, Rule, Message string
					Line                                int
				}
			}
			if err := json.Unmarshal([]byte(c.out), &report); err != nil || report.Findings == nil {
				t.Fatalf("the output is no report with findings: %v\n%s", err, c.out)
			}
			var got []string
			for _, f := range report.Findings {
				got = append(got, f.Severity+" "+f.Rule+" "+f.Path)
				if f.Line == 0 || !strings.HasSuffix(f.File, ".yaml") || f.Message == "" {
					t.Errorf("a finding has no place or no message: %+v", f)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.findings) {
				t.Errorf("%s:\ngot  %q\nwant %q", test.reason, got, test.findings)
			}
			if !strings.Contains(c.err, test.note) || test.note == "" && c.err != "" {
				t.Errorf("got the note %q, want %q", c.err, test.note)
			}
		})
	}
}

// TestLintText: what several versions have in common stands there once, with the place in each.
func TestLintText(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"crd.yaml": classLocked}))
	c := runCommand("", "lint", "crd.yaml")
	want := `widgets.example.com (crd.yaml)
  spec  warning optional-parent  line 18 (v1), line 31 (v2)
      an update can leave out spec and the next one can bring it back with other values of spec.class; add x-fieldlock-update: [NoUnset] to spec
      in Go, on the field spec: // +k8s:update=NoUnset

✓ 0 errors, 1 warning in 1 CRD
`
	if c.out != want || c.status != exitClean {
		t.Errorf("got status %d and\n%s\nwant\n%s", c.status, c.out, want)
	}
}

// TestLintUnread: what could not be read is one mistake, and no tick hides it.
func TestLintUnread(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"crd.yaml": strings.Replace(classLocked, "scope: Namespaced", "scope: true", 1)}))
	c := runCommand("", "lint", "crd.yaml")
	if c.out != "0 errors, 0 warnings in 0 CRDs\n" || c.status != exitUnread || strings.Contains(c.err, "no CustomResourceDefinition") {
		t.Errorf("got status %d and\n%s%s", c.status, c.out, c.err)
	}
}

func TestLocksText(t *testing.T) {
	const free = "class: {type: string}"
	for _, test := range []struct{ name, crd, want string }{
		{
			"versions that differ", widgets("None", "class: {type: string, x-kubernetes-immutable: true}", free),
			`Widget v1 (widgets.example.com, crd.yaml)
  spec.class  immutable
              ! remove spec, then add it again
              ! write it through version v2

Widget v2 (widgets.example.com, crd.yaml)
  no locks in this version

1 locked field, 1 with a hole (!); fieldlock lint says how to close it
`,
		},
		{"no lock at all", widgets("None", free, free), "no locks: Widget\n\n0 locked fields\n"},
		{
			"a lock on a parent of a locked field", widgets("None", "labels: {type: object, x-kubernetes-immutable-keys: true, additionalProperties: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}}", ""),
			`Widget v1 (widgets.example.com, crd.yaml)
  spec.labels  immutable-keys
               ! remove spec, then add it again
               ! write it through version v2
    [*].a  immutable
           ! remove spec, then add it again
           ! write it through version v2

Widget v2 (widgets.example.com, crd.yaml)
  no locks in this version

2 locked fields, 2 with a hole (!); fieldlock lint says how to close it
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(writeFiles(t, map[string]string{"crd.yaml": test.crd}))
			if c := runCommand("", "locks", "crd.yaml"); c.out != test.want || c.status != exitClean {
				t.Errorf("got status %d and\n%s%s\nwant\n%s", c.status, c.out, c.err, test.want)
			}
		})
	}
}

// TestLocksOfKinds: kinds are known by each of their names, beside files; a file of that name wins.
func TestLocksOfKinds(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"crd.yaml": classLocked, "deploy": classLocked}))
	for line, want := range map[string][]string{
		"locks sts crd.yaml":                  {"StatefulSet", "Widget v1"},
		"locks crd.yaml statefulsets.apps":    {"StatefulSet", "Widget v1"},
		"locks deploy":                        {"Widget v1"},
		"locks Deployment":                    {"Deployment"},
		"locks --kubernetes-version 1.35 sts": {"StatefulSet"},
	} {
		c := runCommand("", strings.Fields(line)...)
		if c.status != exitClean {
			t.Errorf("%s: status %d: %s", line, c.status, c.err)
		}
		for _, kind := range []string{"StatefulSet", "Widget v1", "Deployment"} {
			if got := strings.Contains(c.out, kind); got != slices.Contains(want, kind) {
				t.Errorf("%s: %s is listed: %t\n%s", line, kind, got, c.out)
			}
		}
	}
}

// TestMarkdown: names of fields and kinds cannot break the table.
func TestMarkdown(t *testing.T) {
	dir := writeFiles(t, map[string]string{"crd.yaml": widgets("None", "'a|b': {type: string, x-kubernetes-immutable: true}", "'a|b': {type: string, x-kubernetes-immutable: true}")})
	c := runCommand("", "locks", "--markdown", filepath.Join(dir, "crd.yaml"))
	want := "### Widget v1, v2\n\n| Field | Lock | After creation | Can still change by |\n|---|---|---|---|\n" +
		"| `spec.a\\|b` | immutable | cannot be set, changed or removed after creation | remove spec, then add it again |\n"
	if c.out != want || c.status != exitClean {
		t.Errorf("got status %d and\n%s%s\nwant\n%s", c.status, c.out, c.err, want)
	}
}

// TestLocksListsRules: the CEL transition rules of a CRD are listed, but for those that stand for its locks.
func TestLocksListsRules(t *testing.T) {
	rule := widgets("None", "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}, {rule: size(self) < 9}]}", "")
	c := runCommand(rule, "locks", "-")
	if want := "has to hold: self == oldSelf\n"; c.status != exitClean || c.err != "" || !strings.Contains(c.out, want) || strings.Contains(c.out, "size(self)") || strings.Contains(c.out, "no hole") {
		t.Errorf("got status %d and %s%s, want 0 and %q", c.status, c.out, c.err, want)
	}
	exported := runCommand(classLocked, "export", "cel", "-")
	if c := runCommand(exported.out, "locks", "-"); c.status != exitClean || c.err != "" || !strings.Contains(c.out, "spec.class  immutable") {
		t.Errorf("the rules that stand for locks are not left out: %q%s", c.err, c.out)
	}
}

// TestNamed: a kind is found by its kind, plural and short name in any case, in a group where one is given.
func TestNamed(t *testing.T) {
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"sts":                  {"apps/StatefulSet"},
		"StatefulSet":          {"apps/StatefulSet"},
		"STATEFULSETS":         {"apps/StatefulSet"},
		"statefulsets.apps":    {"apps/StatefulSet"},
		"sts.batch":            nil,
		"events":               {"/Event", "events.k8s.io/Event"},
		"events.events.k8s.io": {"events.k8s.io/Event"},
		"widgets":              nil,
	} {
		var got []string
		for _, kind := range named(kinds, name) {
			got = append(got, kind.Group+"/"+kind.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
