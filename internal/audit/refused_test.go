package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRefusedRules: what an API server says of a CRD's rules, each at its place in the file.
func TestRefusedRules(t *testing.T) {
	data, err := os.ReadFile("testdata/refused.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Reason string
		Specs        []string
		Findings     []struct{ Rule, Path, Message string }
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		r, err := CRDs(crds(t, "c.yaml", "Widget", "None", c.Specs...), nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Severity != "error" })
		if len(got) != len(c.Findings) || r.Refused() != (len(c.Findings) > 0) {
			t.Errorf("%s: %+v, want %q (%s)", c.Name, got, c.Findings, c.Reason)
			continue
		}
		for i, want := range c.Findings {
			if f := got[i]; f.Rule != want.Rule || f.Path != want.Path || !strings.Contains(f.Message, want.Message) || f.Position.Line < 10 {
				t.Errorf("%s: %+v, want %q (%s)", c.Name, f, want, c.Reason)
			}
		}
	}
}

// TestRefusedRulesAreBounded: a CRD with too many rules is not validated, and the report says so.
func TestRefusedRulesAreBounded(t *testing.T) {
	rules := strings.TrimSuffix(strings.Repeat("{rule: 'self.x == 1'}, ", maxValidated/100), ", ")
	c := crds(t, "c.yaml", "Widget", "None", "{type: object, properties: {x: {type: integer}}, x-kubernetes-validations: ["+rules+"]}")[0]
	if findings, done := refusedRules(c, new(memory)); done || findings != nil {
		t.Errorf("%d findings, done %v", len(findings), done)
	}
	if f, ok := notLookedAt(c, nil, nil, false); !ok || !strings.Contains(f.Message, "whether an API server takes the rules") {
		t.Errorf("%v %+v", ok, f)
	}
}
