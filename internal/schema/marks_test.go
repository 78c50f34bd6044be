package schema_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		ext          map[string]any
		want         schema.Marks
		rules        []string
	}{
		{"nothing", "nil is no marks", nil, schema.Marks{}, nil},
		{"boolean", "as a document has it", map[string]any{schema.KeyImmutable: true}, schema.Marks{Locks: []schema.Lock{schema.Immutable}}, nil},
		{"string true", "as openapi-gen writes it", map[string]any{schema.KeyImmutable: "true"}, schema.Marks{Locks: []schema.Lock{schema.Immutable}}, nil},
		{"string slice", "as Structural.ToKubeOpenAPI stores it", map[string]any{schema.KeyListMapKeys: []string{"a"}}, schema.Marks{ListMapKeys: []string{"a"}}, nil},
		{"any slice", "as JSON decodes it", map[string]any{schema.KeyListMapKeys: []any{"a", "b"}}, schema.Marks{ListMapKeys: []string{"a", "b"}}, nil},
		{"one string", "as a marker may write it", map[string]any{schema.KeyUpdate: "NoSet"}, schema.Marks{Locks: []schema.Lock{schema.NoSet}}, nil},
		{"words", "in one order, each once", map[string]any{schema.KeyUpdate: []any{"NoModify", "NoSet", "NoModify"}}, schema.Marks{Locks: []schema.Lock{schema.NoSet, schema.NoModify}}, nil},
		{"false", "a child cannot lift a lock", map[string]any{schema.KeyImmutable: false}, schema.Marks{}, []string{"lock-value"}},
		{"mixed case", "JSON decoding keeps the letter case", map[string]any{"x-Kubernetes-immutable": true}, schema.Marks{}, []string{"key-case"}},
		{"mixed list", "not a list of strings", map[string]any{schema.KeyUpdate: []any{"NoSet", 1.0}}, schema.Marks{}, []string{"update-word"}},
		{"other keys", "not fieldlock's", map[string]any{"x-kubernetes-validations": []any{}, "x-other": 1}, schema.Marks{}, nil},
		{"lock on keys", "with words beside it", map[string]any{schema.KeyAdditionOnly: true, schema.KeyUpdate: []any{"NoUnset"}}, schema.Marks{Locks: []schema.Lock{schema.AdditionOnly, schema.NoUnset}}, nil},
		{"topology", "the enumerated keys", map[string]any{schema.KeyListType: "map", schema.KeyMapType: "atomic", schema.KeyMapListOrder: "ignored", schema.KeyNormalize: "zero", schema.KeyEmbedded: true},
			schema.Marks{ListType: "map", MapType: "atomic", MapListOrder: "ignored", Normalize: "zero", Embedded: true}, nil},
		{"bad topology", "none of it is read", map[string]any{schema.KeyListType: "bag", schema.KeyMapType: 1, schema.KeyMapListOrder: "no", schema.KeyListMapKeys: 1}, schema.Marks{},
			[]string{"map-list-order-value", "list-map-keys-value", "list-type-value", "map-type-value"}},
		{"no words", "a lock that locks nothing", map[string]any{schema.KeyUpdate: []any{}}, schema.Marks{}, []string{"update-word"}},
		{"a word beside an unknown one", "both are reported of", map[string]any{schema.KeyUpdate: []any{"NoSet", "NoSett"}}, schema.Marks{Locks: []schema.Lock{schema.NoSet}}, []string{"update-word"}},
		{"sorted", "problems by key", map[string]any{schema.KeyNormalize: 1, schema.KeyImmutable: nil}, schema.Marks{}, []string{"lock-value", "normalize-value"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, problems := schema.ReadMarks(row.ext)
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

// TestProblemsShowTheValue: as it is written in JSON, so that text can be told from a number.
func TestProblemsShowTheValue(t *testing.T) {
	for key, value := range map[string]any{schema.KeyImmutable: "no", schema.KeyListType: "1", schema.KeyUpdate: 1, schema.KeyNormalize: 1} {
		want := key + " is " + map[any]string{"no": `"no"`, "1": `"1"`, 1: "1"}[value] + ":"
		if _, problems := schema.ReadMarks(map[string]any{key: value}); len(problems) != 1 || problems[0].Key != key || !strings.HasPrefix(problems[0].Message, want) {
			t.Errorf("%v, want one that begins with %s", problems, want)
		}
	}
}

// TestDecodedSchema shows the trap that Read avoids: the getters of kube-openapi miss keys of a decoded document.
func TestDecodedSchema(t *testing.T) {
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"X-Kubernetes-Immutable": true}`), &s); err != nil {
		t.Fatal(err)
	}
	if _, found := s.Extensions.GetBool(schema.KeyImmutable); found {
		t.Error("kube-openapi finds the key now: the rule key-case can go")
	}
	if _, problems := schema.ReadMarks(s.Extensions); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
	if !schema.HasLock(s.Extensions) {
		t.Error("a lock in the wrong letter case is a lock that somebody meant")
	}
}
