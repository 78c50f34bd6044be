package celrule

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
)

// exportCase is a case of testdata/export.yaml.
type exportCase struct {
	Name, Reason string
	Spec         json.RawMessage
	Rules        map[string][]string
	Rest         map[string]string
	Unlike       string // why import does not give the same locks back, if it does not
}

func TestExport(t *testing.T) {
	var cases []exportCase
	readCases(t, "testdata/export.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			v := version(t, c.Name, c.Spec)
			ex, err := Export(v.schema)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, r := range ex.Rules {
				path := strings.TrimPrefix(r.SchemaPath, "/properties/spec")
				got[path] = append(got[path], r.Rule)
			}
			want := c.Rules
			if want == nil {
				want = map[string][]string{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s(%s)", diff, c.Reason)
			}
			for _, rest := range ex.Rest {
				if want, ok := c.Rest[rest.Path]; !ok || !strings.Contains(rest.Reason, want) {
					t.Errorf("%s is not exported because %q, want a reason with %q", rest.Path, rest.Reason, want)
				}
				if strings.Contains(rest.Reason, "cost") && rest.Remedy == "" {
					t.Errorf("%s: no remedy for %q", rest.Path, rest.Reason)
				}
			}
			if len(ex.Rest) != len(c.Rest) {
				t.Errorf("%d locks are not exported, want %d", len(ex.Rest), len(c.Rest))
			}
			if diff := cmp.Diff(locksToExport(v.schema), exportedLocks(ex)); diff != "" {
				t.Errorf("locks of the schema, exported or not (-want +got):\n%s", diff)
			}
			exported := Apply(v.schema, ex.Changes)
			for _, p := range readTree(exported).All {
				for _, key := range schema.OwnKeys() {
					if _, ok := p.Schema.Extensions[key]; ok {
						t.Errorf("%s still has %s", p.Path, key)
					}
				}
			}
			if len(c.Rest) == 0 {
				if _, refused := proveExport(t, v, exported, 400); refused == 0 {
					t.Error("no update was refused, so that nothing is proven")
				}
				if c.Unlike == "" {
					roundTrip(t, v.schema, exported)
				}
			}
		})
	}
}

