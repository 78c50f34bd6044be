package celrule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// lintCase is a case of testdata/lint.yaml.
type lintCase struct {
	Name, Reason string
	Spec         json.RawMessage
	Findings     []struct {
		Path, Rule, Message string
		Fix                 string // part of its text
		Safe                bool
		Refuses             string // part of it
		NoFix               bool   `json:"no-fix"`
	}
	// ReadsLocks is set if a lock closes the hole, which the API server does not know.
	ReadsLocks bool `json:"reads-locks"`
}

func TestLint(t *testing.T) {
	var cases []lintCase
	readCases(t, "testdata/lint.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			v := version(t, c.Name, c.Spec)
			got := Lint(v.schema)
			for i, f := range got {
				if i >= len(c.Findings) || f.Path != c.Findings[i].Path || f.Rule != c.Findings[i].Rule || !strings.Contains(f.Message, c.Findings[i].Message) {
					t.Errorf("finding %d is %s at %s: %s (%s)", i, f.Rule, f.Path, f.Message, c.Reason)
				}
				if f.Severity != immutability.SeverityWarning || f.Rule != rule.DeadRule && len(f.Fields) == 0 {
					t.Errorf("finding %+v is no warning, or names no field", f)
				}
				if f.Fix != nil && strings.HasSuffix(f.Message, " required") {
					t.Errorf("finding %d has a fix, and asks for more: %s", i, f.Message)
				}
				if i < len(c.Findings) && c.Findings[i].NoFix && f.Fix != nil {
					t.Errorf("finding %d has the fix %q (%s)", i, f.Fix.Text, c.Reason)
				}
				if i < len(c.Findings) && c.Findings[i].Fix != "" {
					if f.Fix == nil || !strings.Contains(f.Fix.Text, c.Findings[i].Fix) || f.Fix.Safe != c.Findings[i].Safe || !strings.Contains(f.Fix.Refuses, c.Findings[i].Refuses) {
						t.Errorf("finding %d has the fix %+v, want %q", i, f.Fix, c.Findings[i].Fix)
						continue
					}
					fixed := Apply(v.schema, []Change{{SchemaPath: f.Fix.SchemaPath, AddRules: f.Fix.AddRules}})
					for _, left := range Lint(fixed) {
						if left.Path == f.Path && left.Rule == f.Rule {
							t.Errorf("the fix %q does not close the hole", f.Fix.Text)
						}
					}
				}
				if f.Rule != rule.DeadRule {
					proveHole(t, "v1", map[string]*spec.Schema{"v1": v.schema}, f)
				}
			}
			if len(got) < len(c.Findings) {
				t.Errorf("%d findings, want %d (%s)", len(got), len(c.Findings), c.Reason)
			}
			if !c.ReadsLocks {
				proveSilence(t, v, got, 300)
			}
		})
	}
}

func TestLintVersions(t *testing.T) {
	var cases []struct {
		Name, Reason string
		Webhook      bool
		Versions     map[string]json.RawMessage
		Findings     []struct {
			Version, Path, Rule, Message string
			Fix                          string // its text
			Safe                         bool
		}
	}
	readCases(t, "testdata/versions.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			served, of := map[string]*spec.Schema{}, &crd.CRD{Conversion: "None"}
			for name, schema := range c.Versions {
				served[name] = version(t, c.Name, schema).schema
				of.Versions = append(of.Versions, &crd.Version{Name: name, Schema: served[name], Served: true})
			}
			if c.Webhook {
				of.Conversion = "Webhook"
			}
			found := LintVersions(of)
			holes := new(Audit).HolesBetween(of)
			for name, list := range found {
				if len(list) == 0 || len(list) != len(holes[name]) {
					t.Errorf("version %s: %d findings of %d holes", name, len(list), len(holes[name]))
				}
			}
			if len(found) != len(holes) {
				t.Errorf("findings of %d versions, holes of %d", len(found), len(holes))
			}
			for _, want := range c.Findings {
				list := found[want.Version]
				if len(list) == 0 {
					t.Errorf("no finding %s of version %s (%s)", want.Rule, want.Version, c.Reason)
					continue
				}
				f := list[0]
				if note := f.Severity == immutability.SeverityNote; note != c.Webhook {
					t.Errorf("version %s: severity %s (%s)", want.Version, f.Severity, c.Reason)
				} else if !note {
					proveHole(t, want.Version, served, f)
				}
				if (f.Fix == nil) != (want.Fix == "") || f.Fix != nil && (f.Fix.Text != want.Fix || f.Fix.Safe != want.Safe || f.Fix.Version != want.Version) {
					t.Errorf("version %s: fix %+v, want %q (%s)", want.Version, f.Fix, want.Fix, c.Reason)
				}
				if f.Path != want.Path || f.Rule != want.Rule || !strings.Contains(f.Message, want.Message) {
					t.Errorf("version %s: %s at %s: %s (%s)", want.Version, f.Rule, f.Path, f.Message, c.Reason)
				}
				found[want.Version] = list[1:]
			}
			for name, list := range found {
				for _, f := range list {
					t.Errorf("version %s: unexpected %s at %s: %s (%s)", name, f.Rule, f.Path, f.Message, c.Reason)
				}
			}
		})
	}
}

