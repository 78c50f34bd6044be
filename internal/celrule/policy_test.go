package celrule

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
)

// TestExportPolicy holds the policy for every case of testdata/export.yaml against the locks.
func TestExportPolicy(t *testing.T) {
	rest := map[string]string{ // by case: the locks that a policy cannot say
		"keyed list, order ignored": "spec.l",
		"beyond the budget":         "spec.l",
	}
	var cases []exportCase
	readCases(t, "testdata/export.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			v := version(t, c.Name, c.Spec)
			policy, err := ExportPolicy(v.schema)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range policy.Rest {
				if rest[c.Name] != r.Path && !strings.Contains(r.Reason, "x-kubernetes-normalize") {
					t.Errorf("%s is not exported: %s", r.Path, r.Reason)
				}
			}
			if rest[c.Name] != "" && len(policy.Rest) == 0 {
				t.Errorf("%s is exported", rest[c.Name])
			}
			if len(policy.Rest) > 0 {
				return
			}
			provePolicy(t, v, policy, 400)
		})
	}
}

// provePolicy compares the locks of v with the validations of its policy on n random updates.
func provePolicy(t *testing.T, v crdVersion, policy Exported, n int) {
	t.Helper()
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: utilversion.MajorMinor(1, 0),
		EnvOptions:        []celgo.EnvOption{celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var programs []celgo.Program
	for _, validation := range policy.Rules {
		compiled, issues := env.StoredExpressionsEnv().Compile(validation.Rule)
		if issues != nil {
			t.Fatalf("%s: %v", validation.Rule, issues)
		}
		program, err := env.StoredExpressionsEnv().Program(compiled)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	locks, err := immutability.Compile(v.schema)
	if err != nil {
		t.Fatal(err)
	}
	var focus []string
	for _, l := range locks.Locks() {
		focus = append(focus, l.SchemaPath)
	}
	random := randomupdates.New(v.schema, focus, 13)
	refused := 0
	for range n {
		newObj, oldObj := random.Next()
		accepted := true
		for _, program := range programs {
			out, _, err := program.Eval(map[string]any{"object": newObj, "oldObject": oldObj})
			accepted = accepted && err == nil && out.Value() == true
		}
		violations := locks.ValidateUpdate(newObj, oldObj)
		if accepted != (len(violations) == 0) {
			t.Fatalf("the policy accepts: %v, locks: %v\nold %s\nnew %s\n%v", accepted, violations, asJSON(oldObj), asJSON(newObj), policy.Rules)
		}
		if !accepted {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no update was refused, so that nothing is proven")
	}
}

// TestPolicyMessages: a policy's message names the field and says what its lock refuses, in the words of a check. A
// lock below an immutable field, which the policy compares as a whole, has none.
func TestPolicyMessages(t *testing.T) {
	v := version(t, "messages", json.RawMessage(`{"type": "object", "properties": {
		"a": {"type": "string", "x-kubernetes-immutable": true},
		"b": {"type": "string", "x-fieldlock-update": ["NoUnset", "NoModify"]},
		"c": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-immutable-keys": true},
		"d": {"type": "object", "x-kubernetes-immutable": true, "properties": {"e": {"type": "object", "properties": {"below": {"type": "string", "x-kubernetes-immutable": true}}}}}
	}}`))
	policy, err := ExportPolicy(v.schema)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, validation := range policy.Rules {
		got = append(got, validation.Message)
	}
	want := []string{
		"spec.a: field is immutable",
		"spec.b: field is immutable: it may not be unset",
		"spec.b: field is immutable: it may not be modified once set",
		"spec.c: field is immutable: nothing may be added or removed",
		"spec.d: field is immutable",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
