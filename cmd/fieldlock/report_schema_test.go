package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// reportSchema is the JSON Schema of check -o json, from the types that print it and from what docs/reports.md says of
// their keys. It allows other keys, since the form may gain some.
func reportSchema(t *testing.T) string {
	schema := schemaMaker{t, keyMeanings(t)}.object(reflect.TypeFor[compare.Report](), "")
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "What fieldlock check -o json prints"
	schema["properties"].(map[string]any)["version"].(map[string]any)["const"] = "v1" // TestReportSchema compares it with what is printed
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// keyMeanings returns the meanings of keys, by report and key.
func keyMeanings(t *testing.T) map[string]map[string]string {
	data, err := os.ReadFile("cmd/fieldlock/testdata/pages/keys.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var meanings map[string]map[string]string
	if err := yaml.UnmarshalStrict(data, &meanings); err != nil {
		t.Fatal(err)
	}
	return meanings
}

type schemaMaker struct {
	t        *testing.T
	meanings map[string]map[string]string
}

// object returns the schema of a struct; prefix is the path of its keys in keys.yaml.
func (m schemaMaker) object(typ reflect.Type, prefix string) map[string]any {
	required, properties := []string{}, map[string]any{}
	for _, f := range reflect.VisibleFields(typ) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		if options == "" {
			required = append(required, key)
		}
		at := prefix + key
		if f.Type.Kind() == reflect.Slice {
			at += "[]"
		}
		property := m.value(f.Type, at)
		property["description"] = cmp.Or(m.meanings["check"][at], m.meanings["all"][key])
		properties[key] = property
	}
	return map[string]any{"type": "object", "required": required, "properties": properties}
}

func (m schemaMaker) value(typ reflect.Type, at string) map[string]any {
	switch {
	case typ == reflect.TypeFor[result.Value]():
		return map[string]any{}
	case typ.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": m.value(typ.Elem(), at)}
	case typ.Kind() == reflect.Struct:
		return m.object(typ, at+".")
	case typ.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case typ.Kind() == reflect.Int:
		return map[string]any{"type": "integer"}
	case typ.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	}
	m.t.Fatalf("%s: a report has no values of type %s", at, typ)
	return nil
}

// TestReportSchema: docs/check.schema.json, without other keys, accepts what check -o json prints, and refuses a report
// that lacks a key or has one of another type.
func TestReportSchema(t *testing.T) {
	t.Chdir("../..")
	data, err := os.ReadFile("docs/check.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(data, schema); err != nil {
		t.Fatal(err)
	}
	closeSchema(schema)
	version := schema.Properties["version"]
	version.Enum = []any{version.ExtraProps["const"]} // kube-openapi does not know const
	schema.Properties["version"] = version
	accepts := func(report any) error {
		return validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(report).AsError()
	}
	const examples, golden = "testdata/examples/", "cmd/fieldlock/internal/report/testdata/"
	for _, args := range [][]string{
		{"--schema", examples + "crd.yaml", examples + "old.yaml", examples + "new.yaml"},
		{examples + "shop/old", examples + "shop/new"},
		{examples + "fleet/old", examples + "fleet/new"},
		{golden + "check.json"}, {golden + "check-empty.json"},
	} {
		text := runCommand("", append([]string{"check", "-o", "json"}, args...)...).out
		if name := args[0]; strings.HasSuffix(name, ".json") { // that the tests of the formats hold against what is printed
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		var report map[string]any
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, text)
		}
		if err := accepts(report); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		for key := range report {
			other := maps.Clone(report)
			if other[key] = map[string]any{}; accepts(other) == nil {
				t.Errorf("%s: the schema accepts an object as %s", args, key)
			}
		}
		delete(report, "complete")
		if accepts(report) == nil {
			t.Errorf("%s: the schema accepts a report without complete", args)
		}
	}
}

// closeSchema makes every object of the schema refuse other keys.
func closeSchema(s *spec.Schema) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: false}
	}
	for name, property := range s.Properties {
		closeSchema(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		closeSchema(s.Items.Schema)
	}
}
