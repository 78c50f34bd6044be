package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/openapi"
)

// TestConversion: JSON Schema is read as the OpenAPI schema that means the same to the locks.
func TestConversion(t *testing.T) {
	for _, row := range []struct{ name, reason, text, want string }{
		{"type and null", "null makes it nullable", `{type: [string, "null"]}`, `{"type":"string","nullable":true}`},
		{"null and type", "in either order", `{type: ["null", integer]}`, `{"type":"integer","nullable":true}`},
		{"null alone", "nothing else is known", `{type: ["null"]}`, `{"nullable":true}`},
		{"two types", "they leave it open", `{type: [string, integer]}`, `{}`},
		{"two types and null", "open, and nullable", `{type: [string, "null", integer]}`, `{"nullable":true}`},
		{"boolean schemas", "anything, and nothing", `{type: object, properties: {y1: true, n1: false}}`, `{"type":"object","properties":{"n1":{"not":{}},"y1":{}}}`},
		{"limits as numbers", "since draft 6 they are not flags", `{type: number, exclusiveMinimum: 3, exclusiveMaximum: 5, minimum: 1}`, `{"type":"number","minimum":1}`},
		{"limits as flags", "as OpenAPI has them", `{type: number, exclusiveMinimum: true, minimum: 1}`, `{"type":"number","minimum":1,"exclusiveMinimum":true}`},
		{"every place of a schema", "each is converted", `{type: object, properties: {a: {type: ["null", string]}}, patternProperties: {"^b": {type: ["null", string]}}, additionalProperties: {type: ["null", string]}, not: {type: ["null", string]}}`,
			`{"type":"object","not":{"type":"string","nullable":true},"properties":{"a":{"type":"string","nullable":true}},"additionalProperties":{"type":"string","nullable":true},"patternProperties":{"^b":{"type":"string","nullable":true}}}`},
		{"no other properties", "a flag", `{type: object, additionalProperties: false}`, `{"type":"object","additionalProperties":false}`},
		{"lists of schemas", "each is converted", `{allOf: [{format: a}, {type: ["null", string]}], items: [{}, {type: ["null", string]}], additionalItems: {type: ["null", string]}, type: array}`,
			`{"type":"array","items":[{},{"type":"string","nullable":true}],"allOf":[{"format":"a"},{"type":"string","nullable":true}],"additionalItems":{"type":"string","nullable":true}}`},
		{"items", "one schema", `{type: array, items: {type: ["null", string]}}`, `{"type":"array","items":{"type":"string","nullable":true}}`},
		{"dependencies", "names stay, schemas are converted", `{type: object, dependencies: {a: [b, c], d: {type: ["null", string]}}}`, `{"type":"object","dependencies":{"a":["b","c"],"d":{"type":"string","nullable":true}}}`},
		{"what only names the schema", "it is dropped", `{$schema: "x", $comment: c, $anchor: here, type: object, definitions: {a: {}}, $defs: {b: {}}}`, `{"type":"object"}`},
		{"what only validates", "it is dropped", `{type: object, if: {}, then: {}, else: {required: [a]}, contains: {}, propertyNames: {}, prefixItems: [{}], dependentSchemas: {}, unevaluatedItems: false, unevaluatedProperties: false, contentSchema: {}}`, `{"type":"object"}`},
		{"other keywords", "they are passed on", `{type: object, x-other: {a: [1]}, title: t, enum: [a]}`, `{"type":"object","x-other":{"a":[1]},"title":"t","enum":["a"]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := read(t, "$schema: s\nproperties:\n  p: "+row.text)
			s, err := d.Resolve("#/properties/p")
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(row.want), &want) != nil {
				t.Fatal("no JSON")
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("got %s, want %s: %s", a, b, row.reason)
			}
		})
	}
}

// TestLocksThatLockNothing: a lock below a keyword that only validates is an error that names its place.
func TestLocksThatLockNothing(t *testing.T) {
	for _, keyword := range []string{"if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"} {
		d := read(t, "properties: {a: {"+keyword+": {allOf: [{}, {title: t}], properties: {b: {}, c: {x-kubernetes-immutable: true}}}}}")
		_, err := d.Compile("#")
		if want := "/properties/a/" + keyword + "/properties/c: a lock below a keyword"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", keyword, err, want)
		}
	}
	for text, want := range map[string]string{
		"prefixItems: [{}, {x-kubernetes-immutable: true}]":               "/prefixItems/1: a lock",
		"dependentSchemas: {a: {}, b/c: {x-fieldlock-update: [NoUnset]}}": "/dependentSchemas/b~1c: a lock",
		"contains: {X-Kubernetes-Immutable: true}":                        "/contains: a lock",
	} {
		if _, err := read(t, "properties: {a: {"+text+"}}").Compile("#"); err == nil || !strings.Contains(err.Error(), "/properties/a"+want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestWhatIsADocument: which objects are documents, and which of them is one schema.
func TestWhatIsADocument(t *testing.T) {
	for _, row := range []struct {
		text string
		ok   bool
		root string
	}{
		{"openapi: 3.0.0\npaths: {}", true, ""},
		{"swagger: '2.0'", true, ""},
		{"swagger: '2.0'\nproperties: {}", true, ""},
		{"definitions: {A: {type: object}}", true, ""},
		{"$defs: {A: {type: object}}", true, ""},
		{"components: {schemas: {A: {type: object}}}", true, ""},
		{"components: {other: {}}", false, ""},
		{"$schema: x", true, "#"},
		{"properties: {}", true, "#"},
		{"$ref: '#/$defs/A'\n$defs: {A: {}}", true, "#"},
		{"type: object", true, "#"},
		{"type: string", false, ""},
		{"kind: x\ntype: object", true, "#"},
		{"kind: x\napiVersion: v1\ntype: object", false, ""},
	} {
		d, err := openapi.Read("f.yaml", []byte(row.text))
		if (err == nil) != row.ok || err == nil && d.Root != row.root {
			t.Errorf("%q: %v, want a document %t with the root %q", row.text, err, row.ok, row.root)
		}
	}
}

// TestIndex: kinds and anchors are those of schemas, wherever these are, and not those of values.
func TestIndex(t *testing.T) {
	const gvk = "{x-kubernetes-group-version-kind: {group: g, version: v1, kind: K}, $anchor: A, type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}"
	for place, found := range map[string]bool{
		"allOf: [{}, {}, %]": true, "properties: {x: {items: %}}": true, "$defs: {x: %}": true, "not: %": true,
		"default: %": false, "enum: [%]": false, "const: %": false, "example: %": false, "examples: [%]": false, "paths: {x: %}": false,
	} {
		d := read(t, "$schema: s\n"+strings.ReplaceAll(place, "%", gvk))
		kind, ok := d.Find("g/v1", "K")
		if ok != found {
			t.Errorf("%s: the kind is found: %t", place, ok)
		}
		if _, err := d.Resolve("#A"); (err == nil) != found {
			t.Errorf("%s: the anchor: %v", place, err)
		}
		if ok {
			if _, err := d.Resolve(kind.Ref); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
}

// TestKindsWithoutNames: a kind has a version and a name; its group may be empty.
func TestKindsWithoutNames(t *testing.T) {
	for gvk, want := range map[string]string{
		"{group: g, version: v1}": "", "{group: g, kind: K}": "", "{version: v1, kind: K}": "v1 K", "{group: '', version: v1, kind: K}": "v1 K",
		"[{group: g, version: v1, kind: K}, {group: g, version: v1}]": "g/v1 K", "text": "",
	} {
		got := ""
		for _, k := range read(t, "swagger: '2.0'\ndefinitions: {a: {x-kubernetes-group-version-kind: "+gvk+"}}").Kinds {
			if k.APIVersion != "" {
				got += k.APIVersion + " " + k.Kind
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", gvk, got, want)
		}
	}
}

// TestPointersIntoLists: an index is a number of an item that is there.
func TestPointersIntoLists(t *testing.T) {
	d := read(t, "type: object\nallOf: [{format: a}, {format: b}]\nproperties: {p: {format: c}}")
	for ref, line := range map[string]int{"#": 3, "#/nowhere": 1, "#nope": 1, "other.json#": 1} {
		if at := d.Position(ref, "/properties/p"); at.Line != line {
			t.Errorf("%s: p is in line %d, want %d: where a reference leads nowhere, the document is meant", ref, at.Line, line)
		}
	}
	for ref, want := range map[string]string{
		"#/allOf/0": "a", "#/allOf/1": "b", "#/properties/p": "c",
		"#/allOf/2": "", "#/allOf/-1": "", "#/allOf/x": "", "#/allOf": "", "#/properties": "", "#/allOf/0/format": "", "#/allOf/0/0": "",
	} {
		s, err := d.Resolve(ref)
		if (err == nil) != (want != "") && ref != "#/properties" {
			t.Errorf("%s: %v", ref, err)
		}
		if err == nil && s.Format != want {
			t.Errorf("%s: format %q, want %q", ref, s.Format, want)
		}
	}
}

// TestAliasBelowValidation: a key of another dialect below a keyword that only validates is refused once it means a
// lock.
func TestAliasBelowValidation(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"if", "{type: object, if: {properties: {a: {x-acme: true}}}, properties: {b: {type: string}}}"},
		{"two keywords", "{type: object, then: {x-other: 1}, else: {properties: {a: {items: {X-Acme: true}}}}}"},
		{"below a property", "{type: object, properties: {b: {type: array, contains: {x-acme: true}}}}"},
		{"behind a reference", "{type: object, properties: {b: {$ref: '#/$defs/B'}}, $defs: {B: {type: object, propertyNames: {x-acme: true}}}}"},
	} {
		d := read(t, c.text)
		if _, err := d.Compile(d.Root); err != nil {
			t.Errorf("%s: without the alias: %v", c.name, err)
		}
		_, err := d.Compile(d.Root, immutability.WithKeyAlias("x-acme", immutability.LockImmutable))
		if err == nil || !strings.Contains(err.Error(), "is below a keyword that only validates, where a lock has no effect") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
