package crd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// document is a CRD of apiextensions.k8s.io/v1 with the given rest of its spec, indented by two spaces.
func document(rest string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n" +
		"  group: example.com\n  names: {kind: Widget, plural: widgets}\n" + rest
}

// beta is document in v1beta1.
func beta(rest string) string {
	return strings.Replace(document(rest), "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", 1)
}

// version is one item of spec.versions, with its schema in flow style.
func version(name, schema string) string {
	return fmt.Sprintf("  - {name: %s, served: true, storage: false, schema: {openAPIV3Schema: %s}}\n", name, schema)
}

// spec is a schema in flow style with the given properties of spec.
func spec(properties string) string {
	return "{type: object, required: [spec], properties: {spec: {type: object, properties: {" + properties + "}}}}"
}

// annotated adds the annotation of locks to a document.
func annotated(text, value string) string {
	return strings.Replace(text, "{name: widgets.example.com}", "{name: widgets.example.com, annotations: {fieldlock.dev/locks: '"+value+"'}}", 1)
}

// read reads the one CRD of a text.
func read(t testing.TB, text string) *crd.CRD {
	t.Helper()
	crds, err := crd.Read("crds.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(crds) != 1 {
		t.Fatalf("%d CRDs, want 1", len(crds))
	}
	return crds[0]
}

