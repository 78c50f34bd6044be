package immutability_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/finding"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

func TestUnknownKeysAreErrorsUnlessAllowed(t *testing.T) {
	s := object(map[string]spec.Schema{"a": *mark(&spec.Schema{}, "x-kubernetes-immutible", true)})
	_, err := immutability.Compile(s)
	var failed *immutability.SchemaError
	if !errors.As(err, &failed) || failed.Findings[0].Rule != "unknown-key" || !strings.Contains(err.Error(), "did you mean x-kubernetes-immutable?") {
		t.Errorf("a misspelled lock compiles: %v", err)
	}
	v, err := immutability.Compile(s, immutability.WithUnknownKeys())
	if err != nil || !v.Empty() {
		t.Errorf("allowed: %v, empty %t", err, v.Empty())
	}
	if found := immutability.Lint(s, immutability.WithUnknownKeys()); len(found) != 1 || found[0].Severity != immutability.SeverityWarning {
		t.Errorf("allowed: %v", found)
	}
}

func TestWithResolver(t *testing.T) {
	known := map[string]*spec.Schema{
		"#/components/schemas/Spec": object(map[string]spec.Schema{"class": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)}),
		"#/components/schemas/None": nil,
	}
	resolve := immutability.WithResolver(func(ref string) (*spec.Schema, error) {
		if s, ok := known[ref]; ok {
			return s, nil
		}
		return nil, fmt.Errorf("no schema %s", ref)
	})
	root := func(ref string) *spec.Schema {
		return object(map[string]spec.Schema{"spec": {SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef(ref)}}})
	}
	v, err := immutability.Compile(root("#/components/schemas/Spec"), resolve)
	if err != nil || v.Empty() || v.Locks()[0].Path != "spec.class" {
		t.Errorf("the resolver is not asked: %v", err)
	}
	for ref, want := range map[string]string{"#/components/schemas/Nope": "no schema", "#/components/schemas/None": "there is no such schema"} {
		if _, err := immutability.Compile(root(ref), resolve); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestConstants: the public constants are those that schemas, checks and rules are read with.
func TestConstants(t *testing.T) {
	for public, internal := range map[string]string{
		string(immutability.LockImmutable): string(lockschema.Immutable), string(immutability.LockImmutableKeys): string(lockschema.ImmutableKeys),
		string(immutability.LockAdditionOnly): string(lockschema.AdditionOnly), string(immutability.LockDeletionOnly): string(lockschema.DeletionOnly),
		string(immutability.LockNoSet): string(lockschema.NoSet), string(immutability.LockNoUnset): string(lockschema.NoUnset),
		string(immutability.LockNoModify): string(lockschema.NoModify), string(immutability.LockNoAddItem): string(lockschema.NoAddItem),
		string(immutability.LockNoRemoveItem): string(lockschema.NoRemoveItem), string(immutability.LockIncomparable): string(check.Incomparable),
		string(immutability.SeverityError): string(finding.Error), string(immutability.SeverityWarning): string(finding.Warning),
		string(immutability.SeverityNote): string(finding.Note), string(immutability.MapListOrderIgnored): lockschema.OrderIgnored,
	} {
		if public != internal {
			t.Errorf("%q is %q inside", public, internal)
		}
	}
}

// TestStatusCode: a refusal never becomes a status that clients read as success.
func TestStatusCode(t *testing.T) {
	v := compileJSON(t, `{"properties":{"class":{"x-kubernetes-immutable":true}}}`)
	refused := v.Check(map[string]any{"class": "b"}, map[string]any{"class": "a"})
	for code, want := range map[int]int32{422: 422, 400: 400, 0: 422, 200: 422, -1: 422} {
		if status := refused.Status(schema.GroupKind{Kind: "Thing"}, "a", code); status == nil || status.Code != want {
			t.Errorf("code %d: %v, want %d", code, status, want)
		}
	}
}

// TestMessages: deployment tools look for "field is immutable", people for what may not happen.
func TestMessages(t *testing.T) {
	v := compileJSON(t, `{"properties":{
		"immutable":{"x-kubernetes-immutable":true},
		"noSet":{"x-fieldlock-update":["NoSet"]},"noUnset":{"x-fieldlock-update":["NoUnset"]},"noModify":{"x-fieldlock-update":["NoModify"]},
		"keys":{"additionalProperties":{},"x-kubernetes-immutable-keys":true},
		"list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"properties":{"k":{"type":"string"},"x":{"x-kubernetes-immutable":true}}}},
		"parent":{"properties":{"x":{"x-kubernetes-immutable":true}}}}}`)
	item := func(k, x string) any { return map[string]any{"k": k, "x": x} }
	r := v.Check(
		map[string]any{"immutable": map[string]any{"a": "n", "b": "n", "c": "n", "d": "n", "e": "n"}, "noSet": "x", "noModify": "n",
			"keys": map[string]any{"added": "x"}, "list": []any{item("a", "n"), item("a", "o")}, "parent": "scalar"},
		map[string]any{"immutable": map[string]any{"a": "o", "b": "o", "c": "o", "d": "o"}, "noUnset": "x", "noModify": "o",
			"keys": map[string]any{"removed": "x"}, "list": []any{item("a", "o")}, "parent": map[string]any{"x": "y"}})
	var got []string
	for i := range r.Violations {
		got = append(got, r.Violations[i].Path.String()+": "+r.Violations[i].Message())
	}
	want := []string{
		`immutable: field is immutable: immutable.a "o" → "n", immutable.b "o" → "n", immutable.c "o" → "n", and 2 more differences`,
		`keys: field is immutable: "removed" may not be removed`,
		`keys[added]: field is immutable: it may not be added`,
		`list: field is immutable: items that share a key differ: {"k":"a"}`,
		`noModify: field is immutable: it may not be modified once set`,
		`noSet: field is immutable: it may not be set after creation`,
		`noUnset: field is immutable: it may not be unset`,
		`parent: field is immutable: a scalar cannot be compared with an object`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestShownValues: values are JSON, and long ones are cut.
func TestShownValues(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)}))
	long := make([]any, 10_000)
	for i := range long {
		long[i] = map[string]any{"b": "<&>", "a": nil, "list": []any(nil), "object": map[string]any(nil), "f": 1.5}
	}
	r := v.Check(map[string]any{"a": []any{long, "x", struct{ A int }{1}}}, map[string]any{"a": []any{"y", "z", "z"}})
	got := r.Violations[0].Message()
	want := `field is immutable: a[0] "y" → [{"a":null,"b":"<&>","f":1.5,"list":null,"object":null},{"a":null,"b":"<&>","f":1.5,"list":null,"object":null},{"a":null…,` +
		` a[1] "z" → "x", a[2] "z" → {"A":1}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if text := fmt.Sprint(r.ErrorList()); !strings.Contains(text, "field is immutable") {
		t.Errorf("the error is %.100s", text)
	}
}

// TestShownDifference: two long strings that begin alike are cut around their first difference, and redacted ones are
// not shown.
func TestShownDifference(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)}))
	for _, n := range []int{50, 100, 900, 5_000, 70_000} {
		for _, unit := range []string{"x", "ä", "\n"} {
			same := strings.Repeat(unit, n)
			r := v.Check(map[string]any{"a": map[string]any{"b": same + "it is so" + same}}, map[string]any{"a": map[string]any{"b": same + "it was so"}})
			got := r.Violations[0].Message()
			if len(got) > 1000 || !utf8.ValidString(got) || !strings.Contains(got, `it was so" → `) || !strings.Contains(got, "it is so") {
				t.Errorf("%d times %q: %s", n, unit, got)
			}
		}
	}
	password := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}, Format: "password"}}
	hidden := immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(object(map[string]spec.Schema{"b": password}), "x-kubernetes-immutable", true)}))
	same := strings.Repeat("x", 500)
	r := hidden.Check(map[string]any{"a": map[string]any{"b": same + "new"}}, map[string]any{"a": map[string]any{"b": same + "old"}})
	if got := r.Violations[0].Message(); got != `field is immutable: a.b "(redacted)" → "(redacted)"` {
		t.Errorf("got %s", got)
	}
}

func TestMustCompilePanics(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "immutability: a:") {
			t.Errorf("the panic says %s", text)
		}
	}()
	immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(&spec.Schema{}, "x-kubernetes-immutable", false)}))
}

// TestManyFieldsBehindOneHole: a message names five fields and counts the others.
func TestManyFieldsBehindOneHole(t *testing.T) {
	for n, want := range map[int]string{5: "a.f0, a.f1, a.f2, a.f3, a.f4;", 6: "a.f4, and 1 more field;", 8: "a.f4, and 3 more fields;"} {
		fields := map[string]spec.Schema{}
		for i := range n {
			fields[fmt.Sprint("f", i)] = *mark(&spec.Schema{}, "x-kubernetes-immutable", true)
		}
		found := immutability.Lint(object(map[string]spec.Schema{"a": *object(fields)}))
		if len(found) != 1 || len(found[0].Fields) != n || !strings.Contains(found[0].Message, want) {
			t.Errorf("%d fields: %+v", n, found)
		}
	}
}
