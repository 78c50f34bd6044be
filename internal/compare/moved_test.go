package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestMoved: a new version of a CRD does not free the object that moves to it.
func TestMoved(t *testing.T) {
	// only is a CRD with some versions, each with properties of spec.
	only := func(conversion string, versions ...string) string {
		all := widgets(conversion, "V1", "V2")
		head, rest, _ := strings.Cut(all, "\n    - name: v1")
		first, _, _ := strings.Cut("\n    - name: v1"+rest, "\n    - name: v2")
		text := head
		for i := 0; i < len(versions); i += 2 {
			version := strings.Replace(first, "name: v1", "name: "+versions[i], 1)
			if i > 0 {
				version = strings.Replace(version, "storage: true", "storage: false", 1)
			}
			text += strings.Replace(version, strings.TrimSuffix(indent("V1"), "\n"), strings.TrimSuffix(indent(versions[i+1]), "\n"), 1)
		}
		return text
	}
	const free, rule = "class: {type: string}", "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}"
	const together = "class: {type: string}\nzone: {type: string}"
	ruled := func(crd, rule string) string {
		return strings.Replace(crd, "            spec:\n              type: object\n", "            spec:\n              type: object\n              x-kubernetes-validations: ["+rule+"]\n", 1)
	}
	object := func(version, spec string) string { return widget(version, "a", "x", spec) }
	refused := []string{"a/x spec.class immutable only in OLD"}
	unserved := func(schema string) string { // a CRD that stores v1 and does not serve it
		return strings.Replace(only("None", "v1", schema, "v2", free), "name: v1\n      served: true", "name: v1\n      served: false", 1)
	}
	for _, test := range []struct {
		name, reason   string
		oldCRD, newCRD string
		old, new       string
		want           []string
	}{
		{"to a new version", "the stored object is the same one", only("None", "v1", locked), only("None", "v1", free, "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), refused},
		{"to a new version, the lock stays", "NEW's CRD has both", only("None", "v1", locked), only("None", "v1", locked, "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"a/x spec.class immutable"}},
		{"to a version with a new name", "", only("None", "v1", locked), only("None", "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), refused},
		{"with a rule", "", only("None", "v1", rule), only("None", "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"a/x spec.class NoModify [self == oldSelf] only in OLD"}},
		{"with a rule that equals no lock", "", only("None", "v1", strings.Replace(rule, "==", "<=", 1)), only("None", "v2", free), object("v1", "{class: q}"), object("v2", "{class: r}"), []string{"a/x spec.class rule [self <= oldSelf] only in OLD"}},
		{"unset on the way", "", only("None", "v1", locked), only("None", "v2", free), object("v1", "{class: p}"), object("v2", "{free: a}"), refused},
		{"set on the way", "", only("None", "v1", locked), only("None", "v2", free), object("v1", "{free: a}"), object("v2", "{class: p}"), refused},
		{"nothing locked changes", "", only("None", "v1", locked), only("None", "v2", free), object("v1", "{class: p, free: a}"), object("v2", "{class: p, free: b}"), nil},
		{"the new version lacks the field", "it is not there to be changed", only("None", "v1", locked), only("None", "v2", "other: {type: string}"), object("v1", "{class: p}"), object("v2", "{other: q}"), nil},
		{"the new version lacks a field that the rule reads", "the rule would fail for an unchanged object, too",
			ruled(only("None", "v1", together), "{rule: self.class == oldSelf.class && self.zone == oldSelf.zone}"), only("None", "v2", free), object("v1", "{class: p, zone: a}"), object("v2", "{class: p}"), nil},
		{"the new version lacks one field of a rule, and the other changes", "whatever the first one is, the rule refuses it",
			ruled(only("None", "v1", together), "{rule: self.zone == oldSelf.zone && self.class == oldSelf.class, message: both stay}"), only("None", "v2", free), object("v1", "{class: p, zone: a}"), object("v2", "{class: q}"),
			[]string{"a/x spec rule [self.zone == oldSelf.zone && self.class == oldSelf.class] only in OLD"}},
		{"the new version adds the lock", "NEW's locks count", only("None", "v1", free), only("None", "v2", locked), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"a/x spec.class immutable"}},
		{"with a rule that reads the status", "only the cluster knows it", strings.Replace(only("None", "v1", free), "          properties:\n            spec:\n",
			"          x-kubernetes-validations: [{rule: '!has(oldSelf.status) || oldSelf.status.on != true || self.spec.class == oldSelf.spec.class'}]\n          properties:\n            status: {type: object, properties: {on: {type: boolean}}}\n            spec:\n", 1),
			only("None", "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"unknown a/x "}},
		{"back to an old version", "the same, the other way around", only("None", "v2", locked), only("None", "v1", free, "v2", free), object("v2", "{class: p}"), object("v1", "{class: q}"), refused},
		{"with a second CRD for the new version", "all CRDs of the kind count", only("None", "v1", locked), only("None", "v1", locked) + "\n---\n" + only("None", "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"a/x spec.class immutable"}},
		{"the new version keeps unknown fields", "the field is there", only("None", "v1", locked), strings.Replace(only("None", "v2", "other: {type: string}"), "            spec:\n", "            spec:\n              x-kubernetes-preserve-unknown-fields: true\n", 1), object("v1", "{class: p}"), object("v2", "{class: q}"), refused},
		{"with a webhook", "nobody else knows what becomes of the object", only("None", "v1", locked), only("Webhook", "v1", free, "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"unknown a/x apiVersion"}},
		{"with a webhook, from a version that goes", "", only("Webhook", "v1", locked), only("Webhook", "v2", free), object("v1", "{class: p}"), object("v2", "{class: q}"), []string{"unknown a/x apiVersion"}},
		{"to a version with a rule that does not compile", "nothing is allowed unseen", only("None", "v1", free), only("None", "v2", strings.Replace(rule, "self ==", "self.none ==", 1)), object("v1", "{class: p}"), object("v2", "{class: q}"),
			[]string{"error x.yaml:2: document 1, Widget a/x: the CEL rules of its CRD cannot be run: a rule at \"/properties/spec/properties/class\" does not compile"}},
		{"to a version that is not served", "no tool can apply it", only("None", "v1", free, "v2", free), strings.Replace(only("None", "v1", free, "v2", free), "name: v2\n      served: true", "name: v2\n      served: false", 1), object("v1", "{class: p}"), object("v2", "{class: p}"),
			[]string{"error x.yaml:2: document 1, Widget a/x: apiVersion: the CRD of Widget does not serve the version \"v2\""}},
		{"in a version that is no longer served", "no tool can apply it any more, though it does not change", only("None", "v1", free, "v2", free), strings.Replace(only("None", "v1", free, "v2", free), "name: v1\n      served: true", "name: v1\n      served: false", 1), object("v1", "{class: p}"), object("v1", "{class: p}"),
			[]string{"error x.yaml:2: document 1, Widget a/x: apiVersion: the CRD of Widget does not serve the version \"v1\""}},
		{"in a version that was not served before", "the change does not bring it", unserved(locked), unserved(free), object("v1", "{class: p}"), object("v1", "{class: p}"), nil},
		{"to a version of no CRD", "the object is mistaken", only("None", "v1", locked), only("None", "v1", locked), object("v1", "{class: p}"), object("v2", "{class: q}"),
			[]string{"error x.yaml:2: document 1, Widget a/x: apiVersion: the CRD of Widget has no version \"v2\"; its versions are v1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, map[string]string{"crd.yaml": test.newCRD, "x.yaml": test.new}, map[string]string{"crd.yaml": test.oldCRD, "x.yaml": test.old}, Options{})
			got := slices.Compact(found(r))
			for i, line := range got { // what follows are CEL's words
				got[i], _, _ = strings.Cut(line, ": rule compile error")
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestDroppedVersions: a CRD cannot drop a version in which objects may be stored.
func TestDroppedVersions(t *testing.T) {
	both := widgets("None", "class: {type: string}", "class: {type: string}")
	head, _, _ := strings.Cut(both, "\n    - name: v2")
	first := head[strings.Index(head, "\n    - name: v1"):]
	without := func(version string) string {
		if version == "v2" {
			return head
		}
		return strings.Replace(both, first, "", 1)
	}
	stored := func(crd, version string) string {
		crd = strings.ReplaceAll(crd, "storage: true", "storage: false")
		i := strings.Index(crd, "name: "+version)
		return crd[:i] + strings.Replace(crd[i:], "storage: false", "storage: true", 1)
	}
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason string
		old, new     string
		want         []string
	}{
		{"the stored one", "the server refuses it", stored(both, "v1"), stored(without("v1"), "v2"), []string{"widgets.example.com spec.versions rule [a version that objects were stored in stays in the list]"}},
		{"a served one", "objects may have been stored in it before", stored(both, "v1"), stored(without("v2"), "v1"), []string{"unknown widgets.example.com spec.versions"}},
		{"one that is not served", "as before", strings.Replace(stored(both, "v1"), "name: v2\n      served: true", "name: v2\n      served: false", 1), stored(without("v2"), "v1"), nil},
		{"none", "", stored(both, "v1"), stored(both, "v2"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, map[string]string{"crd.yaml": test.new}, map[string]string{"crd.yaml": test.old}, Options{Builtin: kinds})
			if diff := cmp.Diff(test.want, found(r), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
