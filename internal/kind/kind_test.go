package kind

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// machine is a kind with a field of each sort and a row of each form.
const machine = `
fields:
  spec: {normalize: zero}
  spec.mode: {default: fast}
  spec.size: {type: quantity}
  spec.zone: {normalize: none}
  spec.host: {defaultFrom: metadata.name}
  spec.token: {default: made, once: true}
  spec.note: {nullable: true}
  spec.disks: {keys: [name]}
  spec.steps: {keys: [name]}
  "spec.labels{*}": {normalize: none}
  spec.tags: {set: true}
  spec.free: {normalize: unknown}
  spec.go: {normalize: scalars}
  spec.go.any: {normalize: unknown}
rows:
- {field: spec.mode, lock: immutable, says: mode stays}
- {fields: [spec.size, spec.zone], update: [NoModify]}
- {field: "spec.disks[*].path", lock: immutable}
- {field: spec.tags, lock: immutable}
- {field: spec.free, lock: immutable}
- {field: spec.go, lock: immutable}
- {field: spec.replicas, rule: "self.spec.replicas >= oldSelf.spec.replicas"}
- {field: spec.image, lock: immutable, when: oldSelf.spec.frozen}
- {field: spec.plan, check: cheaper, says: "not {value}", unless: trial}
- {field: spec.boot, allow: [spec.boot.order, "spec.boot.extra.*"]}
- {annotation: "example.com/*", says: "may not {change}"}
- {annotation: example.com, presence: true, says: "may not {change}"}
- {field: spec.labels, lock: addition-only}
- {field: spec.steps, lock: immutable, ordered: true}
- {field: spec.pool, lock: immutable, except: [spec.pool.size], each: true}
- {field: spec.admin, lock: immutable, named: [root], unknown: the cluster knows}
`

