package witness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// holeCase is a case of testdata/witness.yaml.
type holeCase struct {
	Name, Reason string
	Hole         struct {
		Rule, Path string
		Fields     []string
	}
	Optional bool
	Root     json.RawMessage
	Schema   json.RawMessage
	Versions map[string]json.RawMessage
	Objects  []any
}

func TestFind(t *testing.T) {
	data, err := os.ReadFile("testdata/witness.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []holeCase
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			version := "v1"
			if c.Versions != nil {
				version = "v2"
			}
			k, hole := witness.FromCRD(c.crd(t), nil), witness.Hole{
				Version: version, Rule: c.Hole.Rule, SchemaPath: c.Hole.Path, Fields: c.Hole.Fields,
			}
			shown, ok := k.Show(hole, witness.Search)
			if !ok {
				shown, ok = k.Show(hole, witness.Thorough)
			}
			var w witness.Witness
			if ok {
				w = shown.Witness()
			}
			if ok != (c.Objects != nil) {
				t.Fatalf("a witness: %v (%s)\n%v", ok, c.Reason, w.Objects)
			}
			var got []any
			for i, obj := range w.Objects {
				if name, _ := obj["metadata"].(map[string]any)["name"].(string); name == "" || obj["kind"] != "Widget" {
					t.Errorf("object %d is not complete: %v", i, obj)
				}
				if want := "example.com/v1"; i != 1 && obj["apiVersion"] != want || i == 1 && obj["apiVersion"] != "example.com/"+version {
					t.Errorf("object %d is of %v", i, obj["apiVersion"])
				}
				got = append(got, obj["spec"])
			}
			if diff := cmp.Diff(jsonOf(t, c.Objects), jsonOf(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Reason, diff)
			}
			if ok && len(w.Refused) == 0 {
				t.Error("nothing says why the direct update is refused")
			}
		})
	}
}

// TestRefuses: a rule that can refuse an update is not dead, and one that cannot is not found to refuse anything.
func TestRefuses(t *testing.T) {
	for _, row := range []struct {
		name, schema string
		want         bool
	}{
		{"equality", `{"type": "object", "properties": {"f": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}`, true},
		{"order", `{"type": "object", "properties": {"f": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}}`, true},
		{"tautology", `{"type": "object", "properties": {"f": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf || self != oldSelf"}]}}}`, false},
		{"enum of one value", `{"type": "object", "properties": {"f": {"type": "string", "enum": ["x"], "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}`, false},
		{"covered by another rule", `{"type": "object", "properties": {"f": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf || self == 'x'"}, {"rule": "self == oldSelf"}]}}}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := witness.FromCRD((&holeCase{Schema: json.RawMessage(row.schema)}).crd(t), nil)
			if got := k.Refuses("v1", "/properties/spec/properties/f", 0); got != row.want {
				t.Errorf("the rule refuses an update: %v", got)
			}
		})
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// crd makes a CRD of the case.
func (c *holeCase) crd(t *testing.T) *crd.CRD {
	t.Helper()
	var versions []any
	add := func(name string, spec json.RawMessage) {
		root := map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}
		if !c.Optional {
			root["required"] = []any{"spec"}
		}
		if c.Root != nil {
			root["x-kubernetes-validations"] = c.Root
		}
		versions = append(versions, map[string]any{"name": name, "served": true, "storage": name == "v1", "schema": map[string]any{"openAPIV3Schema": root}})
	}
	add("v1", c.Schema)
	for name, spec := range c.Versions {
		add(name, spec)
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"}, "versions": versions},
	})
	if err != nil {
		t.Fatal(err)
	}
	crds, err := crd.Read(fmt.Sprint(c.Name), data)
	if err != nil || len(crds) != 1 {
		t.Fatal(crds, err)
	}
	return crds[0]
}
