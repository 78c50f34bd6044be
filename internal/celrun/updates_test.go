package celrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// TestTrueWhenEqual: which rules need not run where their field is equal on both sides.
func TestTrueWhenEqual(t *testing.T) {
	for text, want := range map[string]bool{
		"self == oldSelf": true, "oldSelf == self": true, "(self == oldSelf)": true, "self == oldSelf || self.a == 1": true, "self.a == 1 || oldSelf == self": true,
		"self == oldSelf && oldSelf == self": true, "self == oldSelf && self.a == 1": false, "self != oldSelf": false, "!(self == oldSelf)": false,
		"self == self": false, "oldSelf == oldSelf": false, "self.a == oldSelf.a": false, "self >= oldSelf": false, "self == oldSelf ? true : false": false, "self ==": false, "true": false,
		"[1].all(self, self == oldSelf)": false, "self == oldSelf)": false, "int == string || self.a == oldSelf.a": false,
	} {
		if got := trueWhenEqual(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestUpdates: what is left out can refuse nothing, and Updates says what a Validator of all rules says.
func TestUpdates(t *testing.T) {
	const equal, grows = `"x-kubernetes-validations": [{"rule": "self == oldSelf"}]`, `"x-kubernetes-validations": [{"rule": "self > oldSelf"}]`
	const list = `"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]`
	item := func(rules string) string {
		return `"items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer"` + rules + `}}}`
	}
	for _, c := range []struct {
		name, reason, properties, old, new string
		want                               []string
		runs                               int // validators that are compiled
	}{
		{"another field", "the rule need not run", `"a": {"type": "string", ` + equal + `}, "b": {"type": "string"}`, `{"a": "x", "b": "x"}`, `{"a": "x", "b": "y"}`, nil, 0},
		{"its field", "the rule refuses", `"a": {"type": "string", ` + equal + `}, "b": {"type": "string"}`, `{"a": "x"}`, `{"a": "y"}`, []string{"a"}, 1},
		{"its field is set", "the server does not run the rule", `"a": {"type": "string", ` + equal + `}`, `{}`, `{"a": "y"}`, nil, 0},
		{"its field is null", "neither", `"a": {"type": "string", "nullable": true, ` + equal + `}`, `{"a": null}`, `{"a": "y"}`, nil, 0},
		{"one of two fields", "the other rule need not run", `"a": {"type": "string", ` + equal + `}, "b": {"type": "string", ` + equal + `}`, `{"a": "x", "b": "x"}`, `{"a": "x", "b": "y"}`, []string{"b"}, 1},
		{"a rule that refuses what is equal", "it runs each time", `"a": {"type": "integer", ` + grows + `}, "b": {"type": "string"}`, `{"a": 1, "b": "x"}`, `{"a": 1, "b": "y"}`, []string{"a"}, 1},
		{"a field behind the one of a rule that runs each time", "violations are sorted by path", `"a": {"type": "string", ` + equal + `}, "b": {"type": "integer", ` + grows + `}`, `{"a": "x", "b": 2}`, `{"a": "y", "b": 1}`, []string{"a", "b"}, 2},
		{"both in one node", "the error of each is its own", `"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > oldSelf"}, {"rule": "self == oldSelf"}]}`, `{"a": 2}`, `{"a": 1}`, []string{"a", "a"}, 2},
		{"an item of a list", "items pair by their keys", `"l": {` + list + `, ` + item(", "+equal) + `}`, `{"l": [{"name": "a", "v": 1}, {"name": "b", "v": 1}]}`, `{"l": [{"name": "b", "v": 2}, {"name": "a", "v": 1}]}`, []string{"l[0].v"}, 1},
		{"a list that is equal", "no item changes", `"l": {` + list + `, ` + item(", "+equal) + `}, "b": {"type": "string"}`, `{"l": [{"name": "a", "v": 1}, {"name": "b", "v": 1}], "b": "x"}`, `{"l": [{"name": "a", "v": 1}, {"name": "b", "v": 1}], "b": "y"}`, nil, 0},
		{"a key twice in a list that is equal", "the server pairs the second item with the first one", `"l": {` + list + `, ` + item(", "+equal) + `}`,
			`{"l": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}`, `{"l": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}`, []string{"?"}, 1},
		{"a key twice in a list in a list that is equal", "the same", `"l": {` + list + `, "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "m": {` + list + `, ` + item(", "+equal) + `}}}}`,
			`{"l": [{"name": "a", "m": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}]}`, `{"l": [{"name": "a", "m": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}]}`, []string{"?"}, 1},
		{"a key twice in a list in a map that is equal", "the same", `"m": {"type": "object", "additionalProperties": {` + list + `, ` + item(", "+equal) + `}}`,
			`{"m": {"x": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}}`, `{"m": {"x": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}}`, []string{"?"}, 1},
		{"a list without keys in a list that is equal", "its items have no keys to be equal", `"l": {` + list + `, "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "array", "items": {"type": "integer"}, ` + equal + `}}}}`,
			`{"l": [{"name": "a", "v": [1, 2]}], "b": "x"}`, `{"l": [{"name": "a", "v": [1, 2]}], "b": "y"}`, nil, 0},
		{"a list that the schema does not know, in a list that is equal", "it has no keys", `"l": {` + list + `, "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer", ` + equal + `}, "any": {"x-kubernetes-preserve-unknown-fields": true}}}}`,
			`{"l": [{"name": "a", "v": 1, "any": {"x": [1, 1]}}], "b": "x"}`, `{"l": [{"name": "a", "v": 1, "any": {"x": [1, 1]}}], "b": "y"}`, nil, 0},
		{"a value of a map", "values pair by their keys", `"m": {"type": "object", "additionalProperties": {"type": "string", ` + equal + `}}`, `{"m": {"a": "x", "b": "x"}}`, `{"m": {"a": "y", "b": "x"}}`, []string{"m[a]"}, 1},
		{"an equal object with a value of another type", "the rule cannot read it, and fails", `"a": {"type": "object", ` + equal + `, "properties": {"n": {"type": "object", "properties": {"v": {"type": "string", "format": "duration"}}}}}, "b": {"type": "string"}`,
			`{"a": {"n": {"v": "x"}}, "b": "x"}`, `{"a": {"n": {"v": "x"}}, "b": "y"}`, []string{"a"}, 1},
		{"a rule inside allOf", "the server runs it beside another rule only", `"a": {"type": "string", ` + equal + `, "allOf": [{` + grows + `}]}`, `{"a": "x"}`, `{"a": "x"}`, []string{"a"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := schemaOf(t, `{"type": "object", "properties": {`+c.properties+`}}`)
			var oldObj, newObj map[string]any
			for text, obj := range map[string]*map[string]any{c.old: &oldObj, c.new: &newObj} {
				if err := utiljson.Unmarshal([]byte(text), obj); err != nil {
					t.Fatal(err)
				}
			}
			if c.old == c.new {
				oldObj = newObj
			}
			updates := NewUpdates(s, Transition)
			got, err := updates.ValidateUpdate(newObj, oldObj)
			if err != nil {
				t.Fatal(err)
			}
			all, err := New(s, Transition).ValidateUpdate(newObj, oldObj)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(all) {
				t.Errorf("%s: got %v, and of all rules %v", c.reason, got, all)
			}
			var paths []string
			for _, v := range got {
				paths = append(paths, v.Path)
			}
			if !slices.Equal(paths, c.want) && !slices.Contains(c.want, "?") {
				t.Errorf("%s: got %q, want %q", c.reason, paths, c.want)
			}
			runs := 0
			if updates.always != nil {
				runs++
			}
			for _, s := range updates.steady {
				if s.due(s.form(), newObj, oldObj, s.steps) {
					runs++
				}
			}
			if runs != c.runs {
				t.Errorf("%s: %d validators run, want %d", c.reason, runs, c.runs)
			}
		})
	}
	s := schemaOf(t, `{"type": "object", "properties": {"a": {"type": "string", `+equal+`}, "b": {"type": "integer", `+grows+`}}}`)
	u := NewUpdates(s, func(r Rule) bool { return r.SchemaPath == "/properties/b" })
	got, err := u.ValidateUpdate(map[string]any{"a": "y", "b": int64(2)}, map[string]any{"a": "x", "b": int64(1)})
	if err != nil || len(got) > 0 || len(u.Rules()) != 1 || len(u.steady) > 0 {
		t.Errorf("a rule that is not kept runs: %v, %v, rules %v", got, err, u.Rules())
	}
	u = NewUpdates(schemaOf(t, `{"type": "object", `+equal+`, "properties": {"a": {"type": "string"}}}`), Transition)
	if got, err := u.ValidateUpdate(map[string]any{"a": "y"}, map[string]any{"a": "x"}); err != nil || len(got) != 1 || len(u.steady) != 1 {
		t.Errorf("a rule of the whole object: %v, %v", got, err)
	}
	if u := NewUpdates(schemaOf(t, `{"type": "object"}`), Transition); u != nil || u.Rules() != nil {
		t.Error("no rules, and something to run")
	}
	for _, rule := range []string{"self.none == 1 || self == oldSelf", "self.none == 1"} {
		s = schemaOf(t, `{"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-validations": [{"rule": "`+rule+`"}]}}}`)
		_, err = NewUpdates(s, nil).ValidateUpdate(map[string]any{"a": map[string]any{"x": "y"}}, map[string]any{"a": map[string]any{}})
		if err == nil || !strings.Contains(err.Error(), `a rule at "/properties/a" does not compile`) {
			t.Errorf("%s, which does not compile: %v", rule, err)
		}
		same := map[string]any{"a": map[string]any{"x": "y"}}
		if _, err := NewUpdates(s, nil).ValidateUpdate(same, map[string]any{"a": map[string]any{"x": "y"}}); (err == nil) != trueWhenEqual(rule) {
			t.Errorf("%s on equal objects: %v; a rule is compiled when it runs", rule, err)
		}
	}
}

// TestShared: a rule is compiled once for the nodes of its type in all schemas, whatever else their rules and descriptions are. What is kept
// is bounded.
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
