package immutability_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
)

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
		for _, order := range []immutability.Option{immutability.WithMapListOrder(immutability.Significant), immutability.WithMapListOrder(immutability.Ignored)} {
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
