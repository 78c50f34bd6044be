package main

import (
	"strings"
	"testing"
)

// TestExportOfOtherSchemas: what cannot be exported says what helps.
func TestExportOfOtherSchemas(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"api.yaml": `
openapi: 3.0.0
components:
  schemas:
    Widget:
      type: object
      properties: {class: {type: string, x-kubernetes-immutable: true}}
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Widget}]
`,
		"core.yaml": `
swagger: "2.0"
definitions: {Thing: {type: object, x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Thing}]}}
`,
		"kindless.yaml":      "openapi: 3.0.0\ncomponents: {schemas: {A: {type: object}}}\n",
		"values.schema.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}`,
		"object.yaml":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}))
	for _, c := range []struct{ file, reason, want string }{
		{"api.yaml", "policy exports it", "fieldlock export policy --kind GROUP/VERSION/KIND, such as --kind example.com/v1/Widget"},
		{"core.yaml", "the core group has no name", "such as --kind v1/Thing"},
		{"kindless.yaml", "no object is of it", "OpenAPI document without Kubernetes kinds"},
		{"values.schema.json", "no API server has the kind", "it is a JSON Schema, not a CustomResourceDefinition"},
		{"object.yaml", "as before", "there is no CustomResourceDefinition in it"},
	} {
		for _, form := range []string{"cel", "annotation", "policy"} {
			got := runCommand("", "export", form, c.file)
			if got.status != exitUnread || got.out != "" || !strings.Contains(got.err, c.want) {
				t.Errorf("export %s %s: %s: status %d, want %q in\n%s%s", form, c.file, c.reason, got.status, c.want, got.out, got.err)
			}
		}
	}
}
