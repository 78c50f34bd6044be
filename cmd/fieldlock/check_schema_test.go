package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// TestNamelessSchemas: locks in schemas without a kind are never passed over in silence.
func TestNamelessSchemas(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"s.yaml": "components: {schemas: {Environment: {type: object, properties: {name: {type: string, x-kubernetes-immutable: true}}}}}\n",
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}))
	for _, c := range []struct {
		reason string
		args   []string
		status int
		want   string
	}{
		{"they are listed", []string{"locks", "s.yaml"}, exitClean, "name  immutable"},
		{"lint reads them", []string{"lint", "s.yaml"}, exitClean, "in 1 CRD"},
		{"a hint how to use them", []string{"check", "--schema", "s.yaml", "a.yaml", "a.yaml"}, exitClean, "pick one, such as --schema 's.yaml#Environment'"},
		{"the names that there are", []string{"check", "--schema", "s.yaml#Surroundings", "a.yaml", "a.yaml"}, exitUnread, "its kinds are Environment"},
	} {
		got := runCommand("", c.args...)
		if got.status != c.status || !strings.Contains(got.out+got.err, c.want) {
			t.Errorf("%s: status %d, want %d and %q in\n%s%s", c.reason, got.status, c.status, c.want, got.out, got.err)
		}
	}
}

