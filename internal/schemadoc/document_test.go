package schemadoc_test

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestFromDocument: a document that was read already has its places; one that is neither is an error with its place.
func TestFromDocument(t *testing.T) {
	from := func(object map[string]any) (*schemadoc.Document, error) {
		at := func(steps []any) yamldoc.Position { return yamldoc.Position{Line: 10 + len(steps), Column: 3} }
		document := yamldoc.Derived("own.yaml", object, at)
		document.Number = 2
		return schemadoc.FromDocument(document)
	}
	d, err := from(map[string]any{"$schema": "x", "properties": map[string]any{"a": map[string]any{"type": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Position(d.Root, "/properties/a").String(); d.File != "own.yaml" || got != "own.yaml:12:3" {
		t.Errorf("the file is %q, a property is at %s", d.File, got)
	}
	if _, err := d.Resolve(d.Root); err == nil || !strings.HasPrefix(err.Error(), "own.yaml:13: document 2: properties.a.type: ") {
		t.Errorf("error %v, want one with file, line and document", err)
	}
	for _, object := range []map[string]any{nil, {"a": 1}, {"apiVersion": "v1", "kind": "List", "type": "object"}} {
		if d, err := from(object); d != nil || err == nil || !strings.HasPrefix(err.Error(), "own.yaml:10: it is neither") {
			t.Errorf("%v: error %v", object, err)
		}
	}
}
