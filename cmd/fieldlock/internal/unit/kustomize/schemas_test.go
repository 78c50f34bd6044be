package kustomize_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// sameApart builds with the schemas of CRDs apart from their objects, and compares the objects with those that kustomize prints. It
// returns how many schemas were apart.
func sameApart(t *testing.T, tree fstest.MapFS, o kustomize.Options) int {
	t.Helper()
	o.NoOrigins = true
	want, wantErr := kustomize.Build(context.Background(), tree, "live", o)
	o.Schemas = kustomize.NewSchemas()
	got, err := kustomize.Build(context.Background(), tree, "live", o)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || len(got) != len(want) {
		t.Fatalf("%d objects with schemas apart, error %v; want %d, error %v", len(got), err, len(want), wantErr)
	}
	apart := 0
	for i := range got {
		var printed any
		if err := yaml.Unmarshal(want[i].YAML, &printed); err != nil {
			t.Fatal(err)
		}
		if whole := assembled(t, got[i].YAML, got[i].Apart); !reflect.DeepEqual(whole, printed) {
			t.Errorf("with schemas apart: %v\nwant: %v", whole, printed)
		}
		apart += len(got[i].Apart)
	}
	return apart
}

// assembled returns a value with the parts that are apart from it.
func assembled(t *testing.T, text []byte, apart []rendered.Apart) any {
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, p := range apart {
		whole, _ = p.Steps.Set(whole, assembled(t, p.Value.JSON, p.Value.Apart))
	}
	return whole
}

// bigCRD is a CRD of two versions with large schemas. The YAML of extra is a member of the first.
func bigCRD(extra string) string {
	var b strings.Builder
	b.WriteString("# a CRD\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\n  annotations: {a: b}\n" +
		"spec:\n  group: example.com\n  names:\n    kind: Widget\n    plural: widgets\n  scope: Namespaced\n  versions:\n")
	for _, version := range []string{"v1", "v2"} {
		fmt.Fprintf(&b, "  - name: %s\n    served: true\n    storage: %v\n    schema:\n      openAPIV3Schema:\n        description: |\n          Text:\n            openAPIV3Schema:\n"+
			"        type: object\n        properties:\n          kind:\n            type: string\n%s", version, version == "v1", extra)
		for i := range 60 {
			if i == 30 {
				b.WriteString("          big:\n            type: object\n            properties:\n")
			}
			indent := strings.Repeat("  ", 2*(i/30))
			field := fmt.Sprintf("          field%d:\n            # a comment\n            type: object\n            default: {}\n            properties:\n"+
				"              \"on\":\n                type: string\n                enum: [yes, \"1\", 0x10, 1.50, ~, 2020-01-01, on]\n                description: >-\n"+
				"                  %s\n\n                  more: text\n              image:\n                type: string\n", i, strings.Repeat("words ", i%7+1))
			for line := range strings.Lines(field) {
				b.WriteString(indent + line)
			}
		}
	}
	return b.String()
}

// TestSchemasApart: kustomize builds the same, whatever a kustomization does with the schemas of CRDs.
func TestSchemasApart(t *testing.T) {
	const header = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [crd.yaml, other.yaml]\n"
	const target = "  target: {kind: CustomResourceDefinition}\n"
	other := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
	like := strings.NewReplacer("kind: CustomResourceDefinition", "kind: Like", "apiextensions.k8s.io", "example.com", "image:\n                type: string", "containers:\n              - image: a").Replace(bigCRD(""))
	for _, c := range []struct {
		name, why, kustomization, extra string
		apart                           bool
	}{
		{"nothing", "the usual case", "namespace: live\n", "", true},
		{"images", "kustomize replaces them in all objects but CRDs", "images: [{name: a, newName: b}]\n", "", true},
		{"a conversion", "patches of CRDs that kubebuilder writes", "patches:\n- patch: |\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: widgets.example.com}\n    spec: {conversion: {strategy: None}}\n", "", true},
		{"a path into a schema", "a JSON patch removes a part of it", "patches:\n- patch: |\n    - {op: remove, path: /spec/versions/0/schema/openAPIV3Schema/properties/field3/properties/image}\n" + target, "", true},
		{"a part that is cut out", "a JSON patch removes all properties of the schema", "patches:\n- patch: |\n    - {op: remove, path: /spec/versions/0/schema/openAPIV3Schema/properties}\n" + target, "", true},
		{"a value in a schema", "a JSON patch adds one", "patches:\n- patch: |\n    - {op: add, path: /spec/versions/1/schema/openAPIV3Schema/properties/field0/x-kubernetes-immutable, value: true}\n" + target, "", true},
		{"a copy of a schema", "a JSON patch copies one to the other version", "patches:\n- patch: |\n    - {op: copy, from: /spec/versions/0/schema, path: /spec/versions/1/schema}\n" + target, "", true},
		{"a path that does not say so", "a pointer may be escaped", "patches:\n- patch: |\n    - {op: remove, path: \"/spec/versions/0/schema/openAPIV\\u0033Schema/properties/field3\"}\n" + target, "", false},
		{"a schema moved into a list", "a mark is no member there", "patches:\n- patch: |\n    - {op: move, from: /spec/versions/0/schema/openAPIV\\u0033Schema, path: /spec/versions/-}\n" + target, "", false},
		{"a merge into a schema", "lists of versions are replaced as a whole", "patches:\n- patch: |\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: widgets.example.com}\n    spec: {versions: [{name: v1, schema: {openAPIV3Schema: {properties: {field1: null}}}}]}\n", "", false},
		{"a replacement", "it copies a schema into another object", "replacements:\n- source: {kind: CustomResourceDefinition, fieldPath: spec.versions.0.schema.openAPIV3Schema}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]\n", "", false},
		{"a file of a generator", "the text of the file is in a ConfigMap, too", "configMapGenerator:\n- name: g\n  files: [crd.yaml]\n", "", false},
		{"another kind", "an image in it would be replaced", "images: [{name: a, newName: b}]\npatches:\n- patch: |\n    - {op: replace, path: /kind, value: Other}\n" + target + "  options: {allowKindChange: true}\n", "", false},
		{"an anchor", "it means something outside of the schema", "", "          a: &anchor\n            type: string\n          b: *anchor\n", false},
		{"a key twice", "kustomize refuses it, or takes one", "", "          twice:\n            type: string\n          twice:\n            type: object\n", false},
		{"quotes over lines", "what looks like a key is text", "", "          quoted:\n            description: \"a\n              openAPIV3Schema:\n                a: b\n              c\"\n", true},
		{"no YAML", "the mistake is in the schema", "", "          a: {\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			crd := bigCRD(c.extra)
			for file, tree := range map[string]fstest.MapFS{
				"a file of its own": {"live/crd.yaml": {Data: []byte(crd)}, "live/other.yaml": {Data: []byte(other)}},
				"a file with other objects": {
					"live/crd.yaml":   {Data: []byte("---\n" + like + "--- # the CRD\n" + crd + "---\n" + other)},
					"live/other.yaml": {Data: []byte(strings.ReplaceAll(other, "name: c", "name: d"))},
				},
			} {
				tree["live/kustomization.yaml"] = &fstest.MapFile{Data: []byte(header + c.kustomization)}
				if apart := sameApart(t, tree, kustomize.Options{}); apart > 0 != c.apart {
					t.Errorf("%s: %d parts are apart, want some: %v (%s)", file, apart, c.apart, c.why)
				}
			}
		})
	}
}
