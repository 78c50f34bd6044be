package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOneBrokenCRD: a CRD that cannot be read, or whose locks are wrong, gives errors that name it, and the others are
// still linted, listed and held.
func TestOneBrokenCRD(t *testing.T) {
	other := strings.NewReplacer("Widget", "Gadget", "widgets", "gadgets")
	gadgets := other.Replace(classLocked)
	annotated := func(annotation string) string {
		return strings.Replace(gadgets, "{name: gadgets.example.com}", "{name: gadgets.example.com, annotations: {fieldlock.dev/locks: '"+annotation+"'}}", 1)
	}
	inList := func(documents ...string) string {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
		for _, d := range documents {
			b.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(d), "\n", "\n  ") + "\n")
		}
		return b.String()
	}
	for _, test := range []struct {
		name, broken string
		want         string // in the error
	}{
		{"malformed annotation", annotated("{"), "fieldlock.dev/locks"},
		{"annotation of a field that is not there", annotated(`{"v1": {"/properties/spec/properties/none": {"x-kubernetes-immutable": true}}}`), "none"},
		{"annotation of a version that is not there", annotated(`{"v9": {"/properties/spec/properties/class": {"x-kubernetes-immutable": true}}}`), "v9"},
		{"annotation with an unknown key", annotated(`{"v1": {"/properties/spec/properties/free": {"x-fieldlock-updat": ["NoSet"]}}}`), "x-fieldlock-updat"},
		{"lock that is false", strings.Replace(gadgets, "immutable: true", "immutable: false", 1), "false"},
		{"schema that is a list", strings.Replace(gadgets, "class: {type: string, x-kubernetes-immutable: true}", "class: [1]", 1), "class"},
		{"no versions", gadgets[:strings.Index(gadgets, "  versions:")], "versions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{
				"apart/a.yaml": test.broken, "apart/b.yaml": classLocked,
				"one.yaml":          test.broken + "\n---\n" + classLocked,
				"list.yaml":         inList(test.broken, classLocked),
				"old/w.yaml":        widget("v1", "", "x", "{class: a}"),
				"new/w.yaml":        widget("v1", "", "x", "{class: b}"),
				"oldcrds/w.yaml":    widget("v1", "", "x", "{class: a}"),
				"oldcrds/crds.yaml": classLocked, // the change brings the broken one
				"newcrds/w.yaml":    widget("v1", "", "x", "{class: b}"),
				"newcrds/crds.yaml": test.broken + "\n---\n" + classLocked,
			})
			path := func(name string) string { return filepath.Join(dir, name) }
			const finding, lock, violation = `"crd": "widgets.example.com"`, `"path": "spec.class"`, `"lock": "immutable"`
			for _, run := range []struct {
				stdin string
				args  []string
				want  string
			}{
				{"", []string{"lint", path("apart")}, finding},
				{"", []string{"lint", path("one.yaml")}, finding},
				{"", []string{"lint", path("list.yaml")}, finding},
				{test.broken + "\n---\n" + classLocked, []string{"lint", "-"}, finding},
				{inList(test.broken, classLocked), []string{"lint", "-"}, finding},
				{"", []string{"locks", path("apart")}, lock},
				{"", []string{"locks", path("one.yaml")}, lock},
				{inList(test.broken, classLocked), []string{"locks", "-"}, lock},
				{"", []string{"check", "--schema", path("apart"), path("old"), path("new")}, violation},
				{"", []string{"check", "--schema", path("list.yaml"), path("old"), path("new")}, violation},
				{"", []string{"check", path("oldcrds"), path("newcrds")}, violation},
				{test.broken + "\n---\n" + classLocked + widget("v1", "", "x", "{class: b}"), []string{"check", path("oldcrds"), "-"}, violation},
			} {
				c := runCommand(run.stdin, append(run.args, "-o", "json")...)
				if c.status == exitClean || !strings.Contains(c.out, run.want) {
					t.Errorf("%q: status %d, and the CRD that is in order is not reported:\n%s%s", run.args, c.status, c.out, c.err)
				}
				if report := c.out + c.err; !strings.Contains(report, "gadgets.example.com") || !strings.Contains(report, test.want) {
					t.Errorf("%q: nothing names the broken CRD and %q:\n%s%s", run.args, test.want, c.out, c.err)
				}
			}
		})
	}
}
