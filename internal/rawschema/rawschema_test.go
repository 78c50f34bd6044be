package rawschema_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/rawschema"
)

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var s map[string]any
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

const nested = `
properties:
  a: {items: {properties: {b: {}}}}
  x/y: {additionalProperties: {not: {}}}
  list: {items: [{type: string}, {}], additionalItems: {}}
  properties: {type: object}
  free: {additionalProperties: true, default: {properties: {no: {}}}}
patternProperties: {"^x": {}}
allOf: [{properties: {c: {}}}, 1]
enum: [{properties: {no: {}}}]
required: {no: {}}
dependencies: {d: {}, e: [a]}
`

func TestWalkAndNode(t *testing.T) {
	s := decode(t, nested)
	var paths []string
	rawschema.Walk(s, func(path string, node map[string]any) {
		paths = append(paths, path)
		found, nearest := rawschema.Node(s, path)
		if found == nil || nearest != path {
			t.Errorf("Node does not find %q, which Walk visits; the nearest is %q", path, nearest)
		}
	})
	slices.Sort(paths)
	want := []string{"", "/allOf/0", "/allOf/0/properties/c", "/dependencies/d", "/patternProperties/^x", "/properties/a", "/properties/a/items",
		"/properties/a/items/properties/b", "/properties/free", "/properties/list", "/properties/list/additionalItems", "/properties/list/items/0",
		"/properties/list/items/1", "/properties/properties", "/properties/x~1y", "/properties/x~1y/additionalProperties", "/properties/x~1y/additionalProperties/not"}
	if !slices.Equal(paths, want) {
		t.Errorf("got  %q\nwant %q", paths, want)
	}
	for path, nearest := range map[string]string{
		"/properties":                           "",
		"/properties/none":                      "",
		"/properties/a/properties/b":            "/properties/a",
		"/properties/list/items/2":              "/properties/list",
		"/properties/list/items/-1":             "/properties/list",
		"/properties/list/items/x":              "/properties/list",
		"/allOf/1":                              "",
		"/default":                              "",
		"/enum/0":                               "",
		"/required/no":                          "",
		"/properties/a/items/properties":        "/properties/a/items",
		"/properties/a/items/none/b":            "/properties/a/items",
		"/properties/free/default":              "/properties/free",
		"/properties/free/additionalProperties": "/properties/free",
	} {
		if node, got := rawschema.Node(s, path); node != nil || got != nearest {
			t.Errorf("%s: node %v, nearest %q, want none and %q", path, node, got, nearest)
		}
	}
}

func TestSchemaNumbers(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  int64
		err   bool
	}{
		{"integer", int64(3), 3, false},
		{"float without a fraction", float64(3), 3, false},
		{"negative float", float64(-3), -3, false},
		{"largest exact float", float64(1<<53 - 1), 1<<53 - 1, false},
		{"float beyond the exact ones", float64(1 << 53), 0, true},
		{"negative beyond the exact ones", -float64(1 << 53), 0, true},
		{"fraction", 1.5, 0, true},
		{"text", "3", 0, true},
	} {
		s, err := rawschema.Schema(map[string]any{"maxLength": c.value})
		switch {
		case c.err != (err != nil):
			t.Errorf("%s: error %v", c.name, err)
		case err == nil && *s.MaxLength != c.want:
			t.Errorf("%s: got %d, want %d", c.name, *s.MaxLength, c.want)
		case err != nil && !slices.Equal(err.Steps, []any{"maxLength"}):
			t.Errorf("%s: the mistake is at %v", c.name, err.Steps)
		}
	}
}

func TestMerge(t *testing.T) {
	const right = "/properties/a"
	for _, c := range []struct{ name, schema, keys, want string }{
		{"added", "properties: {a: {}}", "x-kubernetes-immutable: true", ""},
		{"there already", "properties: {a: {x-kubernetes-immutable: 'true'}}", "x-kubernetes-immutable: true", ""},
		{"words in another order", "properties: {a: {x-fieldlock-update: [NoSet, NoUnset]}}", "x-fieldlock-update: [NoUnset, NoSet]", ""},
		{"other words", "properties: {a: {x-fieldlock-update: [NoSet]}}", "x-fieldlock-update: [NoUnset]", "make the two agree"},
		{"conflict", "properties: {a: {x-kubernetes-addition-only: true}}", "x-kubernetes-immutable: true", "conflicts with x-kubernetes-addition-only"},
		{"conflict with words", "properties: {a: {x-fieldlock-update: [NoSet]}}", "x-kubernetes-immutable: true", "conflicts with x-fieldlock-update"},
		{"words next to a key lock", "properties: {a: {x-kubernetes-addition-only: true}}", "x-fieldlock-update: [NoUnset]", ""},
		{"two in the annotation", "properties: {a: {}}", "{x-kubernetes-immutable: true, x-kubernetes-addition-only: true}", ""}, // the compiler reports it
		{"there already, beside one that is not", "properties: {a: {x-kubernetes-normalize: zero}}", "{x-kubernetes-normalize: zero, x-kubernetes-immutable: true}", ""},
		{"there already, beside words", "properties: {a: {x-kubernetes-addition-only: true}}", "{x-kubernetes-addition-only: true, x-fieldlock-update: [NoUnset]}", ""},
		{"there already, beside a conflict", "properties: {a: {x-kubernetes-addition-only: true}}", "{x-kubernetes-addition-only: true, x-kubernetes-immutable: true}", ""}, // the compiler reports it
		{"unknown key", "properties: {a: {}}", "x-kubernetes-imutable: true", "is not known"},
		{"no node", "properties: {b: {}}", "x-kubernetes-immutable: true", "no such node"},
	} {
		s := decode(t, c.schema)
		err := rawschema.Merge(s, map[string]map[string]any{right: decode(t, c.keys)})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if err == nil {
			node, _ := rawschema.Node(s, right)
			for key := range decode(t, c.keys) {
				if node[key] == nil {
					t.Errorf("%s: %s is not on the node", c.name, key)
				}
			}
		}
	}
}

