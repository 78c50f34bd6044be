package celrule

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// importCase is a case of testdata/import.yaml.
type importCase struct {
	Name, Reason string
	Spec         json.RawMessage
	Locks        map[string]map[string]any
	Left         map[string]string
	Cover        map[string]string // of rules for which something else is said than that their locks say it all
}

func readCases(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// version wraps a schema of spec in that of an object.
func version(t *testing.T, name string, spec json.RawMessage) crdVersion {
	t.Helper()
	raw := []byte(`{"type": "object", "required": ["spec"], "properties": {"spec": ` + string(spec) + `}}`)
	return crdVersion{name, raw, decodeSchema(t, raw)}
}

func TestImport(t *testing.T) {
	var cases []importCase
	readCases(t, "testdata/import.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			v := version(t, c.Name, c.Spec)
			im := Import(v.schema)
			got := map[string]map[string]any{}
			for _, change := range im.Changes {
				if len(change.SetKeys) > 0 {
					got[strings.TrimPrefix(change.SchemaPath, "/properties/spec")] = change.SetKeys
				}
			}
			want := c.Locks
			if want == nil {
				want = map[string]map[string]any{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("locks (-want +got):\n%s(%s)", diff, c.Reason)
			}
			for _, left := range im.Left {
				if want, ok := c.Left[left.Text]; !ok || !strings.Contains(left.Reason, want) {
					t.Errorf("left %q because %q, want a reason with %q", left.Text, left.Reason, want)
				}
			}
			if len(im.Left) != len(c.Left) {
				t.Errorf("left %d rules, want %d", len(im.Left), len(c.Left))
			}
			for _, r := range im.Recognized {
				if c.Cover != nil && r.Reason != c.Cover[r.Text] {
					t.Errorf("%q: covered: %q, want %q (%s)", r.Text, r.Reason, c.Cover[r.Text], c.Reason)
				}
			}
			if len(im.Recognized) > 0 {
				proveImport(t, v, im, 400)
			}
			for path := range got {
				if rules := rulesAt(t, v, im, path); len(c.Left) == 0 && rules != nil {
					t.Errorf("%s still has rules %v", path, rules)
				}
			}
		})
	}
}

// rulesAt returns the rules that are left at path below spec.
func rulesAt(t *testing.T, v crdVersion, im Imported, path string) any {
	t.Helper()
	for _, p := range readTree(Apply(v.schema, im.Changes)).All {
		if p.Path.Pointer() == "/properties/spec"+path {
			return p.Schema.Extensions[schema.KeyValidations]
		}
	}
	t.Errorf("there is no %s", path)
	return nil
}

