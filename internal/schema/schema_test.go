package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

func parse(t testing.TB, text string) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRefOf(t *testing.T) {
	for _, row := range []struct {
		name, reason, schema string
		ref                  string
		wrapped              bool
	}{
		{"plain", "a $ref", `{"$ref":"#/definitions/d"}`, "#/definitions/d", false},
		{"wrapped", "OpenAPI v3 with siblings", `{"allOf":[{"$ref":"#/definitions/d"}],"description":"x","default":{}}`, "#/definitions/d", true},
		{"two", "a combination", `{"allOf":[{"$ref":"#/definitions/d"},{"type":"object"}]}`, "", false},
		{"properties next to it", "a combination", `{"allOf":[{"$ref":"#/definitions/d"}],"properties":{"a":{}}}`, "", false},
		{"items next to it", "a combination", `{"allOf":[{"$ref":"#/definitions/d"}],"items":{}}`, "", false},
		{"additionalProperties next to it", "a combination", `{"allOf":[{"$ref":"#/definitions/d"}],"additionalProperties":true}`, "", false},
		{"properties inside", "a combination", `{"allOf":[{"$ref":"#/definitions/d","properties":{"a":{}}}]}`, "", false},
		{"no ref", "nothing to follow", `{"allOf":[{"type":"object"}]}`, "", false},
		{"anyOf", "not a wrapper", `{"anyOf":[{"$ref":"#/definitions/d"}]}`, "", false},
	} {
		ref, wrapped := schema.RefOf(parse(t, row.schema))
		if ref != row.ref || (wrapped != nil) != row.wrapped {
			t.Errorf("%s: got %q, wrapped %t (%s)", row.name, ref, wrapped != nil, row.reason)
		}
	}
}

// sample has a definition that is used three times, one that contains itself, and every role.
const sample = `{
 "required": ["spec"],
 "properties": {
  "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
  "spec": {"type": "object", "properties": {
   "nodes": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"$ref": "#/definitions/node"}},
   "first": {"allOf": [{"$ref": "#/definitions/node", "x-kubernetes-map-type": "atomic"}], "default": {}, "x-fieldlock-update": ["NoSet"]},
   "a/b~c": {"$ref": "#/definitions/node", "nullable": true},
   "labels": {"type": "object", "additionalProperties": {"type": "string", "format": "password"}},
   "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "properties": {"x": {}}}},
   "tree": {"$ref": "#/definitions/tree"},
   "via": {"$ref": "#/definitions/alias"},
   "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {"name": {"type": "string"}, "other": {"type": ["string", "null"]}}}},
   "bare": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
   "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"metadata": {"properties": {"labels": {}}}, "spec": {}}}
  }}
 },
 "definitions": {
  "node": {"type": "object", "x-fieldlock-update": ["NoModify"], "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"x-kubernetes-int-or-string": true, "default": 80}}},
  "alias": {"$ref": "#/definitions/last"},
  "last": {"type": "string", "nullable": true, "format": "password", "default": "x", "x-kubernetes-normalize": "zero", "x-kubernetes-preserve-unknown-fields": true},
  "tree": {"type": "object", "properties": {"metadata": {"type": "object"}, "left": {"$ref": "#/definitions/tree"}, "value": {"type": "integer", "x-kubernetes-immutable": true}}}
 }
}`

