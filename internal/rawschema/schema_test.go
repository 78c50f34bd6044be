package rawschema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/rawschema"
)

// keywords are values of every keyword, as they may be.
var keywords = map[string][]string{
	"id": {`"i"`}, "$schema": {`"http://example.dev/schema"`}, "$ref": {`"#/definitions/a"`}, "description": {`"d"`}, "format": {`"f"`}, "title": {`"t"`}, "pattern": {`"^p"`},
	"type":     {`"object"`},
	"nullable": {`true`}, "exclusiveMaximum": {`true`}, "exclusiveMinimum": {`true`}, "uniqueItems": {`true`},
	"maximum": {`10`, `1.5`}, "minimum": {`-1`, `0.25`}, "multipleOf": {`2`, `0.5`},
	"maxLength": {`3`}, "minLength": {`1`}, "maxItems": {`4`}, "minItems": {`2`}, "maxProperties": {`6`}, "minProperties": {`5`},
	"enum": {`["a","b"]`, `[]`}, "required": {`["a","b"]`}, "default": {`{"a":"b"}`, `"x"`, `false`}, "example": {`"e"`},
	"items": {`{"type":"string"}`, `[{"type":"string"},{"type":"object"}]`}, "additionalItems": {`{"type":"string"}`, `true`, `false`},
	"allOf": {`[{"type":"string"},{"format":"x"}]`}, "oneOf": {`[{"type":"string"}]`}, "anyOf": {`[{"type":"string"}]`}, "not": {`{"type":"string"}`},
	"properties": {`{"a":{"type":"string"},"b":{"format":"x"}}`}, "patternProperties": {`{"^a":{"type":"string"}}`}, "definitions": {`{"d":{"type":"string"}}`},
	"additionalProperties": {`{"type":"string"}`, `true`, `false`}, "dependencies": {`{"a":["b","c"],"d":{"type":"string"}}`},
	"externalDocs":           {`{"description":"d","url":"u"}`},
	"x-kubernetes-immutable": {`true`, `"true"`}, "x-other": {`[{}]`}, "X-Upper": {`"u"`}, "x-": {`"short"`},
}

// TestKeywords: every keyword is read as the JSON decoding of kube-openapi reads it, and null is a keyword that is not
// there.
func TestKeywords(t *testing.T) {
	for keyword, values := range keywords {
		for _, text := range append(values, "null") {
			document := fmt.Sprintf(`{"title":"beside","properties":{"p":{%q:%s}}}`, keyword, text)
			if text == "null" && (keyword == "default" || keyword == "example" || strings.HasPrefix(strings.ToLower(keyword), "x-")) {
				continue // a value like any other, which the JSON encoding of kube-openapi leaves out
			}
			var value any
			if err := utiljson.Unmarshal([]byte(document), &value); err != nil {
				t.Fatal(err)
			}
			s, bad := rawschema.Schema(value)
			if bad != nil {
				t.Errorf("%s: %s at %v", document, bad, bad.Steps)
				continue
			}
			var want spec.Schema
			if err := json.Unmarshal([]byte(document), &want); err != nil {
				t.Fatal(err)
			}
			wantText, _ := json.Marshal(want)
			if got, err := json.Marshal(s); err != nil || string(got) != string(wantText) {
				t.Errorf("%s: got %s, want %s", document, got, wantText)
			}
		}
	}
}

// TestOtherKeys: what is no keyword is kept, each key in its place, and values stay as they were decoded.
func TestOtherKeys(t *testing.T) {
	s, bad := rawschema.Schema(map[string]any{"x-a": int64(1), "X-B": int64(2), "foo": int64(3), "bar": "4", "x": int64(5), "default": int64(6), "example": int64(7), "enum": []any{int64(8)}})
	if bad != nil {
		t.Fatal(bad)
	}
	if len(s.Extensions) != 2 || s.Extensions["x-a"] != int64(1) || s.Extensions["X-B"] != int64(2) {
		t.Errorf("extensions %v", s.Extensions)
	}
	if len(s.ExtraProps) != 3 || s.ExtraProps["foo"] != int64(3) || s.ExtraProps["bar"] != "4" || s.ExtraProps["x"] != int64(5) {
		t.Errorf("other keys %v", s.ExtraProps)
	}
	if s.Default != int64(6) || s.Example != int64(7) || s.Enum[0] != int64(8) {
		t.Errorf("default %v, example %v, enum %v: integers stay exact", s.Default, s.Example, s.Enum)
	}
}

