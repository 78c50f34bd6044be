package immutability_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestUpstreamErrors: the errors of the words of x-fieldlock-update are those of Kubernetes' declarative validation, for values that
// both take for set or unset.
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

// TestUpstreamItems: items have the errors of k8s.io/apimachinery 0.37, which names the words for them first. The path of an item that
// is gone is its container.
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
