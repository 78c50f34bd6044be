package convert_test

import (
	"io/fs"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
)

// widgets is a CRD as controller-gen writes it, with folded text.
const widgets = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: |-
          Widget is a text
          of two lines.
        properties:
          spec:
            properties:
              class:
                description: >-
                  folded: text
                  of two lines
                type: string
                x-kubernetes-immutable: true
              size:
                type: integer # as before
                x-kubernetes-validations:
                - rule: self == oldSelf
                - message: "it   is positive"
                  rule: self > 0
            required:
            - class
            - size
            type: object
        required: [spec]
        type: object
    served: true
    storage: true
`

func read(t *testing.T, name string, data []byte) *convert.File {
	t.Helper()
	file, err := convert.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func text(t *testing.T, file *convert.File) string {
	t.Helper()
	data, err := file.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Exports and imports change the lines of locks and rules, and no other.
func TestInPlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, file *convert.File)
		want   *strings.Replacer
	}{
		{"export cel", func(t *testing.T, file *convert.File) {
			if _, err := convert.ToCEL(file, nil); err != nil {
				t.Fatal(err)
			}
		}, strings.NewReplacer(
			"metadata:\n", "metadata:\n  annotations:\n    fieldlock.dev/locks: '{\"v1\":{\"/properties/spec/properties/class\":{\"x-kubernetes-immutable\":true}}}'\n",
			"                x-kubernetes-immutable: true\n",
			"                x-kubernetes-validations:\n                - message: field is immutable\n                  reason: FieldValueInvalid\n                  rule: self == oldSelf\n")},
		{"import cel", func(t *testing.T, file *convert.File) {
			if _, err := convert.FromCEL(file); err != nil {
				t.Fatal(err)
			}
		}, strings.NewReplacer(
			"                x-kubernetes-validations:\n                - rule: self == oldSelf\n",
			"                x-kubernetes-immutable: true\n                x-kubernetes-validations:\n")},
		{"export annotation", func(t *testing.T, file *convert.File) {
			if moved, err := convert.ToAnnotation(file); err != nil || moved != 1 {
				t.Fatalf("%d keys moved, error %v", moved, err)
			}
		}, strings.NewReplacer(
			"metadata:\n", "metadata:\n  annotations:\n    fieldlock.dev/locks: '{\"v1\":{\"/properties/spec/properties/class\":{\"x-kubernetes-immutable\":true}}}'\n",
			"                x-kubernetes-immutable: true\n", "")},
		{"fix", func(t *testing.T, file *convert.File) {
			added := celrule.Change{SchemaPath: "/properties/spec", AddRules: []map[string]any{{"rule": "has(self.class)"}}}
			if err := file.Change("widgets.example.com", "v1", []celrule.Change{added}); err != nil {
				t.Fatal(err)
			}
		}, strings.NewReplacer(
			"            - size\n            type: object\n",
			"            - size\n            type: object\n            x-kubernetes-validations:\n            - rule: has(self.class)\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := read(t, "crd.yaml", []byte(widgets))
			c.change(t, file)
			if got, want := text(t, file), c.want.Replace(widgets); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// What export annotation prints is a CRD without unknown fields, which a stock API server accepts under strict
// validation, and has the locks of the file.
func TestAnnotationIsStrict(t *testing.T) {
	file := read(t, "crd.yaml", []byte(widgets))
	before, err := crd.Read("crd.yaml", []byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := convert.ToAnnotation(file); err != nil {
		t.Fatal(err)
	}
	var object apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text(t, file)), &object); err != nil {
		t.Errorf("a stock API server would refuse it: %v", err)
	}
	after, err := crd.FromObject(&object)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := before[0].Annotation()
	if got, err := after.Annotation(); err != nil || got != want || got == "" {
		t.Errorf("the locks are %q, error %v, want %q", got, err, want)
	}
}

// The schema of a kind in an OpenAPI document is written out with every lock of it, or it is an error.
func TestKindToPolicy(t *testing.T) {
	const document = `
openapi: 3.0.0
components:
  schemas:
    Spec: {type: object, properties: {size: {type: string, x-kubernetes-immutable: true}, class: {type: string}}}
    Free: {type: object, properties: {note: {type: string}}}
    Widget:
      type: object
      properties: {spec: SPEC}
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Widget}]
`
	for _, c := range []struct{ name, reason, spec, rule, err string }{
		{"reference", "it is followed", `{$ref: "#/components/schemas/Spec"}`, "spec.size", ""},
		{"wrapped reference", "as OpenAPI v3 writes it", `{default: {}, allOf: [{$ref: "#/components/schemas/Spec"}]}`, "spec.size", ""},
		{"properties next to an allOf", "their locks count", `{type: object, allOf: [{$ref: "#/components/schemas/Free"}], properties: {class: {type: string, x-kubernetes-immutable: true}}}`, "spec.class", ""},
		{"locks behind such an allOf", "they would be dropped", `{type: object, allOf: [{$ref: "#/components/schemas/Spec"}], properties: {class: {type: string}}}`, "", "allOf"},
		{"no such schema", "a lock could be behind it", `{$ref: "#/components/schemas/None"}`, "", "has no schema at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := convert.KindToPolicy("api.yaml", []byte(strings.Replace(document, "SPEC", c.spec, 1)), nil, "example.com/v1/Widget", "")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: error %v, want one that says %q", c.reason, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := yaml.Marshal(result.Documents); !strings.Contains(string(text), c.rule) || len(result.Exported) != 1 {
				t.Errorf("%s: %d locks, and the policy is\n%s", c.reason, len(result.Exported), text)
			}
		})
	}
}

// Importing the rules of real CRDs and exporting the locks again keeps every line that is not about rules.
func TestRealCRDsInPlace(t *testing.T) {
	module, err := modulefs.Open("sigs.k8s.io/gateway-api@v1.7.0")
	if err != nil {
		t.Skip(err)
	}
	defer module.Close()
	files, _ := fs.Glob(module, "config/crd/standard/gateway.networking.k8s.io_*routes.yaml")
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	for _, name := range files {
		data, err := fs.ReadFile(module, name)
		if err != nil {
			t.Fatal(err)
		}
		imported := read(t, name, data)
		report, err := convert.FromCEL(imported)
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, imported)
		if len(report.Recognized) == 0 && got != string(data) {
			t.Errorf("%s: nothing was imported, and the text has changed", name)
		}
		after := map[string]int{}
		for line := range strings.Lines(got) {
			after[line]++
		}
		for line := range strings.Lines(string(data)) {
			if after[line]--; after[line] < 0 && !strings.Contains(line, "rule:") && !strings.Contains(line, "message:") && !strings.Contains(line, "- ") {
				t.Errorf("%s: the line is gone: %s", name, line)
			}
		}
	}
}
