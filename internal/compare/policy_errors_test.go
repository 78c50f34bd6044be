package compare

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestUpdateThatCannotBeBuilt: the API server refuses an object that it cannot read, and the policies cannot judge such
// an update: it is an error, not a change that they allow. No lock or rule of the CRD reads the object.
func TestUpdateThatCannotBeBuilt(t *testing.T) {
	known, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	const template = "template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"
	policies := policyFor("p", "example.com", "widgets", "object.spec.free == oldObject.spec.free") + bindingOf("p", "Deny")
	with := func(free, labels string) map[string]string {
		spec := "{free: " + free + ", template: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: " + labels + "}}}"
		return map[string]string{"crd": widgets("None", template, template), "p": policies, "w": widget("v1", "ns", "w", spec)}
	}
	for _, row := range []struct {
		name     string
		new, old map[string]string
		want     string
	}{
		{"as the server reads it", with("b", "{a: b}"), with("a", "{a: b}"), "ns/w  rule"},
		{"in NEW", with("b", "5"), with("a", "{a: b}"), "error "},
		{"in OLD", with("b", "{a: b}"), with("a", "5"), "error "},
	} {
		got := found(check(t, row.new, row.old, Options{Builtin: known}))
		if len(got) != 1 || !strings.HasPrefix(got[0], row.want) || row.want == "error " && !strings.Contains(got[0], "embedded resource") {
			t.Errorf("%s: %q, want %s…", row.name, got, row.want)
		}
	}
}