func TestReadAndFind(t *testing.T) {
	tree := schema.Read(parse(t, sample), nil)
	for _, row := range []struct {
		pointer, path string
		want          string // what is asked about the location
	}{
		{"", "", "object"},
		{"/properties/spec", "spec", "required"},
		{"/properties/spec/properties/nodes", "spec.nodes", "list of list-type map"},
		{"/properties/spec/properties/nodes/items", "spec.nodes[*]", "NoModify at #/definitions/node"},
		{"#/definitions/node/properties/name", "name", "required"},
		{"#/definitions/node/properties/port", "port", "int or string, default 80"},
		{"/properties/spec/properties/first", "spec.first", "NoSet NoModify at /properties/spec/properties/first, default map[], atomic map"},
		{"/properties/spec/properties/a~1b~0c", "spec.a/b~c", "NoModify at #/definitions/node, nullable"},
		{"/properties/spec/properties/labels", "spec.labels", "map"},
		{"/properties/spec/properties/labels/additionalProperties", "spec.labels[*]", "password"},
		{"/properties/spec/properties/tags", "spec.tags", "set"},
		{"#/definitions/tree/properties/left", "left", ""},
		{"/properties/spec/properties/via", "spec.via", "default x, nullable, password"},
		{"/properties/spec/properties/keyed/items/properties/name", "spec.keyed[*].name", "map key"},
		{"/properties/spec/properties/keyed/items/properties/other", "spec.keyed[*].other", ""},
		{"/properties/spec/properties/bare", "spec.bare", "list of list-type map"},
		{"#/definitions/tree/properties/value", "value", "immutable at #/definitions/tree/properties/value"},
	} {
		l := tree.Find(row.pointer)
		if l == nil {
			t.Errorf("%s is not found", row.pointer)
			continue
		}
		if got := l.Path.Pointer(); got != row.pointer {
			t.Errorf("found %s for %s", got, row.pointer)
		}
		if got := l.Path.String(); got != row.path && l.Role != schema.Root {
			t.Errorf("%s reads %s, want %s", row.pointer, got, row.path)
		}
		if got := schema.Readable(row.pointer); got != row.path {
			t.Errorf("%s is readable as %s, want %s", row.pointer, got, row.path)
		}
		if got := describe(l); row.pointer != "" && got != row.want {
			t.Errorf("%s: got %q, want %q", row.pointer, got, row.want)
		}
	}
	for _, nowhere := range []string{"/properties", "/properties/nope", "/items", "/properties/spec/properties/tree/properties/left",
		"#/definitions/tree", "#/definitions/nope/properties/a", "/anyOf/0", "/properties/metadata/additionalProperties"} {
		if l := tree.Find(nowhere); l != nil {
			t.Errorf("%s leads to %s", nowhere, l.Path.Pointer())
		}
	}
}

// TestBehindRefs: what several $refs lead to, one after the other, describes the location too.
func TestBehindRefs(t *testing.T) {
	tree := schema.Read(parse(t, sample), nil)
	via, name := tree.Find("/properties/spec/properties/via"), tree.Find("/properties/spec/properties/keyed/items/properties/name")
	if via.Type() != "string" || !via.PreservesUnknown() || !via.Scalar() || via.Marks.Normalize != schema.NormalizeZero {
		t.Errorf("type %q, preserves %t, scalar %t, normalized %q", via.Type(), via.PreservesUnknown(), via.Scalar(), via.Marks.Normalize)
	}
	if got := via.MarkPath(schema.KeyNormalize).Pointer(); got != "#/definitions/alias" {
		t.Errorf("the mark is at %s, want the $ref that leads to it", got)
	}
	if name.PreservesUnknown() || name.Nullable() || name.Password() || name.Default() != nil {
		t.Error("a plain string has none of it")
	}
	for pointer, scalar := range map[string]bool{"/properties/spec": false, "/properties/spec/properties/tags": false, "#/definitions/node/properties/port": true, "/properties/spec/properties/tags/items/properties/x": false} {
		if tree.Find(pointer).Scalar() != scalar {
			t.Errorf("%s is scalar: want %t", pointer, scalar)
		}
	}
	if tree.Find("/properties/spec/properties/keyed").KeyField("name") != name || tree.Find("/properties/spec/properties/keyed").KeyField("none") != nil ||
		tree.Find("/properties/spec/properties/bare").KeyField("name") != nil {
		t.Error("the key field of a list is a property of its items, if it has items")
	}
	open := &spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{
		"schema": {SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{Schema: &spec.Schema{}}}}, // as Go code writes it
		"true":   {SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{Allows: true}}},
		"false":  {SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{}}},
		"none":   {},
	}}}
	for _, l := range schema.Read(open, nil).Root.Properties {
		if want := l.Name == "schema" || l.Name == "true"; l.HasKeys() != want {
			t.Errorf("%s has keys: want %t", l.Name, want)
		}
	}
}

