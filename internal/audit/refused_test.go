package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
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
		r, err := CRDs(crds(t, "c.yaml", "Widget", "None", c.Specs...), nil, Options{Validate: validation.ValidateCustomResourceDefinition})
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
	if findings, done := Validation(validation.ValidateCustomResourceDefinition).refusedRules(c, new(memory)); done || findings != nil {
		t.Errorf("%d findings, done %v", len(findings), done)
	}
	if f, ok := notLookedAt(c, nil, 0, false); !ok || !strings.Contains(f.Message, "whether an API server takes the rules") {
		t.Errorf("%v %+v", ok, f)
	}
}

// TestTakes: rules are taken without the server's validation where it has no remark, and nowhere else.
func TestTakes(t *testing.T) {
	for _, c := range []struct{ name, spec string }{
		{"no rules", "{type: object}"},
		{"a rule", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', message: m, reason: FieldValueForbidden}]}"},
		{"a property", "{type: object, x-kubernetes-validations: [{rule: 'has(self.f)', fieldPath: .f}], properties: {f: {type: string}}}"},
		{"optional", "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: 'oldSelf.orValue(self) == self', optionalOldSelf: true}]}}}"},
		{"a list of keys", "{type: array, maxItems: 4, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, f: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}}"},
		{"a map", "{type: object, additionalProperties: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}"},
		{"blank rule", "{type: object, x-kubernetes-validations: [{rule: ' '}]}"},
		{"blank message", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', message: ' '}]}"},
		{"two lines of message", `{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', message: "a\nb"}]}`},
		{"two lines of rule", `{type: object, x-kubernetes-validations: [{rule: "self ==\noldSelf"}]}`},
		{"two lines of rule with a message", `{type: object, x-kubernetes-validations: [{rule: "self ==\noldSelf", message: m}]}`},
		{"blank messageExpression", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', messageExpression: ' '}]}"},
		{"messageExpression of a number", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', messageExpression: '1'}]}"},
		{"reason", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', reason: Odd}]}"},
		{"fieldPath of nothing", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', fieldPath: .f}], properties: {g: {type: string}}}"},
		{"optional without oldSelf", "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: \"self != 'a'\", optionalOldSelf: true}]}}}"},
		{"not a boolean", "{type: object, x-kubernetes-validations: [{rule: '1'}]}"},
		{"anyOf", "{type: object, properties: {f: {type: string}}, anyOf: [{properties: {f: {x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}]}"},
		{"an atomic list", "{type: array, maxItems: 4, items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}"},
		{"an atomic map", "{type: object, x-kubernetes-map-type: atomic, properties: {f: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}"},
		{"values without limit", "{type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: 'self.matches(self)'}]}}"},
		{"below an open object", "{type: object, additionalProperties: true, properties: {f: {type: string, maxLength: 99, x-kubernetes-validations: [{rule: 'self.matches(self)'}]}}}"},
	} {
		widget := crds(t, "c.yaml", "Widget", "None", c.spec)[0]
		errs, err := Validation(validation.ValidateCustomResourceDefinition).errors(widget, widget.Versions[0])
		if taken := new(memory).takes(widget.Versions[0].Schema); err != nil || taken != (len(errs) == 0) {
			t.Errorf("%s: taken %v, and the server says %v, %v", c.name, taken, errs, err)
		}
	}
}