// TestExportEachLock: locks of one field that cannot be said are each listed, with what would help.
func TestExportEachLock(t *testing.T) {
	v := version(t, "rest", json.RawMessage(`{"type": "object", "properties": {"1st": {"type": "object", "additionalProperties": {"type": "string"}, "x-fieldlock-update": ["NoSet", "NoAddItem"]}}}`))
	ex, err := Export(v.schema)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rest := range ex.Rest {
		got = append(got, rest.Path+" "+rest.Lock+": "+rest.Reason+": "+rest.Remedy)
	}
	want := []string{`spec.1st NoSet: CEL cannot select the name "1st": make the field required`, `spec.1st NoAddItem: CEL cannot select the name "1st": make the field required`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExportBelowRules: what the author's rules freeze as a whole needs no rule below; a rule of an optional parent
// does not freeze it.
func TestExportBelowRules(t *testing.T) {
	v := version(t, "below", json.RawMessage(`{"type": "object", "required": ["p"], "properties": {
		"p": {"type": "object", "x-kubernetes-validations": [{"rule": "oldSelf == self"}], "properties": {"below": {"type": "boolean", "x-kubernetes-immutable": true}}},
		"q": {"type": "object", "x-kubernetes-validations": [{"rule": "oldSelf == self"}], "properties": {"below": {"type": "boolean", "x-kubernetes-immutable": true}}},
		"r": {"type": "object", "x-kubernetes-normalize": "undefined", "x-kubernetes-validations": [{"rule": "oldSelf == self"}], "properties": {"below": {"type": "boolean", "x-kubernetes-immutable": true}}}}}`))
	ex, err := Export(v.schema)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range ex.Changes {
		for _, r := range c.AddRules {
			got = append(got, c.SchemaPath+": "+r["rule"].(string))
		}
	}
	want := []string{
		"/properties/spec: (!(has(self.r) && has(self.r.below)) || !(has(oldSelf.r) && has(oldSelf.r.below)) || has(self.r.below) == has(oldSelf.r.below) && (!has(self.r.below) || self.r.below == oldSelf.r.below))",
		"/properties/spec/properties/q: has(self.below) == has(oldSelf.below) && (!has(self.below) || self.below == oldSelf.below)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules that were added (-want +got):\n%s", diff)
	}
	if len(ex.Rules) != 3 || !strings.Contains(asJSON(ex.Rules), `"Rule":"oldSelf == self"`) {
		t.Errorf("the report lacks the rule that was there: %s", asJSON(ex.Rules))
	}
}

// TestExportOfMistakes: wrong locks are an error, and nothing is exported of the others.
func TestExportOfMistakes(t *testing.T) {
	v := version(t, "mistakes", json.RawMessage(`{"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-immutable": true}, "b": {"type": "string", "x-kubernetes-immutable": false}}}`))
	ex, err := Export(v.schema)
	var mistakes *immutability.SchemaError
	if !errors.As(err, &mistakes) || len(ex.Changes)+len(ex.Rules)+len(ex.Rest) > 0 {
		t.Errorf("%+v, %v", ex, err)
	}
}

// TestTransitions: which schemas have transition rules.
func TestTransitions(t *testing.T) {
	for rule, want := range map[string]bool{"self.a == oldSelf.a": true, "self.a == 'oldSelf'": false} {
		v := version(t, rule, json.RawMessage(`{"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "`+rule+`"}]}`))
		if got := new(Audit).Transitions(v.schema); got != want {
			t.Errorf("%s: %v", rule, got)
		}
	}
}

// locksToExport lists the locks of s, each once, without those below an immutable field: its rule covers them.
func locksToExport(s *spec.Schema) map[LockAt]bool {
	locks := map[LockAt]bool{}
	var walk func(l *schema.Location)
	walk = func(l *schema.Location) {
		for _, lock := range l.Marks.Locks {
			locks[lockAt(l, lock)] = true
		}
		if !l.Marks.Has(schema.Immutable) {
			l.Children(func(child *schema.Location) bool { walk(child); return true })
		}
	}
	walk(readTree(s).Root)
	return locks
}

// exportedLocks lists the locks that ex accounts for, in a rule or in the rest.
func exportedLocks(ex Exported) map[LockAt]bool {
	locks := map[LockAt]bool{}
	for _, r := range ex.Rules {
		for _, l := range r.Locks {
			locks[l] = true
		}
	}
	for _, l := range ex.Needless {
		locks[l] = true
	}
	for _, rest := range ex.Rest {
		locks[rest.LockAt] = true
	}
	return locks
}

// proveExport compares the locks of v with the rules of exported on n random updates.
func proveExport(t *testing.T, v crdVersion, exported *spec.Schema, n int) (pairs, refused int) {
	t.Helper()
	judge := judgeOf(t, exported, nil)
	locks, err := immutability.Compile(v.schema)
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	var focus []string
	for _, l := range locks.Locks() {
		focus = append(focus, l.SchemaPath)
	}
	return sameVerdicts(t, v.name, judge, locks, randomupdates.New(v.schema, focus, 11), n)
}

// roundTrip checks that import gives back the locks that were exported, up to words that change nothing.
func roundTrip(t *testing.T, original, exported *spec.Schema) {
	t.Helper()
	im := Import(exported)
	for _, r := range im.Recognized {
		if text := r.CustomMessage(); text != "" {
			t.Errorf("the exported rule %q has the custom message %q", r.Text, text)
		}
	}
	for _, l := range im.Left {
		t.Errorf("the exported rule %q is not imported: %s", l.Text, l.Reason)
	}
	if diff := cmp.Diff(effective(original), effective(Apply(exported, im.Changes))); diff != "" {
		t.Errorf("locks after export and import (-original +imported):\n%s", diff)
	}
}

// effective lists the words at the places of s that are not below an immutable one, without words that a field that is
// always there has no use for.
func effective(s *spec.Schema) map[string][]schema.Lock {
	out := map[string][]schema.Lock{}
	frozen := map[*schema.Location]bool{}
	for _, p := range readTree(s).All {
		if p.In != nil && frozen[p.Parent()] {
			frozen[p] = true
			continue
		}
		if correlates(p) {
			continue // a lock of a list-map key says nothing
		}
		words := slices.DeleteFunc(wordsOf(p), func(w schema.Lock) bool {
			return present(p) && (w == schema.NoSet || w == schema.NoUnset)
		})
		slices.Sort(words)
		if words = slices.Compact(words); len(words) > 0 {
			out[p.Path.Pointer()] = words
		}
		frozen[p] = p.Marks.Has(schema.Immutable)
	}
	return out
}