// TestDescendAll: what several locations share is looked at for each, as long as the limit of repeated visits allows,
// and what contains itself ends.
func TestDescendAll(t *testing.T) {
	tree := schema.Read(parse(t, `{"properties":{"a":{"$ref":"#/definitions/d"},"b":{"$ref":"#/definitions/d"},"c":{"$ref":"#/definitions/d"}},
		"definitions":{"d":{"properties":{"x":{"properties":{"y":{}}},"self":{"$ref":"#/definitions/d"}}}}}`), nil)
	for limit, want := range map[int]string{
		0:   "a a.self a.x a.x.y b c",
		1:   "a a.self a.x a.x.y b b.self b.x c",
		3:   "a a.self a.x a.x.y b b.self b.x b.x.y c",
		100: "a a.self a.x a.x.y b b.self b.x b.x.y c c.self c.x c.x.y",
	} {
		var got []string
		tree.Root.DescendAll(limit, func(l *schema.Location, at *schema.Path) bool {
			if l != tree.Root {
				got = append(got, at.String())
			}
			return true
		})
		if text := strings.Join(got, " "); text != want {
			t.Errorf("limit %d: %s, want %s", limit, text, want)
		}
	}
	var got []string
	tree.Root.Descend(nil, func(l *schema.Location, at *schema.Path) bool {
		got = append(got, at.String())
		return l.Name != "x"
	})
	if text := strings.Join(got[1:], " "); text != "a a.self a.x b c" {
		t.Errorf("Descend looks at %s, want what is shared once, and nothing below x", text)
	}
}

func describe(l *schema.Location) string {
	var words []string
	if l.Marks.Locked() {
		var locks []string
		for _, lock := range l.Marks.Locks {
			locks = append(locks, string(lock))
		}
		words = append(words, strings.Join(locks, " ")+" at "+l.LockPath().Pointer())
	}
	if l.IntOrString() {
		words = append(words, "int or string")
	}
	if d := l.Default(); d != nil {
		words = append(words, fmt.Sprint("default ", d))
	}
	switch l.Container() {
	case schema.MapList:
		words = append(words, "list of list-type map")
	case schema.SetList:
		words = append(words, "set")
	case schema.Map:
		words = append(words, "map")
	case schema.AtomicMap:
		words = append(words, "atomic map")
	case schema.AtomicList:
		words = append(words, "list")
	}
	for _, is := range []struct {
		yes  bool
		word string
	}{{l.IsMapKey(), "map key"}, {l.Required, "required"}, {l.Nullable(), "nullable"}, {l.Password(), "password"}} {
		if is.yes {
			words = append(words, is.word)
		}
	}
	return strings.Join(words, ", ")
}

func TestWalk(t *testing.T) {
	tree := schema.Read(parse(t, sample), nil)
	metadata, set := map[string]bool{}, map[string]bool{}
	visits := map[string]int{}
	tree.Walk(func(v schema.Visit) {
		visits[v.At.String()]++
		metadata[v.At.String()] = v.InMetadata
		set[v.At.String()] = v.InSet
	})
	for path, want := range map[string][2]bool{
		"metadata": {true, false}, "metadata.name": {true, false}, "spec.template.metadata.labels": {true, false},
		"spec.template": {}, "spec.template.spec": {}, "spec": {}, "spec.tree.metadata": {},
		"spec.tags": {}, "spec.tags[*]": {false, true}, "spec.tags[*].x": {false, true},
	} {
		if metadata[path] != want[0] || set[path] != want[1] {
			t.Errorf("%s: in metadata %t, in a set %t, want %t", path, metadata[path], set[path], want)
		}
	}
	if visits["spec.nodes[*]"] != 1 || visits["spec.a/b~c.port"]+visits["spec.first.port"]+visits["spec.nodes[*].port"] != 1 {
		t.Errorf("what several locations share is not visited once: %v", visits)
	}
	if visits["spec.tree.left"] != 1 || visits["spec.tree.left.left"] != 0 {
		t.Errorf("a recursive definition is not visited once: %v", visits)
	}
	holding := tree.Holding(func(l *schema.Location) bool { return l.Name == "port" })
	var held []string
	for l := range holding {
		held = append(held, l.Path.Pointer())
	}
	slices.Sort(held)
	if got := strings.Join(held, " "); got != " #/definitions/node/properties/port /properties/spec /properties/spec/properties/a~1b~0c /properties/spec/properties/first"+
		" /properties/spec/properties/nodes /properties/spec/properties/nodes/items" {
		t.Errorf("above port are %s", got)
	}
}

