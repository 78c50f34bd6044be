package kind

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestNewGuard: a field that takes no lock is left out of a guard, and a schema with mistakes of its own has none.
func TestNewGuard(t *testing.T) {
	const set = `"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object","properties":{"x":{"type":"string"}}}}`
	for _, row := range []struct {
		name, schema string
		paths        []string
		guards       bool
	}{
		{"a field", `{"type":"object","properties":{"a":{"type":"string"}}}`, []string{"/properties/a"}, true},
		{"no field", `{"type":"object","properties":{"a":{"type":"string"}}}`, []string{""}, false},
		{"a field and an item of a set", `{"type":"object","properties":{"a":{"type":"string"},` + set + `}}`, []string{"/properties/a", "/properties/s/items"}, true},
		{"an item of a set", `{"type":"object","properties":{` + set + `}}`, []string{"/properties/s/items"}, false},
		{"a mistake elsewhere", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","x-kubernetes-immutable":false}}}`, []string{"/properties/a"}, false},
	} {
		var s spec.Schema
		if err := json.Unmarshal([]byte(row.schema), &s); err != nil {
			t.Fatal(err)
		}
		if guard := newGuard(&s, row.paths); (guard != nil) != row.guards {
			t.Errorf("%s: the guard is %v", row.name, guard)
		}
	}
}