// TestMistakes: a value of the wrong form is refused, with the keyword and what would be right.
func TestMistakes(t *testing.T) {
	for _, row := range []struct {
		document, want string
		steps          []any // from the mistake outward
	}{
		{`1`, "it is the number 1; a schema is an object", nil},
		{`{"title": 1}`, "it must be a string", []any{"title"}},
		{`{"nullable": "true"}`, "it must be true or false, unquoted", []any{"nullable"}},
		{`{"maximum": "1"}`, "it must be a number", []any{"maximum"}},
		{`{"maxItems": true}`, "it must be an integer", []any{"maxItems"}},
		{`{"type": ["string", "null"]}`, "it must be one of object, array", []any{"type"}},
		{`{"enum": "a"}`, "it must be a list", []any{"enum"}},
		{`{"required": "a"}`, "it must be a list", []any{"required"}},
		{`{"required": ["a", 1]}`, "it must be a string", []any{1, "required"}},
		{`{"allOf": {}}`, "it must be a list of schemas", []any{"allOf"}},
		{`{"anyOf": [{}, 1]}`, "a schema is an object", []any{1, "anyOf"}},
		{`{"properties": []}`, "it must be an object of schemas by name", []any{"properties"}},
		{`{"properties": {"a": {}, "b": {"title": 1}}}`, "it must be a string", []any{"title", "b", "properties"}},
		{`{"items": 1}`, "a schema is an object", []any{"items"}},
		{`{"items": [{"title": 1}]}`, "it must be a string", []any{"title", 0, "items"}},
		{`{"additionalProperties": "yes"}`, "it must be a schema, true or false", []any{"additionalProperties"}},
		{`{"additionalProperties": {"title": 1}}`, "it must be a string", []any{"title", "additionalProperties"}},
		{`{"not": {"title": 1}}`, "it must be a string", []any{"title", "not"}},
		{`{"$ref": 1}`, "it must be a string", []any{"$ref"}},
		{`{"$ref": "%"}`, "it must be a URI reference", []any{"$ref"}},
		{`{"dependencies": []}`, "it must be an object of schemas or lists", []any{"dependencies"}},
		{`{"dependencies": {"a": [1]}}`, "it must be a string", []any{0, "a", "dependencies"}},
		{`{"dependencies": {"a": 1}}`, "a schema is an object", []any{"a", "dependencies"}},
		{`{"externalDocs": "u"}`, "it must be an object with description and url", []any{"externalDocs"}},
	} {
		var value any
		if err := utiljson.Unmarshal([]byte(row.document), &value); err != nil {
			t.Fatal(err)
		}
		s, bad := rawschema.Schema(value)
		if bad == nil || s != nil {
			t.Errorf("%s: no mistake is found", row.document)
			continue
		}
		if !strings.Contains(bad.Error(), row.want) || !slices.EqualFunc(bad.Steps, row.steps, func(a, b any) bool { return a == b }) {
			t.Errorf("%s: %s at %v, want %s at %v", row.document, bad, bad.Steps, row.want, row.steps)
		}
	}
}

// TestShared: properties that are one value are one in the schemas, equal ones are not, and what they mean stays.
func TestShared(t *testing.T) {
	properties := map[string]any{"a": map[string]any{"type": "string"}}
	version := func() any {
		return map[string]any{"properties": map[string]any{"spec": map[string]any{"properties": properties}, "more": map[string]any{"items": map[string]any{"properties": properties}}}}
	}
	var shared rawschema.Shared
	of := func(value any) (*spec.Schema, uintptr, uintptr) {
		s, err := shared.Schema(value)
		if err != nil {
			t.Fatal(err.Message)
		}
		more := s.Properties["more"]
		return s, reflect.ValueOf(s.Properties["spec"].Properties).Pointer(), reflect.ValueOf(more.Items.Schema.Properties).Pointer()
	}
	first, a, b := of(version())
	second, c, d := of(version())
	if a != b || a != c || a != d {
		t.Error("properties of one value are several")
	}
	alone, _ := rawschema.Schema(version())
	if !reflect.DeepEqual(first, alone) || !reflect.DeepEqual(second, alone) {
		t.Errorf("got %+v and %+v, want %+v", first, second, alone)
	}
	properties = map[string]any{"a": map[string]any{"type": "string"}}
	if _, e, _ := of(version()); e == a {
		t.Error("equal properties are one")
	}
}