func TestInline(t *testing.T) {
	for _, row := range []struct{ name, reason, schema, want string }{
		{"plain", "the target replaces the $ref", `{"properties":{"a":{"$ref":"#/definitions/d"}},"definitions":{"d":{"type":"string","x-kubernetes-immutable":true}}}`,
			`{"properties":{"a":{"type":"string","x-kubernetes-immutable":true}}}`},
		{"wrapped", "marks and default next to the $ref count", `{"properties":{"a":{"allOf":[{"$ref":"#/definitions/d"}],"default":"x","x-fieldlock-update":["NoSet"]}},
			"definitions":{"d":{"type":"string","x-fieldlock-update":["NoModify"]}}}`,
			`{"properties":{"a":{"type":"string","default":"x","x-fieldlock-update":["NoSet","NoModify"]}}}`},
		{"nullable and default behind and beside a $ref", "either counts, and the nearest default", `{"properties":{"a":{"allOf":[{"$ref":"#/definitions/d"}],"nullable":true,"default":"y"},"b":{"$ref":"#/definitions/e"}},
			"definitions":{"d":{"type":"string","default":"x"},"e":{"type":"string","nullable":true,"default":"z"}}}`,
			`{"properties":{"a":{"type":"string","nullable":true,"default":"y"},"b":{"type":"string","nullable":true,"default":"z"}}}`},
		{"the same key twice", "the one next to the $ref wins", `{"properties":{"a":{"$ref":"#/definitions/d","x-other":"near"}},"definitions":{"d":{"type":"string","x-other":"far","x-more":"far"}}}`,
			`{"properties":{"a":{"type":"string","x-other":"near","x-more":"far"}}}`},
		{"combination", "the locks next to allOf hold", `{"properties":{"spec":{"allOf":[{"$ref":"#/definitions/d"}],"properties":{"class":{"x-kubernetes-immutable":true}}}},"definitions":{"d":{"type":"object"}}}`,
			`{"properties":{"spec":{"properties":{"class":{"x-kubernetes-immutable":true}}}}}`},
		{"values and items", "everywhere", `{"properties":{"m":{"additionalProperties":{"$ref":"#/definitions/d"}},"l":{"items":{"$ref":"#/definitions/d"}}},"definitions":{"d":{"type":"string"}}}`,
			`{"properties":{"l":{"items":{"type":"string"}},"m":{"additionalProperties":{"type":"string"}}}}`},
		{"recursive", "it ends", `{"properties":{"a":{"$ref":"#/definitions/d"}},"definitions":{"d":{"properties":{"d":{"$ref":"#/definitions/d"},"x":{"type":"string"}}}}}`,
			`{"properties":{"a":{"properties":{"d":{},"x":{"type":"string"}}}}}`},
	} {
		got, err := schema.Read(parse(t, row.schema), nil).Inline()
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(parse(t, row.want))
		if string(text) != string(want) {
			t.Errorf("%s: got %s, want %s (%s)", row.name, text, want, row.reason)
		}
	}
	if _, err := schema.Read(parse(t, sample), nil).Inline(); err == nil || !strings.Contains(err.Error(), "#/definitions/tree (spec.tree.left) contains itself") &&
		!strings.Contains(err.Error(), "contains itself and has locks") {
		t.Errorf("a recursive definition with locks: %v", err)
	}
	wide := `{"properties":{"a":{"$ref":"#/definitions/0"}},"definitions":{`
	for i := range 40 {
		wide += fmt.Sprintf(`"%d":{"properties":{"a":{"$ref":"#/definitions/%d"},"b":{"$ref":"#/definitions/%d"}}},`, i, i+1, i+1)
	}
	if _, err := schema.Read(parse(t, wide+`"40":{}}}`), nil).Inline(); err == nil || !strings.Contains(err.Error(), "more than 100000 fields") {
		t.Errorf("2^40 fields: %v", err)
	}
}

