package kindcase

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCompare: which verdicts an answer confirms. A comparison that lets a wrong verdict pass hides every mistake.
func TestCompare(t *testing.T) {
	refused := Answer{Refused: true, Causes: []Cause{{"spec.selector", "Invalid value: x: field is immutable"}, {"spec.a[0].b", "Required value"}}}
	text := Answer{Refused: true, Error: "pods \"a\" is forbidden: no"}
	says := func(field, message string) Prediction { return Prediction{Causes: []Cause{{field, message}}} }
	for _, row := range []struct {
		name, reason string
		c            Case
		a            Answer
		v            Prediction
		want         string // "" for none
	}{
		{"allowed", "both say so", Case{}, Answer{}, Prediction{}, ""},
		{"refused", "the field and the text are the server's", Case{}, refused, says("spec.selector", "field is immutable"), ""},
		{"a parent", "the server may name a field below", Case{}, refused, says("spec.a", "Required value"), ""},
		{"a parent's item", "the server may name a field below", Case{}, refused, says("spec.a[0]", "Required value"), ""},
		{"a text without causes", "the error has it", Case{}, text, says("spec", "is forbidden"), ""},
		{"refused, and the server allows", "a false alarm", Case{}, Answer{}, says("spec", "x"), "refused is true"},
		{"allowed, and the server refuses", "a hole", Case{}, refused, Prediction{}, "refused is false"},
		{"another field", "it was refused for another reason", Case{}, refused, says("spec.sel", "field is immutable"), "is not one of the server's"},
		{"a child", "the server names less", Case{}, refused, says("spec.selector.x", "field is immutable"), "is not one of the server's"},
		{"another text", "it was refused for another reason", Case{}, refused, says("spec.selector", "Required"), "is not one of the server's"},
		{"the text of another field", "field and text belong together", Case{}, refused, says("spec.selector", "Required value"), "is not one of the server's"},
		{"another text without causes", "it was refused for another reason", Case{}, text, says("spec", "immutable"), "is not one of the server's"},
		{"the second cause is wrong", "every one counts", Case{}, refused, Prediction{Causes: []Cause{{"spec.selector", "immutable"}, {"spec.b", "x"}}}, "is not one of the server's"},
		{"unknown", "the cluster may decide either way", Case{Unknown: true}, refused, Prediction{Unknown: true}, ""},
		{"unknown, and a refusal besides", "the refusal is compared", Case{Unknown: true}, Answer{}, Prediction{Unknown: true, Causes: []Cause{{"spec", "x"}}}, "refused is true"},
		{"unknown that nobody expects", "it hides what is known", Case{}, Answer{}, Prediction{Unknown: true}, "unknown is true, want false"},
		{"known that nobody can know", "the server just happened to allow it", Case{Unknown: true}, Answer{}, Prediction{}, "unknown is false, want true"},
		{"unknown since this minor", "from it on", Case{UnknownSince: "1.36"}, Answer{}, Prediction{Unknown: true}, ""},
		{"unknown since the next minor", "not before it", Case{UnknownSince: "1.37"}, Answer{}, Prediction{Unknown: true}, "unknown is true, want false"},
		{"a note", "as expected", Case{Note: true}, Answer{}, Prediction{Note: true}, ""},
		{"a note too many", "nothing is accepted without effect", Case{}, Answer{}, Prediction{Note: true}, "there is a note: true"},
		{"no note", "the change has no effect", Case{Note: true}, Answer{}, Prediction{}, "there is a note: false"},
	} {
		got := Compare(row.c, row.a, row.v, "1.36")
		if (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q: %s", row.name, got, row.want, row.reason)
		}
	}
}

// TestRead: what cases make of an object, and mistakes in their files.
func TestRead(t *testing.T) {
	const old = "objects:\n- name: A\n  old: {kind: A, spec: {a: {b: 1}, list: [1, 2.5]}}\n  cases:\n"
	for _, row := range []struct{ text, newObj, err string }{
		{"  - {name: c}", "{kind: A, spec: {a: {b: 1}, list: [1, 2.5]}}", ""},
		{"  - {name: c, set: {spec.a.b: 2, \"spec.list[2]\": x, \"spec.m[x/y].z\": 1}}", "{kind: A, spec: {a: {b: 2}, list: [1, 2.5, x], m: {x/y: {z: 1}}}}", ""},
		{"  - {name: c, set: {\"spec.list[0]\": 5}, remove: [spec.a, \"spec.list[1]\"]}", "{kind: A, spec: {list: [5]}}", ""},
		{"  - {name: c, set: {spec.a: null}}", "{kind: A, spec: {a: null, list: [1, 2.5]}}", ""},
		{"  - {name: c, oldSet: {spec.b: 1}, oldRemove: [spec.a]}", "{kind: A, spec: {b: 1, list: [1, 2.5]}}", ""},
		{"  - {name: c, new: {kind: A}}", "{kind: A}", ""},
		{"  - {name: c, remove: [spec.none]}", "", "f/A/c: spec.none: there is nothing to remove"},
		{"  - {name: c, remove: [\"spec.list[2]\"]}", "", "f/A/c: spec.list[2]: there is nothing to remove"},
		{"  - {name: c, set: {\"spec.list[3]\": 1}}", "", "f/A/c: spec.list[3]: it leads to no object or list"},
		{"  - {name: c, set: {kind.a: 1}}", "", "f/A/c: kind.a: it leads to no object or list"},
		{"  - {name: c, oldRemove: [none]}", "", "f/A/c: none: there is nothing to remove"},
		{"  - {name: c}\n  - {name: c}", "", "f/A/c: there are two cases of this name"},
		{"  - {name: c, sett: {}}", "", "f.yaml: "},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f.yaml"), []byte(old+row.text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		cases, err := Read(dir)
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%s: %v, want %q", row.text, err, row.err)
			}
			continue
		}
		var want map[string]any
		if yamlErr := yaml.Unmarshal([]byte(row.newObj), &want); yamlErr != nil || err != nil || len(cases) != 1 || cases[0].Name != "f/A/c" {
			t.Errorf("%s: %v, %v, %v", row.text, cases, err, yamlErr)
			continue
		}
		if !reflect.DeepEqual(cases[0].New, Clone(want)) {
			t.Errorf("%s: %v, want %v", row.text, cases[0].New, want)
		}
	}
}

// TestAnswers: what was written is read again.
func TestAnswers(t *testing.T) {
	answers := map[string]Answer{
		"apps/Deployment/a": {Refused: true, Causes: []Cause{{"spec", "a < b"}}},
		"apps/Deployment/c": {},
		"core/Pod/d":        {Refused: true, Error: "no"},
	}
	dir := filepath.Join(t.TempDir(), "1.36")
	if err := WriteAnswers(dir, answers); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadAnswers(dir); err != nil || !reflect.DeepEqual(got, answers) {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.yaml"), []byte("a: {refuse: true}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAnswers(dir); err == nil || !strings.Contains(err.Error(), "x.yaml") {
		t.Errorf("an unknown member: %v", err)
	}
}