// TestCheckSchemas compares objects by OpenAPI documents, and other documents by JSON Schemas.
func TestCheckSchemas(t *testing.T) {
	const (
		openAPI = `
openapi: 3.0.0
components:
  schemas:
    Spec: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}, size: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}]}}}
    Widget:
      type: object
      properties: {spec: {allOf: [{$ref: "#/components/schemas/Spec"}], default: {}}}
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Widget}]
`
		values = `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"storage": {"$ref": "#/definitions/s"}},
			"definitions": {"s": {"type": "object", "properties": {"class": {"type": "string", "x-kubernetes-immutable": true}}}}}`
	)
	const (
		nameless = `
info: {title: Composer/Environment}
components:
  schemas:
    Environment: {type: object, properties: {name: {type: string, x-kubernetes-immutable: true}, node: {$ref: "#/components/schemas/Node"}}}
    Node: {type: object, properties: {zone: {type: string, x-kubernetes-immutable: true}}}
`
		application = `{"type": "object", "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
			"spec": {"type": "object", "properties": {"project": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}}}`
		app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {project: "
	)
	object := func(class, size string) string {
		return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: b}\nspec: {class: " + class + ", size: " + size + "}\n"
	}
	for _, c := range []struct {
		name, reason string
		files        map[string]string
		args         []string
		want         []string // path and object of each violation
	}{
		{"OpenAPI, lock", "the reference is followed",
			map[string]string{"s.yaml": openAPI, "old.yaml": object("x", "2"), "new.yaml": object("y", "2")}, []string{"--schema", "s.yaml", "old.yaml", "new.yaml"}, []string{"spec.class b/a"}},
		{"OpenAPI, rule", "rules of the schema run",
			map[string]string{"s.yaml": openAPI, "old.yaml": object("x", "2"), "new.yaml": object("x", "1")}, []string{"--schema", "s.yaml", "old.yaml", "new.yaml"}, []string{"spec.size b/a"}},
		{"OpenAPI, allowed", "the class is the same",
			map[string]string{"s.yaml": openAPI, "old.yaml": object("x", "2"), "new.yaml": object("x", "3")}, []string{"--schema", "s.yaml", "old.yaml", "new.yaml"}, nil},
		{"a directory of documents", "each has kinds",
			map[string]string{"s/a.yaml": openAPI, "s/b.json": `{"openapi": "3.0.0"}`, "old.yaml": object("x", "2"), "new.yaml": object("y", "2")}, []string{"--schema", "s", "old.yaml", "new.yaml"}, []string{"spec.class b/a"}},
		{"values", "two files that are named are a pair",
			map[string]string{"s.json": values, "old/values.yaml": "storage: {class: a}\n", "new/values.yaml": "storage: {class: b}\n"}, []string{"--schema", "s.json", "old/values.yaml", "new/values.yaml"}, []string{"storage.class new/values.yaml"}},
		{"directories of values", "files are paired by path",
			map[string]string{"s.json": values, "old/a.yaml": "storage: {class: a}\n", "new/a.yaml": "storage: {class: b}\n", "old/b.yaml": "storage: {class: a}\n", "new/b.yaml": "storage: {class: a, x: 1}\n"},
			[]string{"--schema", "s.json", "old", "new"}, []string{"storage.class a.yaml"}},
		{"chart", "the defaults of values.yaml are what a file leaves out",
			map[string]string{"chart/values.schema.json": values, "chart/values.yaml": "storage: {class: a}\n", "old.yaml": "x: 1\n", "new.yaml": "storage: {class: a}\n"}, []string{"--chart", "chart", "old.yaml", "new.yaml"}, nil},
		{"chart, another value", "the default was in place",
			map[string]string{"chart/values.schema.json": values, "chart/values.yaml": "storage: {class: a}\n", "old.yaml": "x: 1\n", "new.yaml": "storage: {class: b}\n"}, []string{"--chart", "chart", "old.yaml", "new.yaml"}, []string{"storage.class new.yaml"}},
		{"a schema by its name", "the document names no kinds",
			map[string]string{"s.yaml": nameless, "old.yaml": "name: a\nnode: {zone: x}\n", "new.yaml": "name: b\nnode: {zone: z}\n"},
			[]string{"--schema", "s.yaml#Environment", "old.yaml", "new.yaml"}, []string{"name new.yaml", "node.zone new.yaml"}},
		{"a schema that another one refers to, by its name", "it can be picked as well",
			map[string]string{"s.yaml": nameless, "old.yaml": "zone: x\n", "new.yaml": "zone: z\n"}, []string{"--schema", "s.yaml#Node", "old.yaml", "new.yaml"}, []string{"zone new.yaml"}},
		{"a document that names its schema", "its kind is the name",
			map[string]string{"s.yaml": nameless, "old.yaml": "kind: Environment\nname: a\n", "new.yaml": "kind: Environment\nname: b\n"}, []string{"--schema", "s.yaml", "old.yaml", "new.yaml"}, []string{"name new.yaml"}},
		{"a catalogue's JSON Schema", "the name of the file is the kind",
			map[string]string{"argoproj.io/application_v1alpha1.json": application, "old.yaml": app + "a}\n", "new.yaml": app + "b}\n"},
			[]string{"--schema", "argoproj.io/application_v1alpha1.json", "old.yaml", "new.yaml"}, []string{"spec.project a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(writeFiles(t, c.files))
			got := runCommand("", append([]string{"check", "-o", "json"}, c.args...)...)
			var report compare.Report
			if err := json.Unmarshal([]byte(got.out), &report); err != nil {
				t.Fatalf("%v: %s%s", err, got.out, got.err)
			}
			var paths []string
			for _, v := range report.Violations {
				paths = append(paths, v.Path+" "+v.Object)
			}
			if !slices.Equal(paths, c.want) || report.Checked == 0 || (got.status == exitRefused) != (c.want != nil) {
				t.Errorf("%s: got %q, want %q; %d checked, status %d\n%s", c.reason, paths, c.want, report.Checked, got.status, got.err)
			}
		})
	}
}

// TestOpenAPIKinds: locks and lint take OpenAPI documents.
func TestOpenAPIKinds(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"api.yaml": `
openapi: 3.0.0
components:
  schemas:
    Spec: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}
    Widget:
      type: object
      properties: {spec: {allOf: [{$ref: "#/components/schemas/Spec"}], default: {}}}
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Widget}]
    Free: {type: object, x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Free}]}
`}))
	if got := runCommand("", "locks", "api.yaml"); got.status != 0 || !strings.Contains(got.out, "spec.class") || !strings.Contains(got.out, "Widget") {
		t.Errorf("locks: status %d\n%s%s", got.status, got.out, got.err)
	}
	if got := runCommand("", "lint", "api.yaml"); got.status != 0 || !strings.Contains(got.out, "in 1 CRD") {
		t.Errorf("lint: status %d\n%s%s", got.status, got.out, got.err)
	}
}

