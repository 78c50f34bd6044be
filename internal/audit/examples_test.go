package audit

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/finding/catalogue"
)

// TestExamplesOfFindings: the example of each finding has it, with the severity that the page of findings gives.
func TestExamplesOfFindings(t *testing.T) {
	needMore := map[string]string{
		"alias-value":   "an option of Compile",
		"external-lock": "an option of Compile",
		"redacted-path": "an option of Compile",
		"lock-dropped":  "the CRD from before",
		"other-crd":     "the CRD from before",
		"not-looked-at": "hundreds of rules",
		"v1beta1-lock":  "a version of CRDs that is no longer read",
	}
	for _, rule := range catalogue.All() {
		t.Run(rule.ID, func(t *testing.T) {
			if why := needMore[rule.ID]; why != "" {
				t.Skipf("it needs %s", why)
			}
			r, err := CRDs(crdOfExample(t, rule.Example), nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			asSaid := func(f Finding) bool { // a way around that no objects show is a possible one
				return f.Rule == rule.ID && (string(f.Severity) == string(rule.Severity) || strings.HasPrefix(f.Message, "possible: "))
			}
			if !slices.ContainsFunc(r.Findings, asSaid) {
				t.Errorf("there is no such %s: %q", rule.Severity, findings(r))
			}
		})
	}
}

// crdOfExample completes an example: a CRD, its versions, the schema of one, or properties of the object or its spec.
func crdOfExample(t *testing.T, text string) []*crd.CRD {
	t.Helper()
	var example map[string]any
	if err := yaml.Unmarshal([]byte(text), &example); err != nil {
		t.Fatal(err)
	}
	if example["kind"] != "CustomResourceDefinition" {
		versions, ok := example["versions"].([]any)
		if !ok {
			schema, ok := example["openAPIV3Schema"]
			if !ok {
				properties := example
				if example["metadata"] == nil && example["spec"] == nil {
					properties = map[string]any{"spec": map[string]any{"type": "object", "properties": example}}
				}
				schema = map[string]any{"type": "object", "properties": properties}
			}
			versions = []any{map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": schema}}}
		}
		for i, version := range versions {
			version.(map[string]any)["served"], version.(map[string]any)["storage"] = true, i == 0
		}
		example = map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
			"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"}, "versions": versions},
		}
	}
	data, err := yaml.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	list, err := crd.Read("c.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
