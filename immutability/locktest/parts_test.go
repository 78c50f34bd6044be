package locktest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/witness"
)

type messages []string

func (*messages) Helper()                             {}
func (m *messages) Errorf(format string, args ...any) { *m = append(*m, fmt.Sprintf(format, args...)) }
func (m *messages) Fatalf(format string, args ...any) { m.Errorf(format, args...) }

// TestObject: what an object leaves out is filled in, and the caller's value stays as it is.
func TestObject(t *testing.T) {
	k := CRD(t, "testdata/databases.yaml")
	const spec = "spec: {engine: mysql}"
	for _, c := range []struct {
		name   string
		object any
		want   map[string]any // without spec
		err    string
	}{
		{"all is filled in", spec, map[string]any{"apiVersion": "example.com/v1", "kind": "Database", "metadata": map[string]any{"name": "example"}}, ""},
		{"bytes", []byte(spec), map[string]any{"apiVersion": "example.com/v1", "kind": "Database", "metadata": map[string]any{"name": "example"}}, ""},
		{"empty type, as Go types encode it", `{apiVersion: "", kind: "", metadata: {creationTimestamp: null}, ` + spec + `}`, map[string]any{"apiVersion": "example.com/v1", "kind": "Database", "metadata": map[string]any{"name": "example"}}, ""},
		{"what is there stays", `{apiVersion: example.com/v1, kind: Other, metadata: {name: a, creationTimestamp: "2026-01-01T00:00:00Z", labels: {b: c}}, ` + spec + `}`,
			map[string]any{"apiVersion": "example.com/v1", "kind": "Other", "metadata": map[string]any{"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": map[string]any{"b": "c"}}}, ""},
		{"nothing", nil, nil, "it is missing"},
		{"an empty text", "", nil, "it is missing"},
		{"null", []byte("null"), nil, "it is missing"},
		{"a nil pointer", (*struct{})(nil), nil, "it is missing"},
		{"a list", "[]", nil, "it is not an object"},
		{"a key twice", "spec: {}\nspec: {}", nil, "already set"},
		{"a key twice, in bytes", []byte("spec: {}\nspec: {}"), nil, "already set"},
		{"what has no JSON", func() {}, nil, "unsupported type"},
		{"a field that the schema does not know", "spec: {engine: mysql, sise: 1}", nil, "the schema of example.com/v1 does not know spec.sise"},
	} {
		got, err := k.object(c.object)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err != nil {
			continue
		}
		delete(got, "spec")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	given := map[string]any{"metadata": map[string]any{"labels": map[string]any{}}, "spec": map[string]any{"engine": "mysql"}}
	before := fmt.Sprint(given)
	if _, err := k.object(given); err != nil || fmt.Sprint(given) != before {
		t.Errorf("the object is now %v, %v", given, err)
	}
}

// TestLost: the first field that pruning takes away; null and metadata do not count.
func TestLost(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		name          string
		before, after any
		want          string
	}{
		{"nothing", object{"a": "b"}, object{"a": "b", "defaulted": 1}, ""},
		{"a field", object{"a": "b"}, object{}, "a"},
		{"a field far below", object{"a": object{"b": object{"c": 1}}}, object{"a": object{"b": object{}}}, "a.b.c"},
		{"a field of an item", object{"l": []any{object{"a": 1}, object{"a": 1, "b": 2}}}, object{"l": []any{object{"a": 1}, object{"a": 1}}}, "l[1].b"},
		{"several fields", object{"a": 1, "b": object{"d": 1}, "c": object{"e": 1}}, object{"a": 1, "b": object{}, "c": object{}}, "b.d"},
		{"null", object{"a": nil, "b": object{"c": nil}}, object{"b": object{}}, ""},
		{"metadata", object{"metadata": object{"name": "a"}}, object{}, ""},
		{"a field of a value that is gone as a whole", object{"a": object{"b": 1}}, object{}, "a"},
		{"items of a list that is gone", object{"l": []any{object{"a": 1}}}, object{"l": nil}, ""},
	} {
		if got := lost(c.before, c.after, ""); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestMerge(t *testing.T) {
	type object = map[string]any
	old := object{"a": object{"b": 1, "c": 2}, "d": "e", "l": []any{1}}
	before := fmt.Sprint(old)
	for _, c := range []struct {
		name       string
		old, patch object
		want       object
	}{
		{"a field below", old, object{"a": object{"b": 5}}, object{"a": object{"b": 5, "c": 2}, "d": "e", "l": []any{1}}},
		{"null", old, object{"a": object{"b": nil}, "d": nil}, object{"a": object{"c": 2}, "l": []any{1}}},
		{"null where there is nothing", old, object{"x": nil, "z": object{"b": nil}}, object{"a": object{"b": 1, "c": 2}, "d": "e", "l": []any{1}, "z": object{}}},
		{"an object for a text, and a list", old, object{"d": object{"f": 1}, "l": []any{2}}, object{"a": object{"b": 1, "c": 2}, "d": object{"f": 1}, "l": []any{2}}},
		{"nothing before", nil, object{"a": 1}, object{"a": 1}},
	} {
		if diff := cmp.Diff(c.want, merge(c.old, c.patch)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if fmt.Sprint(old) != before {
		t.Errorf("the old object is now %v", old)
	}
}

// TestWords: what a failure says.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{{nil, "allowed"}, {[]string{"a", "b"}, "refused at a, b"}, {[]string{"", "b"}, "refused at the whole object, b"}} {
		if got := outcome(c.paths); got != c.want {
			t.Errorf("%q: %q", c.paths, got)
		}
	}
	got := reasons([]witness.Refusal{{Path: "a", Message: "m"}, {Path: "a", Message: "m"}, {Message: "failed rule: self", Rule: "self"}, {Path: "b", Message: "m", Rule: "self"}})
	if want := []string{"a: m", "the object: failed rule: self", "b: m (rule: self)"}; !slices.Equal(got, want) {
		t.Errorf("reasons %q, want %q", got, want)
	}
	if got := indent([]string{"a", "b"}); got != "    a\n    b" {
		t.Errorf("indented %q", got)
	}
	text, err := describe(witness.Breach{Witness: witness.Witness{Objects: []map[string]any{{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}}, Refused: []witness.Refusal{{Path: "a", Message: "m"}, {Path: "b", Message: "n"}}}})
	if want := "# first\na: 1\n---\n# second\na: 2\n---\n# third\na: 3\n---\n# third\na: 4\n# from the first to the third directly is refused: a: m\n# from the first to the third directly is refused: b: n"; err != nil || text != want {
		t.Errorf("described as %q, %v", text, err)
	}
	for through, want := range map[string]string{"spec.a": "spec.a", "a swap of unknown fields": "spec.f"} {
		if got := hole(witness.Breach{Field: "spec.f", Through: through}); got != want {
			t.Errorf("through %s: the hole is %q", through, got)
		}
	}
}

// TestOptions: all of them count; a hole covers what is below it.
func TestOptions(t *testing.T) {
	a := &attack{needed: map[string]bool{}}
	for _, option := range []AttackOption{WithAccepted("spec.a", "spec.l"), WithAccepted("status")} {
		option.apply(a)
	}
	if !reflect.DeepEqual(a, &attack{accepted: []string{"spec.a", "spec.l", "status"}, needed: map[string]bool{}}) {
		t.Errorf("options %+v", a)
	}
	for path, want := range map[string]bool{"spec.a": true, "spec.a.b": true, "spec.l[0]": true, "spec.ab": false, "spec": false, "status.x": true, ".x": false, "[0]": false} {
		if a.accepts(path) != want {
			t.Errorf("%s is accepted: %v", path, !want)
		}
	}
	k := CRD(t, "testdata/databases.yaml")
	var m messages
	k.Attack(&m, `spec: {engine: postgres}`, WithAccepted("spec.size"), WithAccepted("spec.storage"))
	if len(m) > 0 {
		t.Errorf("all holes are accepted: %q", m)
	}
	k.Attack(&m, `spec: [`)
	k.Attack(&m, `spec: {}`)
	if len(m) != 2 || !strings.HasPrefix(m[0], "the object to attack: ") || !strings.HasPrefix(m[1], "the object to attack: ") {
		t.Errorf("objects that cannot be attacked: %q", m)
	}
}

// TestRows: every row is tried, under its name, and each mistake says which part of the row it is in.
func TestRows(t *testing.T) {
	k := CRD(t, "testdata/databases.yaml")
	var m messages
	k.Run(&m, []Update{
		{Name: "one", Old: "spec: {engine: a", New: "spec: {}"}, {Name: "two", Old: "spec: {engine: mysql}", New: "spec: {engine: a"}, {Name: "three", Old: "spec: {engine: mysql}", Patch: "spec: {"},
		{Name: "four", Old: "spec: {engine: mysql}", Patch: "spec: {sise: 1}"}, {Name: "five", Old: "spec: {engine: mysql}", Patch: "spec: {engine: postgres}", Refused: []string{"spec.engine", "spec.engine"}},
	})
	for i, want := range []string{"one: Old: ", "two: New: ", "three: Patch: ", "four: Old with Patch: "} {
		if i >= len(m) || !strings.HasPrefix(m[i], want) {
			t.Errorf("message %d of %q does not begin with %q", i, m, want)
		}
	}
	if len(m) != 4 {
		t.Errorf("%q", m)
	}
	for name, text := range map[string]string{
		"NoAddItem": strings.Replace(crdText, "x-kubernetes-immutable: true", "x-fieldlock-update: [NoAddItem]", 1),
		"f has 2 CRDs; locktest reads files with one": crdText + "---\n" + strings.NewReplacer("widget", "gadget", "Widget", "Gadget").Replace(crdText),
	} {
		var m messages
		if k := CRDFrom(&m, "f", []byte(text)); k != nil || len(m) != 1 || !strings.HasPrefix(m[0], "locktest: ") || !strings.Contains(m[0], name) {
			t.Errorf("%s: %q", name, m)
		}
	}
	m = nil
	twice := CRDFrom(t, "f", []byte(strings.Replace(crdText, "x-kubernetes-immutable: true", "x-kubernetes-immutable: true, x-kubernetes-validations: [{rule: self == oldSelf}]", 1)))
	twice.Run(&m, []Update{
		{Name: "a lock and a rule at one path", Old: "{apiVersion: example.com/v1, spec: a}", New: "{apiVersion: example.com/v1, spec: b}", Refused: []string{"spec"}},
		{Name: "a value of another type", Old: "{apiVersion: example.com/v1, spec: a}", New: "{apiVersion: example.com/v1, spec: 5}"},
	})
	if len(m) != 1 || !strings.HasPrefix(m[0], "a value of another type: the objects are not valid, so that no lock or rule is to be tried on them:\n    ") {
		t.Errorf("%q", m)
	}
	k = CRDFrom(t, "f", []byte(crdText))
	if k.version.Name != "v2" {
		t.Errorf("objects without a version are of %s, not of the version that is stored", k.version.Name)
	}
}

const crdText = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: string, x-kubernetes-immutable: true}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: string}}}}}
  - {name: v3, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: string}}}}}
`
