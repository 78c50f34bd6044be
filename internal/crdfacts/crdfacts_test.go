package crdfacts

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestData reads every file, compiles every row, and finds every kind by each of its versions.
func TestData(t *testing.T) {
	kinds := All()
	if len(kinds) == 0 {
		t.Fatal("there are no kinds")
	}
	for _, k := range kinds {
		if _, err := k.Check(map[string]any{}, map[string]any{}, ""); err != nil {
			t.Errorf("%s %s: %v", k.APIVersion(), k.Kind, err)
		}
		for _, version := range k.Versions {
			if found, ok := Find(k.Group+"/"+version, k.Kind); !ok || found != k {
				t.Errorf("%s/%s %s is not found", k.Group, version, k.Kind)
			}
		}
		for _, r := range k.Rows {
			if r.Unknown == (len(r.Locks()) > 0) || r.Path == "" {
				t.Errorf("%s %s: %s: a row is either a lock or unknown", k.Group, k.Kind, r.Path)
			}
		}
		if k.Project.Name == "" || k.Project.Module == "" || k.Project.Version == "" {
			t.Errorf("%s %s: no project", k.Group, k.Kind)
		}
	}
	if _, ok := Find("karpenter.sh/v9", "NodePool"); ok {
		t.Error("a version that no file has is found")
	}
	if _, ok := Find("example.com/v1", "Widget"); ok {
		t.Error("a kind that no file has is found")
	}
}

const widget = `
project: Widgets
module: example.com/widgets
version: 1.2.3
kinds:
- group: example.com
  kind: Widget
  plural: widgets
  versions: [v1]
  rows:
  - {path: spec.class, lock: immutable, says: class is immutable}
  - {path: spec.zone, update: [NoUnset, NoModify]}
  - {path: "spec.doors[*].port", lock: immutable}
  - {path: "spec.labels{*}", lock: immutable}
  - {path: spec.tags, lock: addition-only}
  - {path: spec.roles, lock: addition-only}
  - {path: spec.parts, update: [NoModify]}
  - {path: spec.paused, update: [NoUnset], normalize: zero}
  - {path: spec.backup.size, unknown: true}
  fields:
    spec.class: {default: small}
    spec.doors: {keys: [name]}
    "spec.doors[*].name": {default: front}
    spec.roles: {set: true}
    spec.paused: {type: boolean}
    spec.parts: {keys: [id]}
    spec.backup.size: {default: 1}
`

func TestCheck(t *testing.T) {
	p, err := Parse([]byte(widget))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, old, new, refused, unknown string }{
		{"nothing", `{class: a}`, `{class: a}`, "", ""},
		{"another value", `{class: a}`, `{class: b}`, "spec.class", ""},
		{"the default, written out", `{}`, `{class: small}`, "", ""},
		{"the default instead of a value", `{class: a}`, `{}`, "spec.class", ""},
		{"null is the default", `{class: null}`, `{class: small}`, "", ""},
		{"a field that may be set", `{}`, `{zone: a}`, "", ""},
		{"a field that may not be unset", `{zone: a}`, `{}`, "spec.zone", ""},
		{"items of a list are paired by their keys", `{doors: [{name: a, port: 1}, {name: b, port: 2}]}`, `{doors: [{name: b, port: 2}, {name: a, port: 1}]}`, "", ""},
		{"an item of a list", `{doors: [{name: a, port: 1}, {name: b, port: 2}]}`, `{doors: [{name: b, port: 3}]}`, "spec.doors[0].port", ""},
		{"the default of a key", `{doors: [{name: front, port: 1}]}`, `{doors: [{port: 2}]}`, "spec.doors[0].port", ""},
		{"a value of a map", `{labels: {a: x}}`, `{labels: {a: y}}`, "spec.labels[a]", ""},
		{"a key of a map", `{labels: {a: x}}`, `{labels: {b: y}}`, "", ""},
		{"a removed key", `{tags: {a: x}}`, `{tags: {b: x}}`, "spec.tags", ""},
		{"a removed item of a set", `{roles: [a, b]}`, `{roles: [b]}`, "spec.roles", ""},
		{"an added item of a set", `{roles: [a]}`, `{roles: [b, a]}`, "", ""},
		{"a locked list in another order", `{parts: [{id: a}, {id: b}]}`, `{parts: [{id: b}, {id: a}]}`, "", ""},
		{"a locked list with another item", `{parts: [{id: a}]}`, `{parts: [{id: b}]}`, "spec.parts", ""},
		{"a zero value that counts as absent", `{paused: false}`, `{}`, "", ""},
		{"a value that becomes the zero value", `{paused: true}`, `{paused: false}`, "spec.paused", ""},
		{"null in a locked value", `{parts: [{id: a}]}`, `{parts: [{id: a, note: null}]}`, "", ""},
		{"an object for the list around a lock", `{doors: [{name: a, port: 1}]}`, `{doors: {a: 1}}`, "spec.doors", ""},
		{"a text for the object around a field of which a rule decides", `{backup: {size: 1}}`, `{backup: x}`, "", "spec.backup"},
		{"a field of which a rule decides", `{backup: {size: 1}}`, `{backup: {size: 2}}`, "", "spec.backup.size"},
		{"the object around it", `{backup: {size: 2}}`, `{}`, "", "spec.backup.size"},
		{"the object around it, with the default", `{backup: {size: 1}}`, `{}`, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			verdict, err := p.Kinds[0].Check(object(t, row.new), object(t, row.old), "")
			if err != nil {
				t.Fatal(err)
			}
			var refused, unknown []string
			for _, v := range verdict.Violations {
				refused = append(refused, v.Path)
				if v.Row == 0 || v.Source != "the CRD of Widgets 1.2.3 (example.com/widgets)" {
					t.Errorf("%s: the row is %d, from %q", v.Path, v.Row, v.Source)
				}
			}
			for _, r := range verdict.Unknown {
				unknown = append(unknown, r.Path)
				if r.Row == 0 {
					t.Errorf("%s has no row", r.Path)
				}
			}
			if got := strings.Join(refused, " "); got != row.refused {
				t.Errorf("refused: %q, want %q", got, row.refused)
			}
			if got := strings.Join(unknown, " "); got != row.unknown {
				t.Errorf("unknown: %q, want %q", got, row.unknown)
			}
		})
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"a key that is not known": "project: x\nkind: []\n",
		"a kind without versions": "project: x\nkinds: [{group: a, kind: B}]\n",
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
