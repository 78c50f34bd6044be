package audit

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestTwoSteps: rules of any form that two updates get around, each with objects that the API server's validator judges.
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
				if f.Rule != rule.CELTwoSteps {
					continue
				}
				if found++; found > len(c.Findings) {
					t.Fatalf("%s: %s (%s)", f.Path, f.Message, c.Reason)
				}
				want := c.Findings[found-1]
				if string(f.Severity) != want.Severity || f.Path != want.Path || !strings.Contains(f.Message, want.Change) {
					t.Errorf("%s at %s: %s, want %+v (%s)", f.Severity, f.Path, f.Message, want, c.Reason)
				}
				proveSteps(t, witness.FromCRD(list[0]), f.Witness)
			}
			if found < len(c.Findings) {
				t.Errorf("%d findings, want %d (%s)", found, len(c.Findings), c.Reason)
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
		verdict, err := k.Update(obj, w.Objects[i])
		if err != nil || len(verdict.Invalid)+len(verdict.Refused) > 0 {
			t.Errorf("step %d is refused: %+v, %v", i+1, verdict, err)
		}
	}
	verdict, err := k.Update(w.Objects[len(w.Objects)-1], w.Objects[0])
	if err != nil || len(verdict.Invalid) > 0 || len(verdict.Refused) == 0 {
		t.Errorf("the direct update: %+v, %v", verdict, err)
	}
}
