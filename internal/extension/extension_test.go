package extension_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		ext          map[string]any
		want         extension.Marks
		rules        []string
	}{
		{"nothing", "nil is no marks", nil, extension.Marks{}, nil},
		{"boolean", "as a document has it", map[string]any{extension.Immutable: true}, extension.Marks{Immutable: true}, nil},
		{"string true", "as openapi-gen writes it", map[string]any{extension.Immutable: "true"}, extension.Marks{Immutable: true}, nil},
		{"string slice", "as Structural.ToKubeOpenAPI stores it", map[string]any{extension.ListMapKeys: []string{"a"}}, extension.Marks{ListMapKeys: []string{"a"}}, nil},
		{"any slice", "as JSON decodes it", map[string]any{extension.ListMapKeys: []any{"a", "b"}}, extension.Marks{ListMapKeys: []string{"a", "b"}}, nil},
		{"one string", "as a marker may write it", map[string]any{extension.Update: "NoSet"}, extension.Marks{Update: []string{"NoSet"}}, nil},
		{"words", "in one order, each once", map[string]any{extension.Update: []any{"NoModify", "NoSet", "NoModify"}}, extension.Marks{Update: []string{"NoSet", "NoModify"}}, nil},
		{"false", "a child cannot lift a lock", map[string]any{extension.Immutable: false}, extension.Marks{}, []string{"lock-value"}},
		{"mixed case", "JSON decoding keeps the letter case", map[string]any{"x-Kubernetes-immutable": true}, extension.Marks{}, []string{"key-case"}},
		{"mixed list", "not a list of strings", map[string]any{extension.Update: []any{"NoSet", 1.0}}, extension.Marks{}, []string{"update-word"}},
		{"other keys", "not fieldlock's", map[string]any{"x-kubernetes-validations": []any{}, "x-other": 1}, extension.Marks{}, nil},
		{"sorted", "problems by key", map[string]any{extension.Normalize: 1, extension.Immutable: nil}, extension.Marks{}, []string{"lock-value", "normalize-value"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, problems := extension.Read(row.ext)
			var rules []string
			for _, p := range problems {
				rules = append(rules, p.Rule)
			}
			if !reflect.DeepEqual(got, row.want) || !slices.Equal(rules, row.rules) {
				t.Errorf("got %+v, %v, want %+v, %v (%s)", got, rules, row.want, row.rules, row.reason)
			}
		})
	}
}

// TestDecodedSchema shows the trap that Read avoids: the getters of kube-openapi miss keys of a decoded document.
func TestDecodedSchema(t *testing.T) {
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"X-Kubernetes-Immutable": true}`), &s); err != nil {
		t.Fatal(err)
	}
	if _, found := s.Extensions.GetBool(extension.Immutable); found {
		t.Error("kube-openapi finds the key now: the rule key-case can go")
	}
	if _, problems := extension.Read(s.Extensions); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
	if !extension.HasLock(s.Extensions) {
		t.Error("a lock in the wrong letter case is a lock that somebody meant")
	}
}

func TestUnknown(t *testing.T) {
	got := extension.Unknown(map[string]any{
		"x-kubernetes-imutable": true, "x-fieldlock-update": nil, "x-fieldlock-lock": nil, "x-other": nil, "x-kubernetes-list-type": "set",
		"x-kubernetes-patch-strategy": "merge",
	})
	if want := []string{"x-fieldlock-lock", "x-kubernetes-imutable"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