// TestEqual: annotations are equal when they have the same keys on the same nodes, with values that mean the same.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       bool
	}{
		{"the same", "{x-kubernetes-immutable: true}", "{x-kubernetes-immutable: true}", true},
		{"another spelling of true", "{x-kubernetes-immutable: true}", "{x-kubernetes-immutable: 'true'}", true},
		{"words in another order", "{x-fieldlock-update: [NoSet, NoUnset]}", "{x-fieldlock-update: [NoUnset, NoSet]}", true},
		{"map keys in another order", "{x-kubernetes-list-map-keys: [a, b]}", "{x-kubernetes-list-map-keys: [b, a]}", true},
		{"other map keys", "{x-kubernetes-list-map-keys: [a, b]}", "{x-kubernetes-list-map-keys: [b, c]}", false},
		{"other words", "{x-fieldlock-update: [NoSet]}", "{x-fieldlock-update: [NoUnset]}", false},
		{"another key", "{x-kubernetes-immutable: true}", "{x-kubernetes-addition-only: true}", false},
		{"one key more", "{x-kubernetes-addition-only: true}", "{x-kubernetes-addition-only: true, x-fieldlock-update: [NoUnset]}", false},
		{"the second of two keys differs", "{x-kubernetes-normalize: zero, x-fieldlock-update: [NoSet]}", "{x-kubernetes-normalize: zero, x-fieldlock-update: [NoUnset]}", false},
		{"the first of two keys differs", "{x-kubernetes-normalize: zero, x-fieldlock-update: [NoSet]}", "{x-kubernetes-normalize: undefined, x-fieldlock-update: [NoSet]}", false},
		{"the same mistake", "{x-fieldlock-update: [NoSett]}", "{x-fieldlock-update: [NoSett]}", true},
		{"another mistake", "{x-fieldlock-update: [NoSett]}", "{x-fieldlock-update: [NoSet]}", false},
		{"two mistakes", "{x-fieldlock-update: [NoSett]}", "{x-fieldlock-update: [NoUnsett]}", false},
	} {
		a := rawschema.Annotation{"v1": {"/properties/a": decode(t, c.a)}}
		b := rawschema.Annotation{"v1": {"/properties/a": decode(t, c.b)}}
		if a.Equal(b) != c.want || b.Equal(a) != c.want {
			t.Errorf("%s: want equal %t", c.name, c.want)
		}
	}
}

// TestDecodeMistakes: the first mistake is reported, with its place and what would be right.
func TestDecodeMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                      "it must be JSON like",
		`[]`:                                     "the value is ",
		`{"v1": 1}`:                              `version "v1" is the number 1; it must be an object`,
		`{"v1": {"/a": 1}}`:                      `version "v1", schema path "/a" is the number 1; it must be an object`,
		`{"v1": {"/a": 1, "/b": "x"}, "v2": []}`: `version "v1", schema path "/a" is the number 1`,
		`{"v1": {"/a": {}}}`:                     "",
	} {
		_, err := rawschema.Decode(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAnnotation(t *testing.T) {
	a := rawschema.Annotation{}
	a.Add("v1", decode(t, "properties: {a: {x-kubernetes-immutable: true, x-kubernetes-list-type: set}, b: {items: {x-fieldlock-update: [NoSet]}}}"))
	a.Add("v2", decode(t, "properties: {a: {}}"))
	text, err := a.Encode()
	const want = `{"v1":{"/properties/a":{"x-kubernetes-immutable":true},"/properties/b/items":{"x-fieldlock-update":["NoSet"]}}}`
	if err != nil || text != want {
		t.Errorf("got %s, error %v, want %s", text, err, want)
	}
	back, err := rawschema.Decode(text)
	if err != nil || !back.Equal(a) || !a.Equal(back) {
		t.Errorf("it reads back as %v, error %v", back, err)
	}
	delete(back["v1"], "/properties/a")
	if back.Equal(a) || a.Equal(back) {
		t.Error("an annotation that lacks a path is equal")
	}
	if text, err := (rawschema.Annotation{}).Encode(); text != "" || err != nil {
		t.Errorf("nothing gives %q, error %v", text, err)
	}
	html := rawschema.Annotation{"v1": {"/properties/<a>&": {"x-kubernetes-immutable": true}}}
	if text, err := html.Encode(); err != nil || !strings.Contains(text, "<a>&") {
		t.Errorf("characters of HTML are written as escapes: %s, %v", text, err)
	}
	large := rawschema.Annotation{"v1": {"/" + strings.Repeat("x", rawschema.MaxAnnotation): {"x-kubernetes-immutable": true}}}
	if _, err := large.Encode(); err == nil {
		t.Error("an annotation that is too large has no error")
	}
}
