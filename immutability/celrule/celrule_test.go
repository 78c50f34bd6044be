package celrule_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
)

const lockedText = `{"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "properties": {
	"class": {"type": "string", "maxLength": 63, "x-kubernetes-immutable": true},
	"labels": {"type": "object", "maxProperties": 8, "x-kubernetes-addition-only": true, "additionalProperties": {"type": "string", "maxLength": 8}},
	"ports": {"type": "array", "maxItems": 8, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-fieldlock-update": ["NoRemoveItem"],
		"items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 8}}}},
	"steps": {"type": "array", "items": {"type": "string", "x-kubernetes-immutable": true}}}}}}`

// TestThereAndBack: exported locks that are imported again refuse the same updates, and no function changes its schema.
func TestThereAndBack(t *testing.T) {
	locked := schemaOf(lockedText)
	exported, err := celrule.Export(locked)
	if err != nil {
		t.Fatal(err)
	}
	if len(exported.Rules) != 3 || len(exported.Rest) != 1 || exported.Rest[0].Path != "spec.steps[*]" || exported.Rest[0].Locks[0] != immutability.LockImmutable {
		t.Errorf("exported %+v", exported)
	}
	if v := immutability.MustCompile(exported.Schema); !v.Empty() {
		t.Error("the exported schema still has locks")
	}
	before := encode(t, exported.Schema)
	imported := celrule.Import(exported.Schema)
	if len(imported.Recognized) != 3 || len(imported.Left) != 0 {
		t.Errorf("imported %+v", imported)
	}
	if !reflect.DeepEqual(locked, schemaOf(lockedText)) || encode(t, exported.Schema) != before {
		t.Error("a schema has changed")
	}
	locks := immutability.MustCompile(imported.Schema)
	object := func(spec string) []byte { return []byte(`{"spec": ` + spec + `}`) }
	for _, c := range []struct {
		old, new string
		refused  int
	}{
		{`{"class": "a", "steps": ["x"]}`, `{"class": "a", "steps": ["y"]}`, 0},
		{`{"class": "a"}`, `{}`, 1},
		{`{"labels": {"a": "1"}}`, `{"labels": {"b": "1"}}`, 1},
		{`{"ports": [{"name": "a"}]}`, `{"ports": [{"name": "b"}]}`, 1},
		{`{"ports": [{"name": "a"}]}`, `{"ports": [{"name": "b"}, {"name": "a"}]}`, 0},
	} {
		list, err := locks.ValidateUpdateJSON(object(c.new), object(c.old))
		if err != nil || len(list) != c.refused {
			t.Errorf("%s to %s: %v, %v; want %d refusals", c.old, c.new, list, err, c.refused)
		}
	}
}

func TestErrors(t *testing.T) {
	wrong := schemaOf(`{"type": "object", "x-kubernetes-immutable": true}`)
	_, err := celrule.Export(wrong)
	_, policyErr := celrule.ExportPolicy(wrong)
	for _, err := range []error{err, policyErr} {
		if mistakes := (*immutability.SchemaError)(nil); !errors.As(err, &mistakes) {
			t.Errorf("a lock at the root is the error %v", err)
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func ExampleExportPolicy() {
	policy, err := celrule.ExportPolicy(schemaOf(`{"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "properties": {
		"class": {"type": "string", "x-fieldlock-update": ["NoUnset"]}}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range policy.Validations {
		fmt.Println(v.Expression)
	}
	// Output:
	// !has(oldObject.spec.class) || has(object.spec.class)
}
