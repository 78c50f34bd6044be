package normalize_test

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/normalize"
)

// TestAbsent: which values count as absent, for every Go type that a decoder may give them.
func TestAbsent(t *testing.T) {
	zero := []any{nil}
	for _, row := range []struct {
		mode, kind string
		absent     []any
		present    []any
	}{
		{"zero", "integer", []any{int64(0), int(0), 0.0, json.Number("0"), json.Number("0.0")}, []any{int64(1), int(-1), 0.5, json.Number("1"), json.Number("x"), "", false, map[string]any{}, []any{}}},
		{"zero", "boolean", []any{false}, []any{true, int64(0), ""}},
		{"zero", "string", []any{""}, []any{"x", " ", int64(0), false}},
		{"zero", "array", []any{[]any{}, []any(nil)}, []any{[]any{nil}, "", map[string]any{}}},
		{"zero", "object", []any{map[string]any{}, map[string]any(nil)}, []any{map[string]any{"a": nil}, []any{}, ""}},
		{"undefined", "string", []any{map[string]any{}, []any{}}, []any{"", int64(0), int(0), 0.0, false, json.Number("0"), uint8(0)}},
	} {
		s := &spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{"p": {
			SchemaProps:      spec.SchemaProps{Type: []string{row.kind}},
			VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-normalize": row.mode}},
		}}}}
		n, err := normalize.Compile(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := n.Property("p")
		var a normalize.Absences
		for want, values := range map[bool][]any{true: append(zero, row.absent...), false: row.present} {
			for _, v := range values {
				if p.Absent(v) != want || a.Absent(p, v) != want {
					t.Errorf("%s %s: %#v counts as absent: want %t", row.mode, row.kind, v, want)
				}
				_, kept := n.Normalize(map[string]any{"p": v})["p"]
				if kept == want {
					t.Errorf("%s %s: %#v is kept: %t", row.mode, row.kind, v, kept)
				}
			}
		}
	}
}

// TestAbsences: asked about each level of a deep object, whose answer is at the bottom, it visits each level once.
func TestAbsences(t *testing.T) {
	s := &spec.Schema{}
	if err := json.Unmarshal([]byte(`{"properties":{"a":{"$ref":"#/definitions/A"}},
		"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-kubernetes-normalize":"undefined"}}}`), s); err != nil {
		t.Fatal(err)
	}
	n, err := normalize.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := n.Property("a")
	for _, bottom := range []map[string]any{{"l": "x"}, {}} {
		levels := []map[string]any{bottom}
		for range 1_000 {
			levels = append(levels, map[string]any{"a": levels[len(levels)-1]})
		}
		var a normalize.Absences
		for i := len(levels) - 1; i >= 0; i-- {
			if got := a.Absent(p, levels[i]); got != (len(bottom) == 0) {
				t.Fatalf("level %d is absent: %t", i, got)
			}
			a.Absent(p, levels[i])
		}
		if a.Visited() > 200*len(levels) {
			t.Errorf("%d visits for %d levels", a.Visited(), len(levels))
		}
		if got := n.Normalize(map[string]any{"a": levels[len(levels)-1]}); (got["a"] == nil) != (len(bottom) == 0) {
			t.Error("Normalize and Absent disagree")
		}
	}
}
