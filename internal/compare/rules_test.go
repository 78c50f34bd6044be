package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// TestRuleDecides runs the cases of testdata/rules.yaml: the server's validator decides, and locks give names.
func TestRuleDecides(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Reason   string
		Spec, Old, New json.RawMessage
		Want           []string // each "path lock [rules]"
		Refused        bool     // by the rule or a lock that equals it, whichever; Want is left out
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			crd := rulesCRD(string(c.Spec))
			r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", string(c.New))},
				map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", string(c.Old))}, Options{})
			var got []string
			for _, line := range found(r) {
				got = append(got, strings.TrimPrefix(line, "a/x "))
			}
			if len(r.Errors) > 0 || c.Refused != (len(got) > 0) && c.Want == nil || c.Want != nil && !slices.Equal(got, c.Want) {
				t.Errorf("%s: got %q and the errors %v, want %q, refused %v", c.Reason, got, r.Errors, c.Want, c.Refused)
			}
		})
	}
}

// rulesCRD is a CRD of Widgets with one version, whose spec has a schema as JSON.
func rulesCRD(spec string) string {
	return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"}, "spec": {
		"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}, "versions": [{"name": "v1", "served": true, "storage": true,
		"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ` + spec + `}}}}]}}`
}

// TestRealRules: updates of real custom resources that the rules refuse although they were once read as weaker locks.
func TestRealRules(t *testing.T) {
	realcrds.Files(t) // skips the test if there are none
	for _, c := range []struct{ name, file, apiVersion, kind, old, new, want string }{
		{"a token is removed", "kong-operator/konnectapiauthconfigurations.konnect.konghq.com.yaml", "konnect.konghq.com/v1alpha1", "KonnectAPIAuthConfiguration",
			"{type: token, token: kpat_1, serverURL: eu.api.konghq.com}", "{type: token, serverURL: eu.api.konghq.com}", ""},
		{"a reference loses its namespace", "external-snapshotter/volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io.yaml", "groupsnapshot.storage.k8s.io/v1beta2", "VolumeGroupSnapshotContent",
			"{deletionPolicy: Delete, driver: d, source: {volumeHandles: [a]}, volumeGroupSnapshotRef: {name: a, namespace: b}}",
			"{deletionPolicy: Delete, driver: d, source: {volumeHandles: [a]}, volumeGroupSnapshotRef: {name: a}}", "spec.volumeGroupSnapshotRef"},
	} {
		data, err := os.ReadFile(filepath.Join("../../../shared/crds", c.file))
		if err != nil {
			t.Fatal(err)
		}
		object := func(spec string) string {
			return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: x, namespace: a}, spec: %s}", c.apiVersion, c.kind, spec)
		}
		r := check(t, map[string]string{"crd.yaml": string(data), "x.yaml": object(c.new)}, map[string]string{"crd.yaml": string(data), "x.yaml": object(c.old)}, Options{})
		if r.Allowed || !slices.ContainsFunc(r.Violations, func(v result.Violation) bool { return strings.HasPrefix(v.Path, c.want) && v.Rule != "" }) {
			t.Errorf("%s: got %q, %v", c.name, found(r), r.Errors)
		}
	}
}

// TestManyRefusals: a report of rules is bounded as that of locks is.
func TestManyRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes reports of 10,000 violations")
	}
	const maxViolations = 10_000 // of one object
	crd := rulesCRD(`{"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}},
		"n": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}}`)
	var olds, news []string
	for i := range maxViolations + 10 {
		olds, news = append(olds, fmt.Sprintf(`"k%d": 2`, i)), append(news, fmt.Sprintf(`"k%d": 1`, i))
	}
	for _, field := range []string{"m", "n"} {
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", `{"`+field+`": {`+strings.Join(news, ", ")+`}}`)},
			map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", `{"`+field+`": {`+strings.Join(olds, ", ")+`}}`)}, Options{})
		if len(r.Violations) != maxViolations || r.MoreViolations != 10 {
			t.Errorf("%s: %d violations and %d more, %v", field, len(r.Violations), r.MoreViolations, r.Errors)
		}
	}
}
