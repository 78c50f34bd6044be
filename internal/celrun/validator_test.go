package celrun_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

// ruleCase is a case of testdata/rules.yaml.
type ruleCase struct {
	Name, Reason string
	Schema       json.RawMessage
	Old, New     json.RawMessage
	Violations   []violation
}

type violation struct {
	Path, SchemaPath string
	Index            int
	Message          string
	Type             string
}

func TestValidateUpdate(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []ruleCase
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			strictAgrees(t, schemaOf(t, string(c.Schema)), [][2]map[string]any{{object(t, c.New), object(t, c.Old)}})
			v := celrun.New(schemaOf(t, string(c.Schema)), nil)
			found, err := v.ValidateUpdate(object(t, c.New), object(t, c.Old))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 && found != nil {
				t.Error("an accepted update has a list of violations")
			}
			var got []violation
			for _, f := range found {
				got = append(got, violation{f.Path, f.Rule.SchemaPath, f.Rule.Index, f.Message, string(f.Type)})
			}
			for i := range c.Violations {
				if c.Violations[i].Type == "" {
					c.Violations[i].Type = "FieldValueInvalid"
				}
			}
			if diff := cmp.Diff(c.Violations, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Reason, diff)
			}
		})
	}
}

func schemaOf(t testing.TB, text string) *spec.Schema {
	t.Helper()
	s := new(spec.Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func object(t testing.TB, text []byte) map[string]any {
	t.Helper()
	if text == nil {
		return nil
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(text, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestNone: a schema without rules of the wanted sort has no validator, and a nil one accepts.
func TestNone(t *testing.T) {
	for name, text := range map[string]string{
		"no rules":             `{"type": "object"}`,
		"plain rules":          `{"type": "object", "x-kubernetes-validations": [{"rule": "self.a == 'oldSelf'"}, {"rule": "has(self.oldSelf)"}]}`,
		"a rule without text":  `{"type": "object", "x-kubernetes-validations": [{"message": "m"}]}`,
		"a rule in anyOf":      `{"type": "object", "anyOf": [{"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}]}`,
		"text that is not CEL": `{"type": "object", "x-kubernetes-validations": [{"rule": "self =="}]}`,
	} {
		v := celrun.New(schemaOf(t, text), celrun.Transition)
		if v != nil {
			t.Errorf("%s: a validator", name)
		}
		if v.Rules() != nil {
			t.Errorf("%s: the rules %v", name, v.Rules())
		}
		for _, v := range []*celrun.Validator{v, v.Strict(new(celrun.Shared))} {
			if found, err := v.ValidateUpdate(map[string]any{"a": "x"}, map[string]any{}); found != nil || err != nil {
				t.Errorf("%s: %v, %v", name, found, err)
			}
		}
	}
	if v := celrun.New(nil, nil); v != nil {
		t.Error("a nil schema has a validator")
	}
}

func TestTransition(t *testing.T) {
	for text, want := range map[string]bool{
		"self == oldSelf": true, "oldSelf.hasValue()": true, "self.all(x, x in oldSelf.l)": true,
		"self == 'oldSelf'": false, "self.oldSelf == 1": false, "self > 1": false, "self +": false,
		"self = oldSelf": true, // which no server compiles: a check that runs it says so
	} {
		if got := celrun.Transition(celrun.Rule{Text: text}); got != want {
			t.Errorf("%q is a transition rule: %v", text, got)
		}
	}
}

// TestOutermostName: .oldSelf is oldSelf, so the server runs a rule with it for updates only.
func TestOutermostName(t *testing.T) {
	s := schemaOf(t, `{"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": ".self.a == .oldSelf.a"}]}`)
	for name, v := range map[string]*celrun.Validator{"all rules": celrun.New(s, nil), "transition rules": celrun.New(s, celrun.Transition)} {
		if found, err := v.ValidateUpdate(map[string]any{"a": "x"}, map[string]any{"a": "y"}); len(found) != 1 || err != nil {
			t.Errorf("%s: an update: %v, %v", name, found, err)
		}
		if found, err := v.ValidateUpdate(map[string]any{"a": "x"}, nil); len(found) > 0 || err != nil {
			t.Errorf("%s: a create: %v, %v", name, found, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, row := range []struct{ name, reason, schema, want string }{
		{"unknown field", "the server refuses the CRD", `{"type": "object", "properties": {"s": {"type": "object", "x-kubernetes-validations": [{"rule": "self.x == oldSelf.x"}]}}}`, `a rule at "/properties/s" does not compile`},
		{"not a boolean", "the server refuses the CRD", `{"type": "object", "properties": {"s": {"type": "object", "x-kubernetes-validations": [{"rule": "1 + 1"}]}}}`, "must evaluate to a bool"},
		{"$ref", "no structural schema has it", `{"type": "object", "properties": {"s": {"type": "object", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}, "r": {"$ref": "#/definitions/r"}}}`, "not structural"},
	} {
		obj := map[string]any{"s": map[string]any{}}
		if _, err := celrun.New(schemaOf(t, row.schema), nil).ValidateUpdate(obj, obj); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v (%s)", row.name, err, row.reason)
		}
	}
}

// TestKeep: the rules that keep drops do not run.
func TestKeep(t *testing.T) {
	s := schemaOf(t, `{"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}, {"rule": "self == 'x'"}]}}}`)
	v := celrun.New(s, celrun.Transition)
	found, err := v.ValidateUpdate(map[string]any{"a": "y"}, map[string]any{"a": "z"})
	if err != nil || len(found) != 1 || found[0].Rule.Text != "self == oldSelf" {
		t.Errorf("%v, %v", found, err)
	}
	if len(celrun.New(s, nil).Rules()) != 2 || len(v.Rules()) != 1 {
		t.Error("Rules lists what does not run, or the other way round")
	}
}

// TestStrict: without ratcheting a plain rule counts where nothing changed.
func TestStrict(t *testing.T) {
	v := celrun.New(schemaOf(t, `{"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'x'"}]}}}`), nil)
	obj := map[string]any{"a": "z"}
	if found, err := v.ValidateUpdate(obj, obj); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	if found, err := v.Strict(new(celrun.Shared)).ValidateUpdate(obj, obj); err != nil || len(found) != 1 {
		t.Error(found, err)
	}
	if (*celrun.Validator)(nil).Strict(new(celrun.Shared)) != nil {
		t.Error("no rules, and a validator")
	}
}

// strictAgrees checks that Strict, which gives the server the properties that objects have and no others, has the same
// violations where nothing ratchets: for creates, and for transition rules.
func strictAgrees(t *testing.T, s *spec.Schema, pairs [][2]map[string]any) {
	t.Helper()
	all, transitions := celrun.New(s, nil), celrun.New(s, celrun.Transition)
	agrees := func(v *celrun.Validator, newObj, oldObj map[string]any) {
		want, err := v.ValidateUpdate(newObj, oldObj)
		got, strictErr := v.Strict(new(celrun.Shared)).ValidateUpdate(newObj, oldObj)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (strictErr == nil) {
			t.Errorf("from %v to %v Strict differs (-want +got, %v and %v):\n%s", oldObj, newObj, err, strictErr, diff)
		}
	}
	for _, pair := range pairs {
		agrees(all, pair[0], nil)
		agrees(transitions, pair[0], pair[1])
	}
}

// TestStrictReadsAbsentFields: rules on all sorts of places read fields that one object or both lack.
func TestStrictReadsAbsentFields(t *testing.T) {
	const inAllOf = `"allOf": [{"properties": {"a": {"x-kubernetes-validations": [{"rule": "self != 'bad'"}]}}}],`
	text := `{"type": "object",
		"x-kubernetes-validations": [{"rule": "!has(self.spec) || !has(self.spec.b) || self.metadata.name != 'x'"}, {"rule": "self == oldSelf"}],
		"properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
		"spec": {"type": "object", "x-kubernetes-validations": [{"rule": "has(self.a) == has(oldSelf.a)"}, {"rule": "self.b == oldSelf.b"}, {"rule": "self.?a.orValue('n') != 'z'"}],
			` + inAllOf + `
			"properties": {
				"a": {"type": "string"}, "b": {"type": "string", "nullable": true}, "c-d": {"type": "string"}, "unread": {"type": "string"},
				"map": {"type": "object", "additionalProperties": {"type": "object", "x-kubernetes-validations": [{"rule": "self.k == oldSelf.k"}, {"rule": "!has(self.l) || self.l != 'l'"}], "properties": {"k": {"type": "string"}, "l": {"type": "string"}}}},
				"list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
					"x-kubernetes-validations": [{"rule": "self.all(x, oldSelf.exists(y, x == y))"}],
					"items": {"type": "object", "required": ["k"], "x-kubernetes-validations": [{"rule": "!has(self.l) || self.l == oldSelf.l"}], "properties": {"k": {"type": "string"}, "l": {"type": "string"}}}},
				"template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
					"x-kubernetes-validations": [{"rule": "self.kind == oldSelf.kind && self.metadata.name == oldSelf.metadata.name"}]}}}}}`
	var objects []map[string]any
	for _, spec := range []string{
		`{}`, `{"a": "x"}`, `{"a": "bad", "b": null}`, `{"b": "y", "unread": "u", "c-d": "e"}`, `{"a": "z", "b": "y", "c-d": "f"}`,
		`{"map": {}}`, `{"map": {"one": {"k": "v"}, "two": {"l": "w"}}}`, `{"map": {"one": {"k": "w", "l": "l"}, "two": {}}}`,
		`{"list": []}`, `{"list": [{"k": "a"}, {"k": "b", "l": "l"}]}`, `{"list": [{"k": "b", "l": "m"}, {"k": "a", "l": "n"}]}`,
		`{"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"l": "m"}}, "extra": 1}}`,
		`{"template": {"apiVersion": "v1", "kind": "Job", "metadata": {"name": "b"}}}`, `{"unknown": {"k": 1}}`,
	} {
		objects = append(objects, object(t, []byte(`{"apiVersion": "e.x/v1", "kind": "W", "metadata": {"name": "x"}, "spec": `+spec+`}`)))
	}
	var pairs, unchanged [][2]map[string]any
	for _, newObj := range objects {
		unchanged = append(unchanged, [2]map[string]any{newObj, newObj})
		for _, oldObj := range objects {
			pairs = append(pairs, [2]map[string]any{newObj, oldObj})
		}
	}
	strictAgrees(t, schemaOf(t, text), pairs)
	strictAgrees(t, schemaOf(t, strings.Replace(text, inAllOf, "", 1)), unchanged) // then rules are compiled from the shared conversion
}

// TestInputs: objects are not changed.
func TestInputs(t *testing.T) {
	v := celrun.New(schemaOf(t, `{"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}}`), nil)
	newObj, oldObj := object(t, []byte(`{"m": {"a": "x"}}`)), object(t, []byte(`{"m": {"a": "y"}}`))
	before := maps.Clone(newObj)
	if _, err := v.ValidateUpdate(newObj, oldObj); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, newObj); diff != "" {
		t.Error(diff)
	}
}

// TestVastAmounts: rules that compare an amount of a billion digits refuse it, as they would not end; other rules run.
func TestVastAmounts(t *testing.T) {
	sized := func(rule string) *celrun.Validator {
		return celrun.New(schemaOf(t, `{"type": "object", "properties": {"size": {"type": "string", "maxLength": 20,
			"x-kubernetes-validations": [{"rule": "`+rule+`"}]}}}`), nil)
	}
	vast, plain := object(t, []byte(`{"size": "1e999999999"}`)), object(t, []byte(`{"size": "1Gi"}`))
	const grows = "quantity(self).compareTo(quantity(oldSelf)) >= 0"
	for _, row := range []struct {
		name, rule     string
		newObj, oldObj map[string]any
		refused        bool
	}{
		{"new", grows, vast, plain, true},
		{"old", grows, plain, vast, true},
		{"both", grows, vast, vast, true},
		{"a vast duration", "duration(self) >= duration(oldSelf)", object(t, []byte(`{"size": "99999999999999h"}`)), object(t, []byte(`{"size": "1h"}`)), true},
		{"another rule", "self.startsWith('1')", vast, plain, false},
		{"neither", grows, plain, plain, false},
	} {
		found, err := sized(row.rule).ValidateUpdate(row.newObj, row.oldObj)
		if err != nil || (len(found) > 0) != row.refused {
			t.Errorf("%s: %v, %v", row.name, found, err)
		}
	}
}
