package immutability_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
)

// TestZeroReport: what was not checked is not allowed, whichever way the caller asks.
func TestZeroReport(t *testing.T) {
	v := immutability.MustCompile(&spec.Schema{})
	failed, err := v.CheckJSON([]byte(`{"spec":`), []byte(`{}`))
	if err == nil {
		t.Fatal("half a document is taken for an object")
	}
	for name, r := range map[string]immutability.Report{"zero": {}, "of an error": failed} {
		if r.Allowed() {
			t.Errorf("%s: allowed", name)
		}
		if errs := r.ErrorList(); len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal {
			t.Errorf("%s: %v", name, errs)
		}
		if status := r.Status(schema.GroupKind{Kind: "Thing"}, "a", http.StatusUnprocessableEntity); status == nil || status.Code != 500 {
			t.Errorf("%s: %v", name, status)
		}
	}
	if errs, err := v.ValidateUpdateJSON([]byte(`[]`), []byte(`{}`)); err == nil || len(errs) != 1 {
		t.Errorf("a list is taken for an object: %v, %v", errs, err)
	}
	for name, r := range map[string]immutability.Report{"without locks": v.Check(nil, nil), "a report with violations": {Violations: []immutability.Violation{{}}}} {
		if want := len(r.Violations); len(r.ErrorList()) != want || r.Allowed() != (want == 0) {
			t.Errorf("%s: %v", name, r.ErrorList())
		}
	}
}

// TestZeroValidator: without a schema nothing can be checked, and nothing is allowed.
func TestZeroValidator(t *testing.T) {
	var v immutability.Validator
	if v.Empty() {
		t.Error("callers would skip the check")
	}
	if errs := v.ValidateUpdate(nil, nil); len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal {
		t.Errorf("ValidateUpdate: %v", errs)
	}
	if errs, err := v.ValidateUpdateJSON([]byte(`{}`), []byte(`{}`)); err == nil || len(errs) != 1 {
		t.Errorf("ValidateUpdateJSON: %v, %v", errs, err)
	}
	if v.Check(nil, nil).Allowed() {
		t.Error("Check allows an update")
	}
	if r, err := v.CheckJSON([]byte(`{}`), []byte(`{}`)); err == nil || r.Allowed() {
		t.Errorf("CheckJSON: %v, %v", r, err)
	}
}

// TestNilContainers: a nil map or slice is null, as it encodes: with any lock, and in reports too.
func TestNilContainers(t *testing.T) {
	values := []any{nil, map[string]any(nil), []any(nil), map[string]any{}, []any{}, map[string]any{"a": int64(1)}, []any{"a"}, []any{map[string]any{"a": "x"}}, []any{nil}}
	for _, text := range []string{
		`{type: object, x-kubernetes-immutable: true, additionalProperties: {type: integer}}`,
		`{type: object, x-kubernetes-immutable: true, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`,
		`{type: object, x-fieldlock-update: [NoSet, NoUnset, NoModify], properties: {a: {type: integer}}}`,
		`{type: object, x-kubernetes-immutable-keys: true, additionalProperties: {type: integer, x-kubernetes-immutable: true}}`,
		`{type: object, properties: {a: {x-kubernetes-immutable: true}}}`,
		`{type: array, x-kubernetes-immutable: true, items: {type: string}}`,
		`{type: array, x-kubernetes-immutable: true, x-kubernetes-list-type: set, items: {type: string}}`,
		`{type: array, x-kubernetes-immutable: true, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object, required: [a], properties: {a: {type: string}}}}`,
		`{type: array, x-kubernetes-immutable-keys: true, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object, required: [a], properties: {a: {type: string, x-kubernetes-immutable: true}}}}`,
		`{type: array, x-fieldlock-update: [NoAddItem, NoRemoveItem], x-kubernetes-list-type: set, items: {type: string}}`,
		`{type: array, items: {type: object, x-kubernetes-immutable: true}}`,
	} {
		var s spec.Schema
		if err := yaml.Unmarshal([]byte("{type: object, properties: {v: "+text+"}}"), &s); err != nil {
			t.Fatal(err)
		}
		for _, order := range []immutability.Option{immutability.WithMapListOrder(""), immutability.WithMapListOrder(immutability.MapListOrderIgnored)} {
			v := immutability.MustCompile(&s, order)
			for _, newVal := range values {
				for _, oldVal := range values {
					newObj, oldObj := map[string]any{"v": newVal}, map[string]any{"v": oldVal}
					want := v.Check(decodedAgain(t, newObj), decodedAgain(t, oldObj))
					if diff := cmp.Diff(reportText(want), reportText(v.Check(newObj, oldObj))); diff != "" {
						t.Errorf("%s: %#v from %#v (-null +nil):\n%s", text, newVal, oldVal, diff)
					}
				}
			}
		}
	}
}

func decodedAgain(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// reportText lists the violations with their differences.
func reportText(r immutability.Report) (lines []string) {
	for i := range r.Violations {
		lines = append(lines, r.Violations[i].Path.String()+" "+string(r.Violations[i].Lock)+": "+r.Violations[i].Message())
	}
	return lines
}