// TestSchemasWithoutGroup: locks and lint take kinds of the core group and the roots of JSON Schemas.
func TestSchemasWithoutGroup(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"core.yaml": `
swagger: "2.0"
definitions:
  Thing:
    type: object
    properties:
      data: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}
    x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Thing}]
`,
		"chart/values.schema.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
			"properties": {"storage": {"$ref": "#/definitions/s"}},
			"definitions": {"s": {"type": "object", "properties": {"class": {"type": "string", "x-kubernetes-immutable": true}}}}}`,
		"wrong.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "x-kubernetes-immutable": true}`,
	}))
	for _, c := range []struct {
		name, reason string
		args         []string
		status       int
		want         []string // in the output
	}{
		{"locks of the core group", "v1 has no group", []string{"locks", "core.yaml"}, 0, []string{"Thing", "things", "data.class"}},
		{"locks of a JSON Schema", "the file names it", []string{"locks", "chart/values.schema.json"}, 0, []string{"values", "storage.class"}},
		{"lint of the core group", "data can be removed", []string{"lint", "core.yaml"}, 0, []string{"optional-parent", "data", "line 7"}},
		{"lint of a JSON Schema", "storage can be removed", []string{"lint", "chart/values.schema.json"}, 0, []string{"optional-parent", "storage", "line 2"}},
		{"lint --explain of the core group", "the objects are of v1", []string{"lint", "--explain", "core.yaml"}, 0, []string{"apiVersion: v1", "kind: Thing"}},
		{"lint --strict of a JSON Schema", "warnings fail", []string{"lint", "--strict", "chart/values.schema.json"}, exitRefused, []string{"optional-parent"}},
		{"lint of a mistake", "the whole document cannot be locked", []string{"lint", "wrong.json"}, exitUnread, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runCommand("", c.args...)
			if got.status != c.status {
				t.Errorf("%s: status %d, want %d\n%s%s", c.reason, got.status, c.status, got.out, got.err)
			}
			for _, want := range c.want {
				if !strings.Contains(got.out, want) {
					t.Errorf("%s: %q is not in the output:\n%s%s", c.reason, want, got.out, got.err)
				}
			}
		})
	}
}

// TestCheckRecursiveSchema: rules that cannot be run at every depth are a warning; locks hold at every depth.
func TestCheckRecursiveSchema(t *testing.T) {
	const grows = `"x-kubernetes-validations": [{"rule": "self >= oldSelf"}]`
	for _, c := range []struct{ name, reason, schema, warning string }{
		{"locks and rules", "a lock in the recursion cannot be written out",
			`{"type": "object", "properties": {"a": {"$ref": "#"}, "l": {"type": "string", "x-kubernetes-immutable": true}, "n": {"type": "integer", ` + grows + `}}}`,
			"s.json: its CEL transition rules are not run, as they need the schema with every $ref written out: "},
		{"rules only", "the first level is checked",
			`{"type": "object", "properties": {"a": {"$ref": "#"}, "n": {"type": "integer", ` + grows + `}}}`,
			"s.json: its CEL transition rules are not run below the first a, as the schema contains itself there"},
		{"rules outside", "only the lockless part recurs",
			`{"type": "object", "properties": {"t": {"$ref": "#/definitions/t"}, "n": {"type": "integer", ` + grows + `}}, "definitions": {"t": {"type": "object", "properties": {"t": {"$ref": "#/definitions/t"}}}}}`, ""},
		{"rule without oldSelf", "check does not run it",
			`{"type": "object", "properties": {"a": {"$ref": "#"}, "l": {"type": "string", "x-kubernetes-immutable": true}, "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}}}`, ""},
		{"the same part twice", "it does not contain itself",
			`{"type": "object", "properties": {"a": {"$ref": "#/definitions/t"}, "b": {"$ref": "#/definitions/t"}}, "definitions": {"t": {"type": "object", "properties": {"n": {"type": "integer", ` + grows + `}}}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(writeFiles(t, map[string]string{"s.json": c.schema, "old.yaml": "m: 1\n", "new.yaml": "m: 2\n"}))
			got := runCommand("", "check", "--schema", "s.json", "old.yaml", "new.yaml")
			if got.status != 0 || !strings.Contains(got.err, c.warning) || c.warning == "" && strings.Contains(got.err, "CEL") {
				t.Errorf("%s: status %d, want the warning %q in\n%s%s", c.reason, got.status, c.warning, got.out, got.err)
			}
		})
	}
}
