package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Keys are taken from schema nodes, and from nothing that only looks like one.
func TestStow(t *testing.T) {
	const schema = `{"type": "object", "properties": {
		"a/b~c": {"type": "string", "x-kubernetes-immutable": true},
		"x-kubernetes-immutable": {"type": "string"},
		"list": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string", "x-fieldlock-update": ["NoUnset"]}}},
		"values": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			"default": {"properties": {"x": {"x-kubernetes-immutable": true}}}, "example": {"x-kubernetes-immutable": true}}}}`
	read := func() map[string]any {
		document, err := decode([]byte("{\n\t\"metadata\": {}, \"spec\": {\"versions\": [{\"name\": \"v1\", \"schema\": {\"openAPIV3Schema\": " + schema + "}}]}}"))
		if err != nil {
			t.Fatal(err)
		}
		return document
	}
	document := read()
	if ignored, err := stow(document); err != nil || ignored {
		t.Fatalf("got %v, %v", ignored, err)
	}
	const want = `{"v1":{"/properties/a~1b~0c":{"x-kubernetes-immutable":true},"/properties/list/items/additionalProperties":{"x-fieldlock-update":["NoUnset"]}}}`
	if got := annotation(document); got != want {
		t.Errorf("the annotation is\n%s\nwant\n%s", got, want)
	}
	rest := encoded(document["spec"])
	if !strings.Contains(rest, `"default":{"properties":{"x":{"x-kubernetes-immutable":true}}},"example":{"x-kubernetes-immutable":true}`) {
		t.Errorf("a default or an example was changed: %s", rest)
	}
	if !strings.Contains(rest, `"x-kubernetes-immutable":{"type":"string"}`) {
		t.Errorf("a property of the name of a key was taken for one: %s", rest)
	}
	if strings.Contains(rest, "NoUnset") {
		t.Errorf("a key is left: %s", rest)
	}
	unpack(document)
	if got, want := encoded(document["spec"]), encoded(read()["spec"]); got != want {
		t.Errorf("unpacked, the schema is\n%s\nwant\n%s", got, want)
	}
}

func TestStowAnnotation(t *testing.T) {
	const locked, free = `{"type": "object", "x-kubernetes-immutable": true}`, `{"type": "object"}`
	const said = `{"v1":{"":{"x-kubernetes-immutable":true}}}`
	for _, c := range []struct {
		name, reason     string
		schema, before   string
		after            string
		ignored, refused bool
	}{
		{"keys alone", "they go into the annotation", locked, "", said, false, false},
		{"annotation alone", "a client without keys keeps it", free, said, said, false, false},
		{"both the same", "a client read both and wrote both", locked, `{ "v1": {"": {"x-kubernetes-immutable": true}} }`, said, false, false},
		{"both, not the same", "the keys count, and the client is told", locked, `{"v1": {"/items": {"x-kubernetes-immutable": true}}}`, said, true, false},
		{"annotation unreadable", "the keys count, and the client is told", locked, `nonsense`, said, true, false},
		{"neither", "nothing is locked", free, "", "", false, false},
		{"letter case", "the key would be dropped without a trace", `{"X-kubernetes-immutable": true}`, "", "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			document, err := decode([]byte(`{"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": ` + c.schema + `}}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if c.before != "" {
				setAnnotation(document, c.before)
			}
			ignored, err := stow(document)
			if ignored != c.ignored || (err != nil) != c.refused || annotation(document) != c.after {
				t.Errorf("got the annotation %q, ignored %v, error %v; want %q, %v, error %v: %s",
					annotation(document), ignored, err, c.after, c.ignored, c.refused, c.reason)
			}
		})
	}
}

// The nodes of a schema, by the same paths as the annotation has.
func TestNodes(t *testing.T) {
	document, err := decode([]byte(`{"properties": {"a": {"items": [{"type": "string"}, {"not": {}}]}, "b": {"additionalProperties": true}}, "anyOf": [{}, {"patternProperties": {"^x": {}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "/anyOf/0", "/anyOf/1", "/anyOf/1/patternProperties/^x", "/properties/a", "/properties/a/items/0", "/properties/a/items/1", "/properties/a/items/1/not", "/properties/b"}
	if got := slices.Sorted(maps.Keys(nodes(document))); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