// TestRecognizedLocks: the locks of a recognized rule, each once and sorted by schema path.
func TestRecognizedLocks(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		locks      []string
	}{
		{"in another order", "self.c == oldSelf.c && self.a == oldSelf.a && self.b == oldSelf.b", []string{"spec.a immutable", "spec.b immutable", "spec.c immutable"}},
		{"said twice", "self.a == oldSelf.a && self.a == oldSelf.a", []string{"spec.a immutable"}},
		{"the keys of a map", "self.m.all(k, k in oldSelf.m)", []string{"spec.m deletion-only"}},
		{"nothing refused", "self.a == oldSelf.a || true", nil},
	} {
		v := version(t, c.name, json.RawMessage(`{"type": "object", "required": ["a", "b", "c", "m"], "x-kubernetes-validations": [{"rule": "`+c.rule+`"}],
			"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}}}`))
		im := Import(v.schema)
		if len(im.Recognized) != 1 {
			t.Fatalf("%s: %+v", c.name, im)
		}
		var got []string
		for _, l := range im.Recognized[0].Locks {
			got = append(got, l.Path+" "+l.Lock)
		}
		if diff := cmp.Diff(c.locks, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestForms: each form refuses exactly the changes of its row, as the API server's validator says, and Import reads it
// as the locks that refuse them. Where the field is always there, it can only be modified.
func TestForms(t *testing.T) {
	states := []struct {
		change           schema.Change
		newSpec, oldSpec string
	}{
		{0, `{}`, `{}`}, {0, `{"f": "a"}`, `{"f": "a"}`}, {schema.Set, `{"f": "a"}`, `{}`}, {schema.Unset, `{}`, `{"f": "a"}`}, {schema.Modify, `{"f": "b"}`, `{"f": "a"}`},
	}
	object := func(spec string) map[string]any { return map[string]any{"spec": decoded(t, spec)} }
	for _, f := range forms {
		v := version(t, f.text, json.RawMessage(`{"type": "object", "properties": {"f": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "`+f.example+`"}]}`))
		judge, im := judgeOf(t, v.schema, nil), Import(v.schema)
		if len(im.Recognized) != 1 {
			t.Fatalf("%s is not read: %+v", f.example, im.Left)
		}
		var read schema.Change
		for _, l := range im.Recognized[0].Locks {
			read |= changesOf(schema.Lock(l.Lock))
		}
		if read != f.refused {
			t.Errorf("%s is read as locks that refuse %b, want %b", f.example, read, f.refused)
		}
		for _, s := range states {
			if accepted, why := judge.accepts(t, object(s.newSpec), object(s.oldSpec)); accepted != (f.refused&s.change == 0) {
				t.Errorf("%s accepts %s after %s: %v (%s)", f.example, s.newSpec, s.oldSpec, accepted, why)
			}
		}
		required := strings.Replace(string(v.raw), `{"type": "object", "properties": {"f"`, `{"type": "object", "required": ["f"], "properties": {"f"`, 1)
		im = Import(decodeSchema(t, []byte(required)))
		want := []LockAt{{"spec.f", "/properties/spec/properties/f", "immutable"}}
		if !f.refused.Has(schema.Modify) {
			want = nil
		}
		if diff := cmp.Diff(want, im.Recognized[0].Locks); diff != "" {
			t.Errorf("%s on a required field (-want +got):\n%s", f.example, diff)
		}
	}
}

// TestCustomMessage: a message that says more than the lock, or another thing, is the author's own.
func TestCustomMessage(t *testing.T) {
	for text, custom := range map[string]bool{
		"": false, "field is immutable": false, "field is immutable once it is set": false, "field is immutable: no keys may be removed, at nodes[*].zone": false,
		"Value is immutable": true, "field is immutable, ask the storage team": true, "spec.size: field is immutable": true,
	} {
		v := version(t, "message", json.RawMessage(`{"type": "object", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "`+text+`"}]}`))
		im := Import(v.schema)
		if len(im.Recognized) != 1 || (im.Recognized[0].CustomMessage() == text && text != "") != custom {
			t.Errorf("%q: %+v", text, im)
		}
	}
}

// TestImportAgain: the rules of locks that the schema still has, as an exported CRD does in its annotation, add nothing
// to them.
func TestImportAgain(t *testing.T) {
	var cases []exportCase
	readCases(t, "testdata/export.yaml", &cases)
	again := 0
	for _, c := range cases {
		v := version(t, c.Name, c.Spec)
		ex, err := Export(v.schema)
		if err != nil {
			t.Fatal(err)
		}
		var rules []Change
		for _, change := range ex.Changes {
			rules = append(rules, Change{SchemaPath: change.SchemaPath, AddRules: change.AddRules})
		}
		im := Import(Apply(v.schema, rules))
		for _, l := range im.Left {
			t.Errorf("%s: %s is left: %s", c.Name, l.Text, l.Reason)
		}
		for _, r := range im.Recognized {
			if again++; len(r.Locks) > 0 && c.Unlike == "" {
				t.Errorf("%s: %s becomes %v again", c.Name, r.Text, r.Locks)
			}
		}
		for _, change := range im.Changes {
			if len(change.SetKeys) > 0 && c.Unlike == "" {
				t.Errorf("%s: %s gets %v", c.Name, change.SchemaPath, change.SetKeys)
			}
		}
		if _, err := immutability.Compile(Apply(Apply(v.schema, rules), im.Changes)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if again < 50 {
		t.Errorf("only %d rules", again)
	}
}
