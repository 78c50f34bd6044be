package schema

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

const nodesOf = `{"type": "object", "allOf": [{"required": ["b"]}], "properties": {
	"b": {"type": "array", "items": {"type": "string", "format": "password"}},
	"a/b": {"type": "object", "additionalProperties": {"type": "integer"}}}}`

func decodedSchema(t *testing.T, text string) *spec.Schema {
	t.Helper()
	s := new(spec.Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNodes(t *testing.T) {
	var got []string
	for path := range Nodes(decodedSchema(t, nodesOf)) {
		got = append(got, path)
	}
	want := []string{"", "/properties/a~1b", "/properties/a~1b/additionalProperties", "/properties/b", "/properties/b/items", "/allOf/0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for path := range Nodes(decodedSchema(t, nodesOf)) {
		if path != "" {
			break // a caller may stop anywhere
		}
	}
	for range Nodes(nil) {
		t.Error("nil has a node")
	}
}

func TestBelow(t *testing.T) {
	s := decodedSchema(t, nodesOf)
	if at := Below(Below(s, "b"), 3); !IsPassword(at) || IsPassword(s) || IsPassword(nil) {
		t.Errorf("the items of b are %v", at)
	}
	if at := Below(Below(s, "a/b"), "any"); at == nil || !at.Type.Contains("integer") {
		t.Errorf("the values of a/b are %v", at)
	}
	for _, none := range []*spec.Schema{Below(s, "c"), Below(s, 0), Below(nil, "a"), Below(nil, 0)} {
		if none != nil {
			t.Errorf("there is %v", none)
		}
	}
}

// TestEdit: the nodes at the paths change in a copy, and a change that cannot be made is an error.
func TestEdit(t *testing.T) {
	s := decodedSchema(t, nodesOf)
	lock := func(e spec.Extensions) error {
		e[KeyImmutable] = true
		return nil
	}
	paths := []string{"", "/properties/a~1b/additionalProperties", "/properties/b/items", "/allOf/0"}
	changes := map[string]func(spec.Extensions) error{}
	for _, path := range paths {
		changes[path] = lock
	}
	out, err := Edit(s, changes)
	if err != nil {
		t.Fatal(err)
	}
	for path, node := range Nodes(out) {
		if locked := node.Extensions[KeyImmutable] == true; locked != slices.Contains(paths, path) {
			t.Errorf("%q is locked: %v", path, locked)
		}
	}
	for path, node := range Nodes(s) {
		if len(node.Extensions) > 0 {
			t.Errorf("%q of the schema itself has changed", path)
		}
	}
	for path, want := range map[string]string{
		"/properties/c": "no such node", "/properties": "no such node", "properties/b": "no such node", "/properties/b/items/items": "no such node",
	} {
		if _, err := Edit(s, map[string]func(spec.Extensions) error{path: lock}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", path, err, want)
		}
	}
	failed := errors.New("it has another value")
	if _, err := Edit(s, map[string]func(spec.Extensions) error{"/properties/b": func(spec.Extensions) error { return failed }}); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