func TestRead(t *testing.T) {
	const class = "class: {type: string, x-kubernetes-immutable: true}"
	one := document("  versions:\n" + version("v1", spec(class)))
	for _, c := range []struct {
		name, reason, text string
		want               []string // group/version kind (served, storage) preserve locks
	}{
		{"one version", "the plain case", one, []string{"example.com Widget v1 true false false /properties/spec/properties/class"}},
		{"absent served", "it is looked at rather than left out", document("  versions:\n  - name: v1\n    schema: {openAPIV3Schema: {type: object}}\n"),
			[]string{"example.com Widget v1 true false false"}},
		{"other kinds", "they are skipped", "kind: Service\napiVersion: v1\n---\n" + one + "---\nresources: [a.yaml]\n",
			[]string{"example.com Widget v1 true false false /properties/spec/properties/class"}},
		{"a kind of the same name", "CustomResourceDefinition is read, its patches are not", "kind: ConversionReview\napiVersion: apiextensions.k8s.io/v1\n", nil},
		{"none", "no error here: the caller knows whether there had to be one", "", nil},
		{"v1beta1, one schema for all", "spec.validation is the schema of every version",
			beta("  validation: {openAPIV3Schema: " + spec(class) + "}\n  versions:\n  - {name: v1, served: true, storage: true}\n  - {name: v2, served: false, storage: false}\n"),
			[]string{"example.com Widget v1 true true true /properties/spec/properties/class", "example.com Widget v2 false false true /properties/spec/properties/class"}},
		{"v1beta1, spec.version", "the oldest form", beta("  version: v1\n  preserveUnknownFields: false\n  validation: {openAPIV3Schema: " + spec(class) + "}\n"),
			[]string{"example.com Widget v1 true true false /properties/spec/properties/class"}},
		{"v1beta1, schema per version", "one version may have none", beta("  version: v1\n  versions:\n" + version("v1", spec(class)) + "  - {name: v2, served: true, storage: true}\n"),
			[]string{"example.com Widget v1 true false true /properties/spec/properties/class", "example.com Widget v2 true true true"}},
		{"a List", "kubectl get -o yaml prints one", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(one), "\n", "\n  "),
			[]string{"example.com Widget v1 true false false /properties/spec/properties/class"}},
		{"JSON", "kubectl get -o json", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a"},"spec":{"group":"g","names":{"kind":"K"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"x-kubernetes-immutable":true}}}}}]}}`,
			[]string{"g K v1 true true false /properties/a"}},
		{"null keywords", "the API server takes null for absent", document("  versions:\n" + version("v1", "{type: object, properties: null, default: null, description: null}")),
			[]string{"example.com Widget v1 true false false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			crds, err := crd.Read("crds.yaml", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, crd := range crds {
				for _, v := range crd.Versions {
					line := fmt.Sprint(crd.Group, " ", crd.Kind, " ", v.Name, " ", v.Served, " ", v.Storage, " ", crd.PreserveUnknownFields)
					validator, err := v.Compile()
					if err != nil {
						t.Fatal(err)
					}
					for _, lock := range validator.Locks() {
						line += " " + lock.SchemaPath
					}
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// Every mistake is one sentence with file, line, document, path and what would be right.
func TestReadErrors(t *testing.T) {
	const class = "{type: object, properties: {spec: {type: object, properties: {class: {type: string}}}}}"
	plain := document("  versions:\n" + version("v1", class))
	const doc = "document 1, CustomResourceDefinition widgets.example.com: "
	for _, c := range []struct{ name, text, want string }{
		{"unknown apiVersion", strings.Replace(plain, "io/v1\n", "io/v2\n", 1),
			"crds.yaml:1: " + doc + `apiVersion: it is the string "apiextensions.k8s.io/v2"; the apiVersion of a CustomResourceDefinition is apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1`},
		{"no apiVersion", strings.Replace(plain, "apiVersion: apiextensions.k8s.io/v1\n", "", 1), "crds.yaml:1: " + doc + "apiVersion: it is null; the apiVersion of a CustomResourceDefinition is"},
		{"no kind", "apiVersion: apiextensions.k8s.io/v1\nspec: {}", "crds.yaml:1: document 1: it has no kind; of apiextensions.k8s.io/v1, this reads the kind CustomResourceDefinition"},
		{"no spec", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", "crds.yaml:1: document 1, CustomResourceDefinition: spec: it is missing; it holds the group"},
		{"spec is a list", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: []\n", "crds.yaml:3: document 1, CustomResourceDefinition: spec: it is a list; it must be an object"},
		{"no group", strings.Replace(plain, "  group: example.com\n", "", 1), "crds.yaml:4: " + doc + `spec.group: it is missing; it is the API group of the objects, such as "example.com"`},
		{"group is a number", strings.Replace(plain, "group: example.com", "group: 1", 1), "crds.yaml:5: " + doc + "spec.group: it is the number 1; it must be a string"},
		{"no kind of objects", strings.Replace(plain, "kind: Widget", "listKind: W", 1), "crds.yaml:6: " + doc + "spec.names.kind: it is missing"},
		{"no versions", document(""), "crds.yaml:4: " + doc + "spec.versions: there is no version; a CustomResourceDefinition has at least one, with name, served, storage and schema"},
		{"empty versions", document("  versions: []\n"), "crds.yaml:7: " + doc + "spec.versions: there is no version"},
		{"versions is an object", document("  versions: {}\n"), "crds.yaml:7: " + doc + "spec.versions: it is an object; it must be the list of versions"},
		{"version is a string", document("  versions: [v1]\n"), `crds.yaml:7: ` + doc + `spec.versions[0]: it is the string "v1"; it must be an object`},
		{"version is null", document("  versions: [null]\n"), `crds.yaml:7: ` + doc + `spec.versions[0]: it is null; a version is an object`},
		{"version without name", document("  versions:\n  - {served: true}\n"), "crds.yaml:8: " + doc + `spec.versions[0].name: it is missing; it is the name of the version, such as "v1"`},
		{"version twice", document("  versions:\n" + version("v1", class) + version("v1", class)), "crds.yaml:9: " + doc + `spec.versions[1].name: there are two versions "v1"`},
		{"quoted boolean", document("  versions:\n  - {name: v1, served: 'true'}\n"), `crds.yaml:8: ` + doc + `spec.versions[0].served: it is the string "true"; it must be true or false, unquoted`},
		{"no schema", document("  versions:\n  - {name: v1}\n"), "crds.yaml:8: " + doc + `spec.versions[0].schema.openAPIV3Schema: version "v1" has no schema; every version of a CustomResourceDefinition has one`},
		{"empty validation", document("  versions:\n  - name: v1\n    schema: {}\n"), "crds.yaml:9: " + doc + `spec.versions[0].schema.openAPIV3Schema: version "v1" has no schema`},
		{"schema of v1beta1 in v1", document("  validation: {openAPIV3Schema: {type: object}}\n  versions:\n  - {name: v1}\n"), "; spec.validation belongs to v1beta1, move it here"},
		{"v1beta1 without schema", beta("  version: v1\n"), "crds.yaml:4: " + doc + "spec.validation: no version has a schema; it goes into spec.validation.openAPIV3Schema, or"},
		{"v1beta1, two schemas", beta("  validation: {openAPIV3Schema: {type: object}}\n  versions:\n" + version("v1", class)), "there is a schema in spec.validation too; keep one of them"},
		{"v1beta1, two names", beta("  version: v2\n  versions:\n" + version("v1", class)), `spec.version: it is "v2" and spec.versions[0].name is "v1"; they must be equal`},
		{"schema is a string", document("  versions:\n" + version("v1", "nope")), `crds.yaml:8: ` + doc + `spec.versions[0].schema.openAPIV3Schema: it is the string "nope"; a schema is an object`},
		{"property is a string", document("  versions:\n" + version("v1", "{properties: {a: string}}")), `spec.versions[0].schema.openAPIV3Schema.properties.a: it is the string "string"; a schema is an object`},
		{"properties is a list", document("  versions:\n" + version("v1", "{properties: []}")), "openAPIV3Schema.properties: it is a list; it must be an object of schemas by name"},
		{"type is a list", document("  versions:\n" + version("v1", "{type: [object]}")), "openAPIV3Schema.type: it is a list; it must be one of object, array, string, integer, number, boolean"},
		{"required is a string", document("  versions:\n" + version("v1", "{required: a}")), `openAPIV3Schema.required: it is the string "a"; it must be a list`},
		{"required has a number", document("  versions:\n" + version("v1", "{required: [a, 1]}")), `openAPIV3Schema.required[1]: it is the number 1; it must be a string`},
		{"quoted nullable", document("  versions:\n" + version("v1", "{nullable: 'true'}")), `openAPIV3Schema.nullable: it is the string "true"; it must be true or false, unquoted`},
		{"fractional length", document("  versions:\n" + version("v1", "{maxLength: 1.5}")), `openAPIV3Schema.maxLength: it is the number 1.5; it must be an integer`},
		{"deep", document("  versions:\n" + version("v1", "{properties: {a/b: {items: {allOf: [{}, {maximum: x}]}}}}")), `openAPIV3Schema.properties["a/b"].items.allOf[1].maximum: it is the string "x"; it must be a number`},
		{"second document", plain + "---\n" + document(""), "crds.yaml:13: document 2, CustomResourceDefinition widgets.example.com: spec.versions: there is no version"},
		{"preserveUnknownFields", document("  preserveUnknownFields: 1\n"), "spec.preserveUnknownFields: it is the number 1; it must be true or false, unquoted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			crds, err := crd.Read("crds.yaml", []byte(c.text))
			if err == nil {
				t.Fatalf("%d CRDs and no error, want one that says %q", len(crds), c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is\n\t%v\nand does not say\n\t%s", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

// Every keyword lands where kube-openapi's own decoder puts it.
func TestSchemaAsKubeOpenAPI(t *testing.T) {
	const schema = `{id: a, $schema: "http://json-schema.org/draft-04/schema", $ref: "#/b", description: d, type: object, nullable: true, format: f, title: t,
		default: {a: [1, 2.5, null]}, maximum: 2, exclusiveMaximum: true, minimum: 1.5, exclusiveMinimum: true, maxLength: 3, minLength: 1.0, pattern: p,
		maxItems: 4, minItems: 2, uniqueItems: true, multipleOf: 2, enum: [a, 1, null], maxProperties: 5, minProperties: 1, required: [a], example: {x: 1},
		items: {type: string}, allOf: [{type: string}], oneOf: [{type: integer}], anyOf: [{}], not: {type: array}, properties: {a: {items: [{type: string}, {}]}},
		additionalProperties: {type: string}, patternProperties: {x: {additionalProperties: true}, z: {additionalProperties: false}},
		dependencies: {a: [b], c: {type: string}}, additionalItems: false, definitions: {d: {type: string}}, externalDocs: {description: e, url: u},
		x-a: {b: [1]}, X-B: "true", readOnly: true, unknown: 1}`
	c := read(t, document("  versions:\n"+version("v1", schema)))
	raw := at(t, objectOf(t, schema))
	if diff := cmp.Diff(jsonValue(t, kubeOpenAPI(t, raw)), jsonValue(t, c.Versions[0].Schema)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A schema that does not compile is an error with the place of the CRD, and its findings can be found.
func TestCompileError(t *testing.T) {
	v := read(t, document("  versions:\n"+version("v1", spec("class: {type: string, x-kubernetes-immutable: false}")))).Versions[0]
	_, err := v.Compile()
	var schema *immutability.SchemaError
	if !errors.As(err, &schema) || len(schema.Findings) != 1 || !strings.HasPrefix(err.Error(), "crds.yaml: CustomResourceDefinition widgets.example.com, version v1: ") {
		t.Errorf("error %v, want a *SchemaError with one finding and the CRD's place", err)
	}
	if got := v.CRD().Name; got != "widgets.example.com" {
		t.Errorf("the version is of %s", got)
	}
}

// Numbers of a schema stay what they are: spec.Schema's own decoder would round them.
func TestSchemaKeepsValues(t *testing.T) {
	c := read(t, document("  versions:\n"+version("v1",
		"{type: object, X-Kubernetes-Immutable: true, unknown: 1, properties: {a: {type: integer, default: 9007199254740993, enum: [9007199254740993], x-a: {b: 9007199254740993}, maximum: 2}}}")))
	root := c.Versions[0].Schema
	a := root.Properties["a"]
	const want = int64(9007199254740993)
	for name, got := range map[string]any{"default": a.Default, "enum": a.Enum[0], "extension": a.Extensions["x-a"].(map[string]any)["b"]} {
		if got != want {
			t.Errorf("%s is %v (%T), want %v", name, got, got, want)
		}
	}
	if got := root.Extensions["X-Kubernetes-Immutable"]; got != true {
		t.Errorf("the key in the wrong letter case is %v, want true: lint has to see it", got)
	}
	if got := root.ExtraProps["unknown"]; got != int64(1) {
		t.Errorf("the unknown keyword is %v, want 1", got)
	}
}

func TestVersionPosition(t *testing.T) {
	crds, err := crd.Read("testdata/widgets.yaml", readFile(t, "testdata/widgets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, path, reason, want string }{
		{"v1", "", "the key of the schema", "15:7"},
		{"v1", "/properties/spec/properties/class", "the name of the property", "23:15"},
		{"v1", "/properties/spec/properties/a~1b~0c", "escapes are undone", "42:15"},
		{"v1", "/properties/spec/properties/nodes/items/properties/zone", "below items", "56:21"},
		{"v1", "/properties/spec/properties/class/nope", "the last node that exists", "23:15"},
		{"v2", "/properties/spec/properties/class", "an alias leads to its anchor", "23:15"},
	} {
		version, _ := crds[0].Version(c.version)
		if got, want := version.Position(c.path).String(), "testdata/widgets.yaml:"+c.want; got != want {
			t.Errorf("%s %s is at %s, want %s: %s", c.version, c.path, got, want, c.reason)
		}
	}
}

// TestDecodedObject: an object of another kind and a broken CRD are errors; a CRD without a name gets the name that an
// API server requires.
func TestDecodedObject(t *testing.T) {
	spec := map[string]any{
		"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}
	object := func(kind string, spec any) map[string]any {
		return map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "spec": spec}
	}
	if c, err := crd.FromObject(&unstructured.Unstructured{Object: object("CustomResourceDefinition", spec)}); err != nil || c.Name != "widgets.example.com" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, object := range map[string]map[string]any{
		"another kind": object("Widget", spec),
		"no spec":      object("CustomResourceDefinition", nil),
		"empty spec":   object("CustomResourceDefinition", map[string]any{}),
		"empty":        {},
	} {
		if c, err := crd.FromObject(&unstructured.Unstructured{Object: object}); err == nil || c != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// TestNumbersOfObjects: an object that was decoded by another decoder, or written in Go, has the schema that its JSON
// has.
func TestNumbersOfObjects(t *testing.T) {
	for _, number := range []any{int64(5), 5, 5.0, json.Number("5")} {
		schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "maxLength": number}}}
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
			"spec": map[string]any{
				"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}},
			},
		}}
		c, err := crd.FromObject(object)
		if err != nil {
			t.Errorf("%T: %v", number, err)
			continue
		}
		schema["type"] = "string" // the CRD has its own
		if s := c.Versions[0].Schema; *s.Properties["a"].MaxLength != 5 || !s.Type.Contains("object") {
			t.Errorf("%T: the schema is %+v", number, s)
		}
	}
}

// documented is an object of a document, as this module reads them.
type documented struct {
	*unstructured.Unstructured
	document *yamldoc.Document
}

func (d documented) Document() *yamldoc.Document { return d.document }

func (documented) Schemas() *rawschema.Shared { return &rawschema.Shared{} }

// TestSource: a decoded object has the places that its source knows, in findings and in errors.
func TestSource(t *testing.T) {
	schema := map[string]any{"type": "object", "x-kubernetes-immutable": true}
	object := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}},
		},
	}
	in := func(object map[string]any) documented {
		d := yamldoc.Derived("own.yaml", object, func(steps []any) yamldoc.Position { return yamldoc.Position{Line: 10 + len(steps), Column: 2} })
		d.Number = 3
		return documented{document: d}
	}
	c, err := crd.FromObject(in(object))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, got, want string }{
		{"the CRD", c.Position().String(), "own.yaml:10:2"},
		{"a part", c.Position("spec", "versions", 0).String(), "own.yaml:13:2"},
		{"a schema", c.Versions[0].Position("/properties/a").String(), "own.yaml:17:2"},
		{"a finding", crd.Lint(c, nil)[0].Position.String(), "own.yaml:15:2"},
	} {
		if row.got != row.want {
			t.Errorf("%s is at %s, want %s", row.name, row.got, row.want)
		}
	}
	object["spec"].(map[string]any)["group"] = 1
	if _, err := crd.FromObject(in(object)); err == nil || !strings.HasPrefix(err.Error(), "own.yaml:12: document 3, CustomResourceDefinition widgets.example.com: spec.group: ") {
		t.Errorf("error %v, want one with file, line and document", err)
	}
	if _, err := crd.FromObject(in(map[string]any{"kind": "Service"})); err == nil || !strings.HasPrefix(err.Error(), "own.yaml:11: document 3, Service: kind: ") {
		t.Errorf("error %v, want one with file, line and document", err)
	}
}

// TestPositionInLists: a schema path leads through the lists of a schema by their indices, and through objects by names
// that may be numbers.
func TestPositionInLists(t *testing.T) {
	c := read(t, document(`  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          "0":
            allOf:
            - minLength: 1
            - maxLength: 5
            anyOf:
              - {minimum: 1}
`))
	of := func(path string) token.Position { return c.Versions[0].Position(path) }
	start := of("/properties")
	for _, test := range []struct {
		path, reason string
		lines        int // below the start
	}{
		{"/properties/0", "a name", 1},
		{"/properties/0/allOf/0", "the first item", 3},
		{"/properties/0/allOf/1", "the second item", 4},
		{"/properties/0/allOf/1/maxLength", "below an item", 4},
		{"/properties/0/allOf/2", "allOf has only two schemas, so the place is the list", 2},
		{"/properties/0/allOf/x", "no index: the list", 2},
		{"/properties/0/anyOf/0/minimum", "below an item in another style", 6},
		{"/properties/1", "no such name: the object", 0},
	} {
		if got := of(test.path).Line - start.Line; got != test.lines {
			t.Errorf("%s is %d lines below, want %d: %s", test.path, got, test.lines, test.reason)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(document("  versions:\n" + version("v1", spec("class: {type: string, x-kubernetes-immutable: true}"))))
	f.Add(annotated(document("  versions:\n"+version("v1", spec("class: {type: string}"))), `{"v1": {"/properties/spec": {"x-kubernetes-immutable": true}}}`))
	f.Add(beta("  version: v1\n  validation: {openAPIV3Schema: {patternProperties: {a: {}}, items: [{}], not: {anyOf: [{}]}, additionalProperties: false}}\n"))
	f.Add(document("  versions:\n" + version("v1", "{properties: {a: {default: {b: 1}, items: {default: 1, nullable: true}, additionalProperties: {x-kubernetes-embedded-resource: true}}}}")))
	object := map[string]any{"a": map[string]any{"b": nil, "metadata": map[string]any{"name": "x"}}, "spec": []any{nil, map[string]any{"class": 1.5}}}
	f.Fuzz(func(t *testing.T, text string) {
		crds, err := crd.Read("f", []byte(text))
		if err != nil {
			return
		}
		for _, c := range crds {
			for _, finding := range crd.Lint(c, nil) {
				if finding.Position.Line == 0 {
					t.Errorf("a finding without a line: %+v", finding)
				}
			}
			if _, err := c.Annotation(); err != nil {
				t.Error(err)
			}
			for _, v := range c.Versions {
				_, _ = prepare.New(v).Prepare(object)
			}
		}
	})
}

// TestConversion: a program asks by a constant how objects are converted between versions.
func TestConversion(t *testing.T) {
	for _, row := range []struct {
		name, rest string
		want       crd.Conversion
	}{
		{"said", "  conversion: {strategy: Webhook}\n", crd.ConversionWebhook},
		{"said to be none", "  conversion: {strategy: None}\n", crd.ConversionNone},
		{"not said", "", crd.ConversionNone},
	} {
		if got := read(t, document(row.rest+"  versions:\n"+version("v1", "{type: object}"))).Conversion; got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
