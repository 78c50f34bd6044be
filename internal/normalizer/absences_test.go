package normalizer_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// compile returns the normalizer of s, which has no mistakes.
func compile(t *testing.T, s *spec.Schema) *normalizer.Normalizer {
	t.Helper()
	n, _, problems := normalizer.Compile(schema.Read(s, nil))
	if problems != nil {
		t.Fatal(problems)
	}
	return n
}

func schemaOf(t *testing.T, text string) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

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
		n := compile(t, s)
		p := n.Property("p")
		var a normalizer.Absences
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
	s := schemaOf(t, `{"properties":{"a":{"$ref":"#/definitions/A"}},
		"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-kubernetes-normalize":"undefined"}}}`)
	n := compile(t, s)
	p := n.Property("a")
	for _, bottom := range []map[string]any{{"l": "x"}, {}} {
		levels := []map[string]any{bottom}
		for range 1_000 {
			levels = append(levels, map[string]any{"a": levels[len(levels)-1]})
		}
		var a normalizer.Absences
		for i := len(levels) - 1; i >= 0; i-- {
			if got := a.Absent(p, levels[i]); got != (len(bottom) == 0) {
				t.Fatalf("level %d is absent: %t", i, got)
			}
			a.Absent(p, levels[i])
		}
		if n := a.Visited(); n > 200*len(levels) || n < len(levels) {
			t.Errorf("%d visits for %d levels", n, len(levels))
		}
		if got := n.Normalize(map[string]any{"a": levels[len(levels)-1]}); (got["a"] == nil) != (len(bottom) == 0) {
			t.Error("Normalize and Absent disagree")
		}
	}
}

// TestAbsencesAgree: Absences answers as Property does, however many members objects have and wherever the one is that
// does not count as absent.
func TestAbsencesAgree(t *testing.T) {
	s := schemaOf(t, `{"properties":{"p":{"$ref":"#/definitions/P"}},"definitions":{"P":{"type":"object","x-kubernetes-normalize":"zero",
		"properties":{"p":{"$ref":"#/definitions/P"},"n":{"type":"integer","x-kubernetes-normalize":"zero"},"l":{"type":"array","x-kubernetes-normalize":"undefined"},"free":{}}}}}`)
	for i := range 200 {
		s.Definitions["P"].Properties["n"+strconv.Itoa(i)] = s.Definitions["P"].Properties["n"]
	}
	n := compile(t, s)
	p := n.Property("p")
	empty := func(members int) map[string]any {
		object := map[string]any{}
		for i := range members {
			object["n"+strconv.Itoa(i)] = nil
		}
		return object
	}
	with := func(object map[string]any, key string, v any) map[string]any { object[key] = v; return object }
	for _, size := range []int{0, 1, 63, 64, 65, 200} {
		for _, v := range []any{
			empty(size), with(empty(size), "n", int64(1)), with(empty(size), "p", empty(size)), with(empty(size), "p", with(empty(size), "free", "x")),
			with(map[string]any{"n": int64(0), "l": []any{}}, "p", empty(0)),
			with(map[string]any{"n": int64(0), "l": []any{}}, "p", map[string]any{"n": int64(0)}),
			with(map[string]any{"n": int64(1)}, "p", empty(0)),
			with(map[string]any{"l": []any{nil}}, "p", empty(0)),
			with(map[string]any{"free": nil}, "p", empty(0)),
			with(map[string]any{"n": int64(0)}, "p", with(empty(0), "l", "x")),
			with(map[string]any{"n": int64(0)}, "p", with(empty(0), "p", []any{})),
			[]any{}, "", int64(0),
		} {
			// The same members some levels down, among many that are absent.
			for _, deep := range []any{v, map[string]any{"p": v}, map[string]any{"p": map[string]any{"p": v}, "l": []any{}, "n": nil}} {
				if object, ok := deep.(map[string]any); ok {
					chain := object
					for range size {
						chain = map[string]any{"p": chain, "l": []any{}}
					}
					deep = chain
				}
				var a normalizer.Absences
				for range 2 {
					if got, want := a.Absent(p, deep), p.Absent(deep); got != want {
						t.Errorf("size %d: %v is absent: %t, want %t", size, v, got, want)
					}
				}
				if object, ok := deep.(map[string]any); ok && len(object) > 0 && a.Visited() == 0 {
					t.Errorf("size %d: %v: no visit is counted", size, v)
				}
			}
		}
	}
}

// TestBelow: marks on items of lists and values of maps apply to each, and the presence of a property is found by its
// location.
func TestBelow(t *testing.T) {
	tree := schema.Read(schemaOf(t, `{
		"properties": {
			"list": {"type": "array", "items": {"$ref": "#/definitions/T"}},
			"map": {"type": "object", "additionalProperties": {"$ref": "#/definitions/T"}},
			"nested": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/definitions/T"}}},
			"free": {"type": "array", "items": {"type": "object", "properties": {"tags": {"type": "array"}}}}
		},
		"definitions": {"T": {"type": "object", "properties": {"name": {}, "tags": {"type": "array", "x-kubernetes-normalize": "undefined"}}}}}`), nil)
	n, presence, problems := normalizer.Compile(tree)
	if problems != nil {
		t.Fatal(problems)
	}
	object := func() map[string]any { return map[string]any{"name": []any{}, "tags": []any{}} }
	got := n.Normalize(map[string]any{"list": []any{object()}, "map": map[string]any{"k": object()}, "nested": []any{[]any{object()}}, "free": []any{object()}})
	named := map[string]any{"name": []any{}}
	want := map[string]any{"list": []any{named}, "map": map[string]any{"k": named}, "nested": []any{[]any{named}}, "free": []any{object()}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, l := range tree.All {
		marked := l.Name == "tags" && l.Path.String() != "free[*].tags"
		if presence[l].Absent([]any{}) != marked {
			t.Errorf("%s: want marked %t", l.Path, marked)
		}
	}
	var none *normalizer.Normalizer
	if none.Property("a").Absent(nil) || presence[nil].Absent(nil) {
		t.Error("a nil Normalizer has marks")
	}
}
