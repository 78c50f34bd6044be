package celrun

import (
	"fmt"
	"testing"
)

// TestShared: a rule is compiled once for the nodes of its type in all schemas, whatever else their rules and
// descriptions are. What is kept is bounded.
func TestShared(t *testing.T) {
	var shared Shared
	for i := range 2 * manyConverted {
		s := schemaOf(t, fmt.Sprintf(`{"type": "object", "properties": {"a": {"type": "object", "description": "%d", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "%d"}],
			"properties": {"b": {"type": "string", "x-kubernetes-validations": [{"rule": "self != '%d'"}]}}}}}`, i, i, i))
		obj := map[string]any{"a": map[string]any{"b": "x"}}
		got, err := New(s, nil).Strict(&shared).ValidateUpdate(obj, map[string]any{"a": map[string]any{"b": "y"}})
		if err != nil || len(got) != 1 || got[0].Message != fmt.Sprint(i) {
			t.Errorf("schema %d: %v, %v", i, got, err)
		}
		if want := 1 + i + 1; len(shared.nodes) != want || len(shared.converted) != 1+i%manyConverted {
			t.Fatalf("%d nodes, want %d; %d conversions", len(shared.nodes), want, len(shared.converted))
		}
	}
}
