package immutability_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability"
)

// TestUpstreamErrors: the errors of the words of x-fieldlock-update are those of Kubernetes' declarative validation,
// for values that both take for set or unset.
func TestUpstreamErrors(t *testing.T) {
	text := func(s string) *string { return &s }
	update := operation.Operation{Type: operation.Update}
	path := field.NewPath("v")
	for _, row := range []struct {
		name           string
		word           string
		constraint     validate.UpdateConstraint
		newVal, oldVal *string
	}{
		{"set", "NoSet", validate.NoSet, text("a"), nil},
		{"cleared", "NoUnset", validate.NoUnset, nil, text("a")},
		{"modified", "NoModify", validate.NoModify, text("b"), text("a")},
		{"set where only a change is refused", "NoModify", validate.NoModify, text("b"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := compileJSON(t, `{"properties":{"v":{"x-fieldlock-update":["`+row.word+`"]}}}`)
			object := func(s *string) map[string]any {
				if s == nil {
					return map[string]any{}
				}
				return map[string]any{"v": *s}
			}
			got := v.ValidateUpdate(object(row.newVal), object(row.oldVal))
			want := validate.UpdatePointer(context.Background(), update, path, row.newVal, row.oldVal, row.constraint)
			field.ErrorMatcher{}.ByType().ByField().ByOrigin().ByDetailExact().Test(t, want, got)
		})
	}
}

// TestUpstreamItems: items have the errors of k8s.io/apimachinery 0.37, which names the words for them first. The path
// of an item that is gone is its container.
func TestUpstreamItems(t *testing.T) {
	for _, row := range []struct{ name, schema string }{
		{"map", `"type":"object","additionalProperties":{"type":"string"}`},
		{"set", `"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := compileJSON(t, `{"properties":{"v":{`+row.schema+`,"x-fieldlock-update":["NoAddItem","NoRemoveItem"]}}}`)
			path := field.NewPath("v")
			newVal, oldVal, added := any(map[string]any{"b": "1"}), any(map[string]any{"a": "1"}), path.Key("b")
			if row.name == "set" {
				newVal, oldVal, added = []any{"b"}, []any{"a"}, path.Index(0)
			}
			want := field.ErrorList{
				field.Forbidden(path, "item may not be removed").WithOrigin("update"),
				field.Forbidden(added, "item may not be added").WithOrigin("update"),
			}
			got := v.ValidateUpdate(map[string]any{"v": newVal}, map[string]any{"v": oldVal})
			field.ErrorMatcher{}.ByType().ByField().ByOrigin().ByDetailExact().Test(t, want, got)
		})
	}
}

// TestUpstreamDifference: the row of docs/servers.md about set-once. Declarative validation takes a Go zero value and
// an empty list for unset, and locks for set, as they are stored; with normalize=zero both agree.
func TestUpstreamDifference(t *testing.T) {
	update := operation.Operation{Type: operation.Update}
	empty, fast := "", "fast"
	upstream := validate.UpdateValueByCompare(context.Background(), update, field.NewPath("v"), &fast, &empty, validate.NoUnset, validate.NoModify)
	upstream = append(upstream, validate.UpdateValueByReflect(context.Background(), update, field.NewPath("v"), &[]string{"a"}, &[]string{}, validate.NoUnset, validate.NoModify)...)
	if len(upstream) > 0 {
		t.Errorf("Kubernetes refuses to set an empty value: %v", upstream)
	}
	for _, row := range []struct {
		name, keys     string
		newVal, oldVal any
		refused        bool
	}{
		{"an empty text", `"type":"string"`, "fast", "", true},
		{"an empty text of a normalized field", `"type":"string","x-kubernetes-normalize":"zero"`, "fast", "", false},
		{"an empty list", `"type":"array","items":{"type":"string"}`, []any{"a"}, []any{}, true},
		{"an empty list of a normalized field", `"type":"array","items":{"type":"string"},"x-kubernetes-normalize":"undefined"`, []any{"a"}, []any{}, false},
	} {
		v := compileJSON(t, `{"properties":{"v":{`+row.keys+`,"x-fieldlock-update":["NoUnset","NoModify"]}}}`)
		errs := v.ValidateUpdate(map[string]any{"v": row.newVal}, map[string]any{"v": row.oldVal})
		if len(errs) > 0 != row.refused {
			t.Errorf("%s: %v, want it refused: %t", row.name, errs, row.refused)
		}
	}
	for _, page := range []string{"servers.md", "crds.md"} {
		text, err := os.ReadFile("../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(strings.TrimLeft(string(text[strings.IndexByte(string(text), '\n'):]), "\n"), "\n\n")
		for _, want := range []string{"validation-gen (KEP-5073)", "controller-gen's markers", "CEL", "1.35", "1.37", "| unset means |"} {
			if !strings.HasPrefix(first, "| ") || !strings.Contains(first, want) {
				t.Errorf("docs/%s does not begin with a comparison that has %q:\n%s", page, want, first)
			}
		}
	}
}

// TestIdentity: apiVersion, kind, name and namespace are for an API server to guard: no lock covers them, which the
// comment of ValidateUpdate says.
func TestIdentity(t *testing.T) {
	v := compileJSON(t, `{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-immutable":true}}}`)
	object := func(apiVersion, kind, name, namespace string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}, "spec": map[string]any{}}
	}
	if errs := v.ValidateUpdate(object("b/v1", "B", "b", "b"), object("a/v1", "A", "a", "a")); errs != nil {
		t.Errorf("another object is taken for a refused update: %v", errs)
	}
	if _, err := immutability.Compile(nil, immutability.WithLocks(immutability.ExternalLock{Path: "metadata.name", Locks: []immutability.Lock{immutability.LockImmutable}})); err == nil {
		t.Error("a lock of the name compiles")
	}
}
