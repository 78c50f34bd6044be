package builtin

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// TestMissing: an object that a real API server has stored lacks nothing, and without any of the required fields it
// does.
func TestMissing(t *testing.T) {
	cases, err := kindcase.Read("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, minor := range Minors() {
		kinds, err := For(minor)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			kind, _ := kinds.Find(fieldpath.Text(c.Old, "apiVersion"), fieldpath.Text(c.Old, "kind"))
			if kind == nil {
				continue
			}
			if missing := kind.Missing(c.Old); missing != "" {
				t.Errorf("%s, %s: the stored object lacks %s", minor, c.Name, missing)
			}
			for _, path := range kind.source.Required {
				partial, _ := fieldpath.Parse(strings.ReplaceAll(path, "[*]", "[0]")).Remove(c.Old)
				if missing := kind.Missing(partial.(map[string]any)); fieldpath.Text(c.Old, "apiVersion") == kind.APIVersion && missing == "" {
					t.Errorf("%s, %s: without %s it lacks nothing", minor, c.Name, path)
				}
				tried[kind.Kind] = true
			}
		}
		for _, kind := range kinds.All() {
			if len(kind.source.Required) > 0 && !tried[kind.Kind] {
				t.Errorf("%s: no case has an object of %s", minor, kind.Kind)
			}
		}
	}
}

// TestMissingPartial: what a patch leaves out.
func TestMissingPartial(t *testing.T) {
	kinds, err := For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ object, want string }{
		{"{apiVersion: apps/v1, kind: Deployment}", "spec.selector"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {selector: null}}", "spec.selector"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {selector: {}}}", "spec.template.spec.containers"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {selector: {}, template: {spec: {containers: []}}}}", "spec.template.spec.containers"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {selector: {}, template: {spec: {containers: [{name: a, image: b}, {name: c}]}}}}", "spec.template.spec.containers[*].image"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {selector: {}, template: {spec: {containers: [{name: a, image: b}]}}}}", ""},
		{"{apiVersion: extensions/v1beta1, kind: Deployment}", ""},
		{"{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}", "spec.template.spec.restartPolicy"},
		{"{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gi}}}}", "spec.accessModes"},
		{"{apiVersion: v1, kind: ConfigMap}", ""},
		{"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, subjects: []}", "roleRef.kind"},
	} {
		object := objectOf(t, c.object)
		kind, _ := kinds.Find(fieldpath.Text(object, "apiVersion"), fieldpath.Text(object, "kind"))
		if got := kind.Missing(object); got != c.want {
			t.Errorf("%s: %q, want %q", c.object, got, c.want)
		}
	}
}
