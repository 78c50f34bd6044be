package kind

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

func schemaOf(t *testing.T, text string) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestItemKeys: which item a path leads through.
func TestItemKeys(t *testing.T) {
	s := schemaOf(t, `{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {"type": "object",
			"properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}, "name": {"type": "string"}}}},
		"plain": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
		"pools": {"type": "object", "additionalProperties": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
			"items": {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}}}}}`)
	object := objectOf(t, "spec: {ports: [{port: 80, protocol: TCP, name: a}, {port: 53}, 5], plain: [{name: a}], pools: {a.b: [{name: big, size: 1}]}, unknown: [{name: z}]}")
	for _, c := range []struct{ path, want, reason string }{
		{"spec.ports[0].name", "80, TCP", "every key"},
		{"spec.ports[0]", "80, TCP", "the item itself"},
		{"spec.ports[1].name", "53", "the keys that the item has"},
		{"spec.ports[2].name", "", "an item that is no object"},
		{"spec.ports[9].name", "", "an item that is not there"},
		{"spec.ports", "", "the list is no item"},
		{"spec.plain[0].name", "", "a list without keys"},
		{"spec.pools[a.b][0].size", "big", "below a key of a map"},
		{"spec.unknown[0].name", "", "a field that the schema does not have"},
		{"metadata.name", "", "no list at all"},
	} {
		if got := FromSchema(s, nil, nil).ItemKeys(object, fieldpath.Parse(c.path)); got != c.want {
			t.Errorf("%s: got %q, want %q: %s", c.path, got, c.want, c.reason)
		}
	}
}

// TestPasswordItems: the keys of items that are passwords as a whole are not shown.
func TestPasswordItems(t *testing.T) {
	s := schemaOf(t, `{"type": "array", "items": {"type": "object", "format": "password", "properties": {"k": {"type": "string"}}}}`)
	if got := keysOf(FromSchema(s, nil, nil).RedactionAt([]any{0}), map[string]any{"k": "secret"}, []string{"k"}); strings.Contains(got, "secret") || got == "" {
		t.Errorf("the keys are %q", got)
	}
}

// TestCorrelate: the old value of an item of a keyed list is that of the item with the same keys, elsewhere that at the
// same place.
func TestCorrelate(t *testing.T) {
	s := schemaOf(t, `{"type": "object", "properties": {
		"a": {"type": "object", "additionalProperties": {"type": "string"}}, "plain": {"type": "array", "items": {"type": "string"}},
		"keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"], "items": {"type": "object", "properties": {"k": {"type": "string"}, "l": {"type": "string"}, "v": {"type": "string"}}}}}}`)
	newObj := objectOf(t, `{a: {b: one}, plain: [p, q, r], keyed: [{k: i, l: m, v: "1"}, {k: j, l: m, v: "2"}, {k: new, v: "3"}, 5], unknown: [u], set: s}`)
	oldObj := objectOf(t, `{a: {b: two, gone: g}, plain: [q, p], keyed: [{k: j, l: m, v: "3", gone: g}, {k: i, l: o, v: "5"}, {k: i, l: m, v: "4"}], unknown: [w]}`)
	for _, c := range []struct{ path, newVal, oldVal, reason string }{
		{"a.b", "one", "two", "the same field"},
		{"a.gone", "-", "g", "a field that NEW does not have"},
		{"set", "s", "-", "a field that OLD does not have"},
		{"plain[0]", "p", "q", "a list without keys"},
		{"plain[2]", "r", "-", "an item that OLD does not have"},
		{"keyed[0].v", "1", "4", "the item with both keys"},
		{"keyed[1].v", "2", "3", "the item with both keys"},
		{"keyed[2].v", "3", "-", "an item with new keys"},
		{"keyed[3]", "-", "-", "an item that is no object: nobody can tell"},
		{"unknown[0]", "u", "w", "a field that the schema does not have"},
		{"keyed[1].gone", "-", "g", "a field that NEW's item does not have, at another index in OLD"},
		{"none.at.all", "-", "-", "a path that leads nowhere"},
	} {
		newVal, oldVal := Correlate(s, newObj, oldObj, fieldpath.Resolve(c.path, newObj, oldObj))
		show := func(v result.Value) string {
			if !v.OK {
				return "-"
			}
			return fmt.Sprint(v.Data)
		}
		if show(newVal) != c.newVal || show(oldVal) != c.oldVal {
			t.Errorf("%s: new %s, old %s, want %s and %s (%s)", c.path, show(newVal), show(oldVal), c.newVal, c.oldVal, c.reason)
		}
	}
	if newVal, oldVal := Correlate(s, newObj, oldObj, nil); !newVal.OK || !oldVal.OK {
		t.Errorf("the whole objects: %v, %v", newVal, oldVal)
	}
	if newVal, oldVal := Correlate(nil, newObj, oldObj, fieldpath.Path{"plain", 1}); newVal.Data != "q" || oldVal.Data != "p" {
		t.Errorf("without a schema items have their index: %v, %v", newVal, oldVal)
	}
	if _, oldVal := Correlate(s, newObj, map[string]any{"keyed": "x"}, fieldpath.Path{"keyed", 0, "v"}); oldVal.OK {
		t.Errorf("OLD has no list there: %v", oldVal)
	}
}

// TestPasswords: a value of format password is not shown, nor anything in one; what else is beside it is.
func TestPasswords(t *testing.T) {
	s := schemaOf(t, `{"type": "object", "properties": {
		"p": {"type": "string", "format": "password"}, "o": {"type": "object", "format": "password", "properties": {"a": {"type": "string"}}},
		"q": {"type": "object", "properties": {"p": {"type": "string", "format": "password"}, "a": {"type": "string"}}},
		"m": {"type": "object", "additionalProperties": {"type": "string", "format": "password"}},
		"l": {"type": "array", "items": {"type": "string", "format": "password"}}, "names": {"type": "array", "items": {"type": "string"}}}}`)
	obj := objectOf(t, `{p: x, o: {a: x}, q: {p: x, a: b}, m: {k: x}, l: [x], names: [b], u: {p: b}}`)
	for _, c := range []struct {
		path, want string
		redacted   bool
	}{
		{"p", `"(redacted)"`, true}, {"o", `"(redacted)"`, true}, {"o.a", `"(redacted)"`, true}, {"q", `{"a":"b","p":"(redacted)"}`, true}, {"q.a", `"b"`, false},
		{"m", `{"k":"(redacted)"}`, true}, {"m.k", `"(redacted)"`, true}, {"l", `["(redacted)"]`, true}, {"l[0]", `"(redacted)"`, true}, {"names", `["b"]`, false}, {"u", `{"p":"b"}`, false},
	} {
		at := fieldpath.Resolve(c.path, obj)
		v, _ := Correlate(s, obj, obj, at)
		got := new(check.Redactor).Hide(FromSchema(s, nil, nil).RedactionAt(at), v.Data)
		if text := encoded(got); text != c.want || HasRedacted(got) != c.redacted {
			t.Errorf("%s: %s, redacted %v; want %s", c.path, text, HasRedacted(got), c.want)
		}
	}
	if !HasRedacted([]any{"a", map[string]any{"b": "c", "d": []any{check.Redacted}}}) || HasRedacted([]any{"a", map[string]any{"b": int64(1)}}) {
		t.Error("a value that is not shown is found anywhere in another one")
	}
}