func machineOf(t *testing.T) (*Field, *Definition) {
	t.Helper()
	var source Source
	if err := yaml.UnmarshalStrict([]byte(machine), &source); err != nil {
		t.Fatal(err)
	}
	fields, err := NewField(source.Fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := FromData(fields, source.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return fields, rules
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestStored: an object as it is compared.
func TestStored(t *testing.T) {
	fields, _ := machineOf(t)
	for _, row := range []struct{ reason, obj, before, want string }{
		{"defaults, one of another field", "{metadata: {name: a}, spec: {x: 1}}", "{}", `{"metadata":{"name":"a"},"spec":{"host":"a","mode":"fast","token":"made","x":1}}`},
		{"a default of the creation does not come back", "{spec: {x: 1}}", "{spec: {token: t}}", `{"spec":{"mode":"fast","x":1}}`},
		{"amounts have one form", "{spec: {size: 1Ki, mode: m, token: t}}", "{}", `{"spec":{"mode":"m","size":"1024","token":"t"}}`},
		{"zero values are absent, but where they are not or nobody knows", "{spec: {mode: m, token: t, x: 0, zone: '', free: '', note: null, y: null}}", "{}", `{"spec":{"free":"","mode":"m","note":null,"token":"t","zone":""}}`},
		{"of Go values that are no pointers, zero scalars are absent, but empty lists and objects are not", "{spec: {mode: m, token: t, go: {a: 0, b: '', c: false, d: [], e: {f: 0}}}}", "{}",
			`{"spec":{"go":{"d":[],"e":{}},"mode":"m","token":"t"}}`},
	} {
		obj := objectOf(t, row.obj)
		before := fmt.Sprint(obj)
		got, err := json.Marshal(fields.Stored(obj, objectOf(t, row.before)))
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s %v, want %s", row.reason, got, err, row.want)
		}
		if fmt.Sprint(obj) != before {
			t.Errorf("%s: the object has changed", row.reason)
		}
	}
}

// TestFind: what the rows say about an update.
func TestFind(t *testing.T) {
	_, rules := machineOf(t)
	named := func(name string) (string, bool) { return "this plan", name == "cheaper" }
	trial := func(name string) (string, bool) { return "", true }
	for _, row := range []struct {
		reason, old, new string
		named            Named
		want             string
	}{
		{"a word", "{spec: {mode: a}}", "{spec: {mode: b}}", trial, "spec.mode: mode stays"},
		{"two fields of a row", "{spec: {size: '1', zone: a}}", "{spec: {size: '2', zone: b}}", trial, "spec.size: ; spec.zone: "},
		{"items correlate by key", "{spec: {disks: [{name: a, path: x}, {name: b, path: y}]}}", "{spec: {disks: [{name: b, path: z}, {name: a, path: x}]}}", trial, "spec.disks[0].path: "},
		{"a set in another order", "{spec: {tags: [a, b]}}", "{spec: {tags: [b, a]}}", trial, ""},
		{"a zero value that may count as absent", "{spec: {free: ''}}", "{spec: {}}", trial, "spec.free: (open)"},
		{"an empty list differs from none, as in Go", "{spec: {go: {a: x, b: []}}}", "{spec: {go: {a: x}}}", trial, "spec.go: "},
		{"an empty object differs from none, as a Go pointer", "{spec: {go: {a: x, b: {c: 0}}}}", "{spec: {go: {a: x}}}", trial, "spec.go: "},
		{"below a lock that decides, a field that nobody knows", "{spec: {go: {a: x, any: []}}}", "{spec: {go: {a: x}}}", trial, "spec.go: (open)"},
		{"a rule", "{spec: {replicas: 2}}", "{spec: {replicas: 1}}", trial, "spec.replicas: "},
		{"a rule without a value", "{spec: {replicas: 2}}", "{spec: {replicas: x}}", trial, "spec.replicas: (no value)"},
		{"a condition that holds", "{spec: {image: a, frozen: true}}", "{spec: {image: b}}", trial, "spec.image: "},
		{"a condition that does not", "{spec: {image: a, frozen: false}}", "{spec: {image: b}}", trial, ""},
		{"a condition without a value", "{spec: {image: a, frozen: x}}", "{spec: {image: b}}", trial, "spec.image: (open)"},
		{"a function", "{spec: {}}", "{spec: {}}", named, "spec.plan: not this plan"},
		{"all but what is allowed", "{spec: {boot: {order: 1, extra: {a: 1}, from: net}}}", "{spec: {boot: {order: 2, extra: {a: 2}, from: disk}}}", trial, "spec.boot.from: "},
		{"annotations", "{metadata: {annotations: {example.com/a: x, example.com/b: '', c: d}}}", "{metadata: {annotations: {example.com/e: f}}}", trial,
			"metadata.annotations[example.com/a]: may not remove or update; metadata.annotations[example.com/e]: may not add"},
		{"an empty annotation where presence counts", "{metadata: {annotations: {example.com: ''}}}", "{spec: {}}", trial, "metadata.annotations[example.com]: may not remove or update"},
		{"an annotation whose name begins like one that is locked", "{metadata: {annotations: {example.com: '', example.community: a}}}",
			"{metadata: {annotations: {example.com: '', example.community: b}}}", trial, ""},
		{"a removed key, which no empty value stands for", "{spec: {labels: {a: x, b: y}}}", "{spec: {labels: {b: y}}}", trial, "spec.labels: "},
		{"items by key whose order counts", "{spec: {steps: [{name: a}, {name: b}]}}", "{spec: {steps: [{name: b}, {name: a}]}}", trial, "spec.steps: "},
		{"each difference at its path, but for an exception", "{spec: {pool: {size: 1, a: 1, b: 1}}}", "{spec: {pool: {size: 2, a: 2, b: 2}}}", trial, "spec.pool.a: ; spec.pool.b: "},
		{"an object of the name", "{metadata: {name: root}, spec: {admin: a}}", "{metadata: {name: root}, spec: {admin: b}}", trial, "spec.admin: (open)"},
		{"an object of another name", "{metadata: {name: user}, spec: {admin: a}}", "{metadata: {name: user}, spec: {admin: b}}", trial, ""},
	} {
		defaults := "{spec: {frozen: false, replicas: 1}}"
		newObj, oldObj := merge(objectOf(t, defaults), objectOf(t, row.new)), merge(objectOf(t, defaults), objectOf(t, row.old))
		var got []string
		all, _, err := rules.Find(Update{New: newObj, Old: oldObj, Named: row.named})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range all {
			text := found.Path + ": " + found.Message
			if found.Open != "" {
				text += "(open)"
			}
			if found.Err != nil {
				text += "(no value)"
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != row.want {
			t.Errorf("%s: %q, want %q", row.reason, strings.Join(got, "; "), row.want)
		}
	}
}

// TestConditions: an expression that would take too long has no value: one that costs too much, and amounts of a
// billion digits.
func TestConditions(t *testing.T) {
	numbers := make([]any, 300)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	for _, row := range []struct{ name, text string }{
		{"cost", "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))"},
		{"a vast amount", "quantity(self.vast).compareTo(quantity('1')) >= 0"},
		{"a vast amount in the old object", "quantity(oldSelf.vast).compareTo(quantity('1')) >= 0"},
		{"a text", "self.small"},
	} {
		c, err := newCondition(row.text)
		if err != nil {
			t.Fatal(err)
		}
		obj := map[string]any{"l": numbers, "small": "1"}
		vast := map[string]any{"l": numbers, "small": "1", "vast": "1e999999999"}
		newObj, oldObj := vast, obj
		if strings.Contains(row.text, "oldSelf") {
			newObj, oldObj = obj, vast
		}
		if holds, err := c.holds(newObj, oldObj); holds || err == nil {
			t.Errorf("%s: %t, %v, want an error", row.name, holds, err)
		}
	}
}

// merge returns the members of an object over those of another one.
func merge(under, over map[string]any) map[string]any {
	for name, value := range over {
		below, both := under[name].(map[string]any)
		if above, isObject := value.(map[string]any); both && isObject {
			value = merge(below, above)
		}
		under[name] = value
	}
	return under
}

// TestSchema: a lock below a locked list does not hide what is known of the items.
func TestSchema(t *testing.T) {
	fields, err := NewField(map[string]FieldData{"list": {Keys: []string{"name"}}, "list[*].tags": {Set: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	lock := Marks("immutable", nil)
	s := fields.Schema(Mark{fieldpath.Parse("list"), lock}, Mark{fieldpath.Parse("list[*].path"), lock})
	tags := s.Properties["list"].Items.Schema.Properties["tags"]
	if tags.Extensions["x-kubernetes-list-type"] != "set" {
		t.Errorf("the schema of the tags is %v", tags)
	}
}

// TestGoType: a Go type says which values count as absent, and data adds to it.
func TestGoType(t *testing.T) {
	type probe struct {
		Port int `json:"port,omitempty"`
	}
	type pod struct {
		Image  string                       `json:"image,omitempty"`
		Stdin  *bool                        `json:"stdin,omitempty"`
		Args   []string                     `json:"args,omitempty"`
		Labels map[string]string            `json:"labels,omitempty"`
		Limits map[string]resource.Quantity `json:"limits,omitempty"`
		Probe  *probe                       `json:"probe,omitempty"`
		First  probe                        `json:"first,omitempty"`
	}
	fields := map[string]FieldData{"pod": {Go: "Pod", Normalize: "undefined"}, "pod.image": {Default: new(any)}}
	*fields["pod.image"].Default = "a"
	types := GoTypes{"Pod": reflect.TypeFor[pod]()}
	root, err := NewField(fields, types)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, in, want string }{
		{"values without a pointer", `{"image": "", "stdin": true, "first": {"port": 0}}`, `{"image": "a", "stdin": true}`},
		{"values of pointers", `{"image": "b", "stdin": false, "probe": {}}`, `{"image": "b", "stdin": false, "probe": {}}`},
		{"empty lists and maps", `{"args": [], "labels": {}, "probe": {"port": 0}}`, `{"image": "a", "probe": {}}`},
		{"items and values", `{"args": [""], "labels": {"x": ""}}`, `{"image": "a", "args": [""], "labels": {"x": ""}}`},
		{"amounts", `{"limits": {"cpu": "1000m"}}`, `{"image": "a", "limits": {"cpu": "1"}}`},
		{"what the type lacks", `{"later": false}`, `{"image": "a", "later": false}`},
	} {
		in, want := map[string]any{"pod": object(t, row.in)}, map[string]any{"pod": object(t, row.want)}
		if got := root.Stored(in, nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", row.name, got, want)
		}
	}
	fields["pod"] = FieldData{Go: "Pod", Normalize: "none"}
	if root, err = NewField(fields, types); err != nil {
		t.Fatal(err)
	}
	in := map[string]any{"pod": object(t, `{"image": "b", "args": [], "labels": {}}`)}
	if got := root.Stored(in, nil); !reflect.DeepEqual(got, in) {
		t.Errorf("empty lists that differ from absent ones: %v", got)
	}
	if _, err := NewField(fields, nil); err == nil {
		t.Error("a Go type that nobody knows is no error")
	}
}

// TestFilledItems: what is filled in below a list when an object is created stays where the list is merged, and goes
// where it is written anew.
func TestFilledItems(t *testing.T) {
	var mode any = "on"
	for _, row := range []struct {
		name, old, is string
		atomic        bool
		merged, anew  string // the new list
	}{
		{"unchanged", `[{"n": "a"}]`, `[{"n": "a"}]`, false, `[{"n": "a", "mode": "on"}]`, `[{"n": "a", "mode": "on"}]`},
		{"unchanged and atomic", `[{"n": "a"}]`, `[{"n": "a"}]`, true, `[{"n": "a", "mode": "on"}]`, `[{"n": "a", "mode": "on"}]`},
		{"changed", `[{"n": "a"}]`, `[{"n": "b"}]`, false, `[{"n": "b", "mode": "on"}]`, `[{"n": "b"}]`},
		{"changed and atomic", `[{"n": "a"}]`, `[{"n": "b"}]`, true, `[{"n": "b"}]`, `[{"n": "b"}]`},
		{"removed", `[{"n": "a", "mode": "on"}]`, `[{"n": "a"}]`, false, `[{"n": "a"}]`, `[{"n": "a"}]`},
		{"another item", `[{"n": "a"}]`, `[{"n": "a"}, {"n": "b"}]`, true, `[{"n": "a"}, {"n": "b"}]`, `[{"n": "a"}, {"n": "b"}]`},
	} {
		fields, err := NewField(map[string]FieldData{"l": {Atomic: row.atomic}, "l[*].mode": {Default: &mode, Once: true}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list := func(text string) map[string]any { return object(t, `{"l": `+text+`}`) }
		is, old := list(row.is), list(row.old)
		if got := fields.Stored(is, old); !reflect.DeepEqual(got, list(row.merged)) {
			t.Errorf("%s, merged: %v, want %s", row.name, got, row.merged)
		}
		if got := fields.Rewritten(is, old); !reflect.DeepEqual(got, list(row.anew)) {
			t.Errorf("%s, anew: %v, want %s", row.name, got, row.anew)
		}
	}
}

// object decodes an object.
func object(t *testing.T, text string) map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMistakes: rows and fields that cannot be used.
func TestMistakes(t *testing.T) {
	for name, fields := range map[string]map[string]FieldData{
		"a type":    {"a": {Type: "amount"}},
		"normalize": {"a": {Normalize: "null"}},
	} {
		if _, err := NewField(fields, nil); err == nil {
			t.Errorf("%s that nobody knows is no error", name)
		}
	}
	for name, row := range map[string]Row{
		"no lock": {Field: "a"}, "a lock that nobody knows": {Field: "a", Lock: "frozen"}, "a rule that is not CEL": {Field: "a", Rule: "self."},
		"a condition that is not CEL": {Field: "a", Lock: "immutable", When: "&&"}, "keys of a text": {Field: "a", Lock: "addition-only"},
	} {
		if _, err := FromData(&Field{}, []Row{row}); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

// TestWithout: what an exception leads to goes, and what holds nothing else goes with it, but for an object that is
// always there, and one that differs from none. The value stays as it is.
func TestWithout(t *testing.T) {
	type object = map[string]any
	value := func() any {
		return object{"a": object{"b": 1}, "l": []any{object{"x": 1, "y": 2}, object{"x": 1}}, "m": object{"p": object{"q": 1}, "r": object{"q": 1, "s": 2}}}
	}
	without := func(name string, with any) object {
		out := value().(object)
		delete(out, name)
		if with != nil {
			out[name] = with
		}
		return out
	}
	for _, row := range []struct {
		name, reason, path string
		fields             map[string]FieldData
		held               string
		want               any
	}{
		{"a member", "its object held nothing else", "a.b", nil, "", without("a", nil)},
		{"held", "the object is always there, and a lock of it needs it on both sides", "a.b", nil, "a.c", without("a", object{})},
		{"none", "an empty object differs from none", "a.b", map[string]FieldData{"a": {Normalize: "none"}}, "", without("a", object{})},
		{"below none", "the value's own field says nothing", "m{*}.q", map[string]FieldData{"m": {Normalize: "none"}}, "", without("m", object{"r": object{"s": 2}})},
		{"an absent member", "nothing goes", "a.c", nil, "", value()},
		{"items", "the items of a list stay", "l[*]", nil, "", value()},
		{"a member of items", "the items stay, also emptied", "l[*].x", nil, "", without("l", []any{object{"y": 2}, object{}})},
		{"a member of values", "a value that held nothing else goes", "m{*}.q", nil, "", without("m", object{"r": object{"s": 2}})},
		{"values", "the map held nothing else", "m{*}", nil, "", without("m", nil)},
		{"below a scalar", "there is nothing", "a.b.c.d", nil, "", value()},
	} {
		fields, err := NewField(row.fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		if row.held != "" {
			fields.Hold(fieldpath.Parse(row.held))
		}
		in := value()
		if got := fields.without(fieldpath.Parse(row.path), in); !reflect.DeepEqual(got, row.want) || !reflect.DeepEqual(in, value()) {
			t.Errorf("%s (%s): %v, want %v", row.name, row.reason, got, row.want)
		}
	}
}
