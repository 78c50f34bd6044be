package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldlock/fieldlock/internal/policy"
)

// policyOf is a bound policy for widgets with variables and validations.
func policyOf(variables, validations []string) []policy.Document {
	var vars, all []any
	for i, text := range variables {
		vars = append(vars, map[string]any{"name": fmt.Sprint("v", i), "expression": text})
	}
	for _, text := range validations {
		all = append(all, map[string]any{"expression": text})
	}
	document := func(kind string, spec map[string]any) policy.Document {
		return policy.Document{InNew: true, InOld: true, Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": "p"}, "spec": spec,
		}}
	}
	return []policy.Document{
		document("ValidatingAdmissionPolicy", map[string]any{"variables": vars, "validations": all, "matchConstraints": map[string]any{"resourceRules": []any{
			map[string]any{"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"UPDATE"}, "resources": []any{"*"}},
		}}}),
		document("ValidatingAdmissionPolicyBinding", map[string]any{"policyName": "p", "validationActions": []any{"Deny"}}),
	}
}

// TestHostile: policies that a naive reading takes forever on, or that break it.
func TestHostile(t *testing.T) {
	doubled := []string{"oldObject.spec.class == object.spec.class ? 1 : 0"}
	for i := range 60 {
		doubled = append(doubled, fmt.Sprintf("variables.v%d + variables.v%d", i, i))
	}
	// Each of them reads a field that only the server sets.
	atoms := make([]string, 200)
	for i := range atoms {
		atoms[i] = fmt.Sprintf("has(oldObject.status.a%d)", i)
	}
	for _, row := range []struct {
		name                   string
		variables, validations []string
		refused, unknown       int
	}{
		{"variables that use others twice", doubled, []string{"variables.v60 > 0"}, 1, 0},
		{"many atoms", nil, []string{strings.Join(atoms, " || ")}, 0, 1},
		{"many conjuncts", nil, []string{"(" + strings.Join(atoms, ") && (") + ")"}, 0, 1},
		{"choices within choices", nil, []string{strings.Repeat("(has(oldObject.status) ? object.spec.class == 'a' : ", 50) + "true" + strings.Repeat(")", 50)}, 0, 1},
		{"a variable of a macro that hides another one", nil, []string{"oldObject.spec.tags.all(object, object == 'x') || object.spec.class == 'a'"}, 0, 0},
		{"what a variable of a macro holds", nil, []string{"[oldObject].all(o, o.metadata.uid == '' || o.spec.class == 'a')"}, 0, 1},
		{"an unknown variable", nil, []string{"oldObject == null || variables.none"}, 0, 1},
		{"a recursive variable", []string{"variables.v0 || oldObject == null"}, []string{"variables.v0"}, 0, 1},
		{"no expression", nil, []string{"oldObject != null", ""}, 0, 1},
		{"control characters", nil, []string{"oldObject == null\x00"}, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			obj := func(class string) map[string]any {
				return map[string]any{
					"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "x", "namespace": "ns"},
					"spec": map[string]any{"class": class, "tags": []any{"x"}},
				}
			}
			u := &policy.Update{New: obj("b"), Old: obj("a"), Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true, Versions: []string{"v1"}}
			set := policy.NewSet(policyOf(row.variables, row.validations), func(string, string) (namespaced, known bool) { return false, false })
			start := time.Now()
			v := set.Check(u)
			if len(v.Refused) != row.refused || len(v.Unknown) != row.unknown {
				t.Errorf("got %+v", v)
			}
			if elapsed := time.Since(start); elapsed > 20*time.Second {
				t.Errorf("it takes %v", elapsed)
			}
		})
	}
}

// TestNilSet: without policies nothing is refused.
func TestNilSet(t *testing.T) {
	var s *policy.Set
	if v := s.Check(&policy.Update{}); v.Refused != nil || v.Unknown != nil || v.Notes != nil || s.Warnings() != nil {
		t.Errorf("%+v", v)
	}
	if s := policy.NewSet(nil, nil); s != nil {
		t.Errorf("%+v", s)
	}
}
