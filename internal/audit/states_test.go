package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestTwoSteps: rules of any form that two updates get around, each with objects that the API server's validator
// judges.
func TestTwoSteps(t *testing.T) {
	data, err := os.ReadFile("testdata/states.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Reason string
		Spec         any
		Findings     []struct{ Rule, Severity, Path, Change string }
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			spec, err := yaml.Marshal(c.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if spec, err = yaml.YAMLToJSON(spec); err != nil {
				t.Fatal(err)
			}
			list := crds(t, "c.yaml", "Widget", "None", string(spec))
			r, err := CRDs(list, nil, Options{Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for i := range r.Findings {
				f := &r.Findings[i]
				if f.Rule != finding.CELTwoSteps {
					continue
				}
				if found++; found > len(c.Findings) {
					t.Fatalf("%s: %s (%s)", f.Path, f.Message, c.Reason)
				}
				want := c.Findings[found-1]
				if string(f.Severity) != want.Severity || f.Path != want.Path || !strings.Contains(f.Message, want.Change) {
					t.Errorf("%s at %s: %s, want %+v (%s)", f.Severity, f.Path, f.Message, want, c.Reason)
				}
				proveSteps(t, witness.FromCRD(list[0], nil), f.Witness)
			}
			if found < len(c.Findings) {
				t.Errorf("%d findings, want %d (%s)", found, len(c.Findings), c.Reason)
			}
		})
	}
}

// TestStatusLocks: CEL rules that no first write of the status passes, and others.
func TestStatusLocks(t *testing.T) {
	for _, c := range []struct {
		name, rule, status string
		want               bool
	}{
		{"presence stays", "has(self.status) == has(oldSelf.status)", "", true},
		{"may not be added", "!has(self.status) || has(oldSelf.status)", "", true},
		{"equality without has", "self.status == oldSelf.status", "", true},
		{"a field of both", "self.status.phase == oldSelf.status.phase", "", true},
		{"equality where both are there", "!has(oldSelf.status) || self.status == oldSelf.status", "", false},
		{"a field that is there", "!has(oldSelf.status) || !has(oldSelf.status.phase) || self.status.phase == oldSelf.status.phase", "", false},
		{"only some values", "has(oldSelf.status) || !has(self.status) || self.status.phase == 'New'", "", false},
		{"a value that the schema does not have", "has(oldSelf.status) || !has(self.status) || self.status.phase == 'Other'", "", true},
		{"the spec decides", "self.spec.f == 'x' || has(self.status) == has(oldSelf.status)", "", false},
		{"about the spec", "self.spec == oldSelf.spec", "", false},
		{"a status from the beginning", "has(self.status) == has(oldSelf.status)", "default: {phase: New}, ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  group: example.com\n" +
				"  scope: Namespaced\n  names: {kind: Widget, plural: widgets}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
				"    subresources: {status: {}}\n    schema:\n      openAPIV3Schema:\n        type: object\n        required: [spec]\n        x-kubernetes-validations:\n" +
				"        - rule: \"" + c.rule + "\"\n        properties:\n          spec: {type: object, required: [f], properties: {f: {type: string}}}\n" +
				"          status: {type: object, " + c.status + "required: [phase], properties: {phase: {type: string, enum: [New, Done]}}}\n"
			list, err := crd.Read("c.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			r, err := CRDs(list, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.ContainsFunc(r.Findings, func(f Finding) bool {
				return f.Rule == finding.StatusLock && f.Severity == immutability.SeverityError && f.Path == ""
			})
			if got != c.want || r.Refused() != c.want {
				t.Errorf("an error: %v, want %v: %v", got, c.want, findings(r))
			}
		})
	}
}

// proveSteps wants every step of a witness to be accepted, and the direct update to be refused.
func proveSteps(t *testing.T, k *witness.Kind, w *witness.Witness) {
	t.Helper()
	if w == nil || len(w.Objects) < 3 {
		t.Fatalf("the witness is %+v", w)
	}
	for i, obj := range w.Objects[1:] {
		refused, mistakes, err := k.Update(obj, w.Objects[i])
		if err != nil || len(mistakes)+len(refused) > 0 {
			t.Errorf("step %d is refused: %v %+v, %v", i+1, mistakes, refused, err)
		}
	}
	refused, mistakes, err := k.Update(w.Objects[len(w.Objects)-1], w.Objects[0])
	if err != nil || len(mistakes) > 0 || len(refused) == 0 {
		t.Errorf("the direct update: %v %+v, %v", mistakes, refused, err)
	}
}