// TestResolver: a resolver is asked for every $ref, also in parts that only validate, and its answer is read as it is.
func TestResolver(t *testing.T) {
	definitions := map[string]string{
		"a": `{"properties":{"x":{"x-kubernetes-immutable":true}}}`,
		"b": `{"$ref":"a","x-kubernetes-immutable":true}`,
		"c": `{"anyOf":[{"$ref":"a"}]}`,
	}
	resolve := func(ref string) (*spec.Schema, error) {
		if text, ok := definitions[ref]; ok {
			return parse(t, text), nil
		}
		return nil, nil
	}
	for text, want := range map[string]string{
		`{"$ref":"a"}`: "lock at a/properties/x",
		`{"$ref":"b"}`: `problem: $ref "b" cannot be resolved: "b" is itself a $ref with a lock next to it; put the lock where it is used`,
		`{"$ref":"d"}`: `problem: $ref "d" cannot be resolved: there is no such schema`,
		`{"$ref":"c"}`: "unchecked below anyOf",
		`{"allOf":[{"$ref":"a","not":{"$ref":"a"}}]}`:               "lock at a/properties/x, unchecked below not",
		`{"$ref":"a","items":{"anyOf":[{"$ref":"d"}]}}`:             `lock at a/properties/x, problem: $ref "d" cannot be resolved: there is no such schema`,
		`{"$ref":"a","anyOf":[{"$ref":"#/definitions/elsewhere"}]}`: `lock at a/properties/x, problem: $ref "#/definitions/elsewhere" cannot be resolved: there is no such schema`,
	} {
		var got []string
		for _, l := range schema.Read(parse(t, `{"properties":{"p":`+text+`},"definitions":{"elsewhere":{}}}`), resolve).All {
			for _, u := range slices.Concat(l.Unchecked, l.Hidden) {
				got = append(got, "unchecked below "+u.Keyword)
			}
			if l.Marks.Locked() {
				got = append(got, "lock at "+l.LockPath().Pointer())
			}
			for _, p := range l.Problems {
				got = append(got, "problem: "+p.Message)
			}
		}
		slices.Sort(got)
		if line := strings.Join(got, ", "); line != want {
			t.Errorf("%s: %s, want %s", text, line, want)
		}
	}
}

func TestUnchecked(t *testing.T) {
	tree := schema.Read(parse(t, `{"properties":{
	 "a":{"anyOf":[{"properties":{"x":{"x-kubernetes-immutable":true}}}],"patternProperties":{"p/":{"x-fieldlock-update":["NoSet"]}},"dependencies":{"d":{"items":{"x-kubernetes-normalize":"zero"}}}},
	 "b":{"not":{"$ref":"#/definitions/nowhere"}},
	 "c":{"$ref":"#/definitions/d","properties":{"y":{"x-kubernetes-immutable":true}}},
	 "w":{"allOf":[{"$ref":"#/definitions/d","x-kubernetes-immutable":true,"oneOf":[{"x-fieldlock-update":["NoSet"]}]}]},
	 "v":{"allOf":[{"$ref":"#/definitions/d"}],"anyOf":[{"x-kubernetes-immutable":true}]},
	 "l":{"items":[{"X-KUBERNETES-IMMUTABLE":true}],"additionalItems":{"x-kubernetes-immutable":true}}},
	 "definitions":{"d":{}}}`), nil)
	var got []string
	for _, l := range tree.All {
		for _, u := range slices.Concat(l.Unchecked, l.Hidden) {
			got = append(got, fmt.Sprintf("%s below %s, combines %t, lock %t", u.Path.Pointer(), u.Keyword, u.Combines(), u.Lock))
		}
		for _, p := range l.Body.Problems {
			got = append(got, p.Rule+" at "+l.Path.Pointer())
		}
	}
	slices.Sort(got)
	if b := tree.Find("/properties/b"); len(b.Body.Problems) != 1 || !strings.Contains(b.Body.Problems[0].Message, "the schema has no such definition") {
		t.Errorf("the problem of a $ref to nothing: %v", b.Body.Problems)
	}
	want := []string{
		"/properties/a/anyOf/0/properties/x below anyOf, combines true, lock true",
		"/properties/a/dependencies/d/items below dependencies, combines false, lock false",
		"/properties/a/patternProperties/p~1 below patternProperties, combines false, lock true",
		"/properties/c/properties/y below a schema with $ref, combines false, lock true",
		"/properties/l/additionalItems below additionalItems, combines false, lock true",
		"/properties/l/items/0 below a list of items schemas, combines false, lock true",
		"/properties/v/anyOf/0 below anyOf, combines true, lock true",
		"/properties/w/allOf/0 below allOf, combines true, lock true",
		"/properties/w/allOf/0/oneOf/0 below oneOf, combines true, lock true",
		finding.UnresolvableRef + " at /properties/b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
