package openapi_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
)

func read(t *testing.T, text string) *openapi.Document {
	t.Helper()
	d, err := openapi.Read("schema.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// locksOf compiles what a reference leads to and returns the locked paths.
func locksOf(t *testing.T, d *openapi.Document, ref string) []string {
	t.Helper()
	v, err := d.Compile(ref)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, l := range v.Locks() {
		paths = append(paths, l.Path)
	}
	return paths
}

// Every way to refer to a schema of the same document leads to its locks.
func TestReferences(t *testing.T) {
	for _, c := range []struct{ name, reason, text string }{
		{"definitions", "OpenAPI v2 and JSON Schema to draft 7", `
$schema: http://json-schema.org/draft-07/schema#
properties: {a: {$ref: "#/definitions/A"}}
definitions: {A: {type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"$defs", "drafts 2019-09 and 2020-12", `
$schema: https://json-schema.org/draft/2020-12/schema
properties: {a: {$ref: "#/$defs/A"}}
$defs: {A: {type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"anchor", "a name anywhere in the document", `
properties: {a: {$ref: "#A"}}
$defs: {x: {$anchor: A, type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"anchor of draft 7", "an $id with a fragment", `
properties: {a: {$ref: "#A"}}
definitions: {x: {$id: "#A", type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"own URI", "the document names itself", `
$id: https://example.com/values.json
properties: {a: {$ref: "https://example.com/values.json#/$defs/A"}}
$defs: {A: {type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"pointer to a property", "any JSON pointer", `
properties:
  z: {type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}
  a: {$ref: "#/properties/z"}
  y: {}`},
		{"escaped pointer", "names have slashes and spaces", `
properties: {a: {$ref: "#/$defs/A~1x%20y"}}
$defs: {"A/x y": {type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"reference to a reference", "it is followed on", `
properties: {a: {$ref: "#/$defs/B"}}
$defs: {B: {$ref: "#/$defs/A"}, A: {type: object, properties: {b: {type: string, x-kubernetes-immutable: true}}}}`},
		{"boolean schemas and lists of types", "JSON Schema has them", `
properties: {a: {type: [object, "null"], additionalProperties: false, properties: {b: {type: [string, integer], x-kubernetes-immutable: true}, c: true, d: false}}}
exclusiveMinimum: 3
if: {properties: {c: true}}
then: {required: [a]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := read(t, c.text)
			if d.Root != "#" {
				t.Fatalf("the root is %q", d.Root)
			}
			got := strings.Join(locksOf(t, d, d.Root), " ")
			if got != "a.b" && got != "a.b z.b" {
				t.Errorf("the locks are %q, want a.b: %s", got, c.reason)
			}
		})
	}
}

func TestRecursion(t *testing.T) {
	d := read(t, `
properties: {a: {$ref: "#"}, l: {type: string, x-kubernetes-immutable: true}}`)
	v, err := d.Compile("#")
	if err != nil {
		t.Fatal(err)
	}
	deep := func(l string) map[string]any { return map[string]any{"a": map[string]any{"a": map[string]any{"l": l}}} }
	if errs := v.ValidateUpdate(deep("x"), deep("y")); len(errs) != 1 || errs[0].Field != "a.a.l" {
		t.Errorf("got %v, want one violation at a.a.l", errs)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a CRD", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nproperties: {}", "it is neither an OpenAPI document"},
		{"something else", "a: 1", "schema.yaml:1: it is neither an OpenAPI document"},
		{"two documents", "type: object\n---\ntype: object", "it has 2 documents"},
		{"malformed", "{", "is malformed"},
		{"another document", "properties: {a: {$ref: other.json}}", "leads to another document"},
		{"no such definition", `properties: {a: {$ref: "#/$defs/A"}}`, `has no schema at "/$defs/A"`},
		{"no such anchor", `properties: {a: {$ref: "#A"}}`, `no anchor "A"`},
		{"wrong form", "properties:\n  a:\n    pattern: 1", "schema.yaml:3: document 1: properties.a.pattern: it is the number 1"},
		{"wrong form behind a reference", "properties:\n  a: {$ref: '#/$defs/A'}\n$defs:\n  A: {pattern: 1}", `pattern: it is the number 1`},
		{"lock under then", "properties: {a: {}}\nthen: {properties: {a: {x-kubernetes-immutable: true}}}", "/then/properties/a: a lock below a keyword"},
		{"lock under prefixItems", "properties: {a: {prefixItems: [{x-kubernetes-immutable: true}]}}", "/properties/a/prefixItems/0: a lock"},
		{"lock under anyOf", "properties: {a: {anyOf: [{x-kubernetes-immutable: true}]}}", "anyOf"},
		{"dynamic reference", "properties: {a: {$dynamicRef: '#a'}}", "$dynamicRef is not supported"},
		{"lock on the root", "type: object\nx-kubernetes-immutable: true", "schema.yaml, #: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := openapi.Read("schema.yaml", []byte(c.text))
			if err == nil {
				_, err = d.Compile("#")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	const schemas = `
    com.example.v1.Widget:
      type: object
      properties:
        metadata: {allOf: [{$ref: "#/REFS/Meta"}], default: {}}
        spec: {allOf: [{$ref: "#/REFS/Spec"}], default: {}}
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Widget}]
    Meta: {type: object, properties: {name: {type: string}}}
    Spec:
      type: object
      properties:
        class: {type: string, x-kubernetes-immutable: "true"}
        nodes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {$ref: "#/REFS/Node"}}
    Node:
      type: object
      required: [name]
      properties: {name: {type: string}, zone: {type: string, x-fieldlock-update: [NoModify]}}
    Namespace: {type: object, x-kubernetes-group-version-kind: {group: "", version: v1, kind: Namespace}}
`
	for name, text := range map[string]string{
		"v2": "swagger: '2.0'\npaths: {/x: {}}\ndefinitions:" + strings.ReplaceAll(schemas, "#/REFS/", "#/definitions/"),
		"v3": "openapi: 3.0.0\ncomponents:\n  schemas:" + strings.ReplaceAll(schemas, "#/REFS/", "#/components/schemas/"),
	} {
		t.Run(name, func(t *testing.T) {
			d := read(t, text)
			if len(d.Kinds) != 2 || d.Kinds[0].APIVersion != "example.com/v1" || d.Kinds[1].APIVersion != "v1" || d.Root != "" {
				t.Fatalf("the kinds are %v, the root %q", d.Kinds, d.Root)
			}
			kind, ok := d.Find("example.com/v1", "Widget")
			if !ok {
				t.Fatal("there is no Widget")
			}
			if diff := cmp.Diff([]string{"spec.class", "spec.nodes[*].zone"}, locksOf(t, d, kind.Ref)); diff != "" {
				t.Error(diff)
			}
			if at := d.Position(kind.Ref, "/properties/spec"); at.Line == 0 {
				t.Error("the position of a property is unknown")
			}
			if _, ok := d.Find("example.com/v2", "Widget"); ok {
				t.Error("there is a Widget of another version")
			}
		})
	}
}

// TestNamelessKinds: schemas that no kind refers to are listed by name, those in a circle too.
func TestNamelessKinds(t *testing.T) {
	d := read(t, `
components:
  schemas:
    A: {type: object, properties: {b: {$ref: "#/components/schemas/B"}}}
    B: {type: object}
    C: {type: object, properties: {d: {$ref: "#/components/schemas/D"}}}
    D: {type: object, properties: {c: {$ref: "#/components/schemas/C"}}}
    Self: {type: object, properties: {self: {$ref: "#/components/schemas/Self"}}}
    Widget: {type: object, x-kubernetes-group-version-kind: [{version: v1, kind: Widget}], properties: {e: {$ref: "#/components/schemas/E"}}}
    E: {type: object}
`)
	var got []string
	for _, k := range d.Kinds {
		got = append(got, strings.TrimSpace(k.APIVersion+" "+k.Kind)+" "+k.Ref)
	}
	const at = " #/components/schemas/"
	if diff := cmp.Diff([]string{"A" + at + "A", "C" + at + "C", "Self" + at + "Self", "v1 Widget" + at + "Widget"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The documents of real API servers: every kind compiles, with every reference followed.
func TestRealDocuments(t *testing.T) {
	for module, pattern := range map[string]string{
		"k8s.io/client-go@v0.35.0":    "openapi/openapitest/testdata/*.json",
		"k8s.io/apimachinery@v0.35.0": "pkg/util/managedfields/internal/testdata/swagger.json",
	} {
		files, err := modulefs.Open(module)
		if err != nil {
			t.Skip(err)
		}
		defer files.Close()
		names, _ := fs.Glob(files, pattern)
		if len(names) == 0 {
			t.Fatalf("%s has no %s", module, pattern)
		}
		kinds := 0
		for _, name := range names {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			d, err := openapi.Read(name, data)
			if err != nil {
				t.Fatal(err)
			}
			kinds += len(d.Kinds)
			for _, kind := range d.Kinds {
				v, err := d.Compile(kind.Ref)
				if err != nil {
					t.Errorf("%s %s: %v", kind.APIVersion, kind.Kind, err)
				} else if !v.Empty() {
					t.Logf("%s %s has locks", kind.APIVersion, kind.Kind)
				}
			}
		}
		if kinds < 9 {
			t.Errorf("%s has %d kinds", module, kinds)
		}
	}
}

// TestFromUnstructured: a decoded object is read like a text, without places; one that is neither is an error.
func TestFromUnstructured(t *testing.T) {
	d, err := openapi.FromUnstructured(map[string]any{"type": "object", "properties": map[string]any{
		"a": map[string]any{"type": "string", "x-kubernetes-immutable": true}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := locksOf(t, d, d.Root); len(got) != 1 || got[0] != "a" || d.Position(d.Root, "/properties/a").Line != 0 {
		t.Errorf("locks %q, a property is at %s", got, d.Position(d.Root, "/properties/a"))
	}
	for _, object := range []map[string]any{nil, {"a": 1}, {"apiVersion": "v1", "kind": "List", "type": "object"}} {
		if d, err := openapi.FromUnstructured(object); d != nil || err == nil || !strings.Contains(err.Error(), "it is neither") {
			t.Errorf("%v: error %v", object, err)
		}
	}
}