// TestFixOfAnAbsentField: where a rule also refuses to set a field, every object with spec has something that is guarded.
func TestFixOfAnAbsentField(t *testing.T) {
	for _, c := range []struct{ name, rule, fix string }{
		{"set once", "!has(oldSelf.f) || has(self.f) && self.f == oldSelf.f", "'!has(oldSelf.spec) || !has(oldSelf.spec.f) || has(self.spec)'"},
		{"never set", "has(self.f) == has(oldSelf.f) && (!has(self.f) || self.f == oldSelf.f)", "'!has(oldSelf.spec) || has(self.spec)'"},
	} {
		s := new(spec.Schema)
		text := fmt.Sprintf(`{"type": "object", "properties": {"spec": {"type": "object",
			"x-kubernetes-validations": [{"rule": %q}], "properties": {"f": {"type": "string"}}}}}`, c.rule)
		if err := json.Unmarshal([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		findings := Lint(s)
		if len(findings) != 1 || findings[0].Fix == nil || !strings.Contains(findings[0].Fix.Text, c.fix) {
			t.Errorf("%s: %+v, want the fix %s", c.name, findings, c.fix)
			continue
		}
		if left := Lint(Apply(s, []Change{{SchemaPath: findings[0].Fix.SchemaPath, AddRules: findings[0].Fix.AddRules}})); len(left) > 0 {
			t.Errorf("%s: the fix leaves %+v", c.name, left)
		}
	}
}

// TestMarker: a text keeps its meaning in the quotes of a marker, on one line.
func TestMarker(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a plain text", "self == oldSelf", `"self == oldSelf"`},
		{"quotes", `self != "a"`, "`self != \"a\"`"},
		{"a backquote", "self != '`'", `"self != '` + "`" + `'"`},
		{"quotes and a backquote", "self != \"`\"", `"self != \"` + "`" + `\""`},
		{"quotes on two lines", "self !=\n\"a\"", `"self !=\n\"a\""`},
	} {
		if got, want := marker(map[string]any{"rule": c.text}), "// +kubebuilder:validation:XValidation:rule="+c.want; got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

// TestUnknownFieldsInCEL shows the one defect of CEL's == that locks do not share: an unknown field is compared only
// where both sides have it. It is why import leaves such rules, and export such locks.
func TestUnknownFieldsInCEL(t *testing.T) {
	cel := version(t, "rule", []byte(`{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}`))
	lock := version(t, "lock", []byte(`{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-immutable": true}`))
	oldObj := map[string]any{"spec": map[string]any{"a": int64(1)}}
	newObj := map[string]any{"spec": map[string]any{"b": int64(1)}}
	if ok, err := judgeOf(t, cel.schema, nil).accepts(t, newObj, oldObj); !ok {
		t.Errorf("CEL refuses {a: 1} → {b: 1}: %v; if that is so from now on, import and export can say such locks", err)
	}
	if violations := immutability.MustCompile(lock.schema).ValidateUpdate(newObj, oldObj); len(violations) == 0 {
		t.Error("the lock accepts {a: 1} → {b: 1}")
	}
}
