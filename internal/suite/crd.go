package suite

// Group, Version and Kind of the CRD that holds a suite's schema.
const (
	Group   = "suite.fieldlock.dev"
	Version = "v1"
	Kind    = "Case"
)

// CRD returns a CRD with the suite's schema, as decoded JSON. The schema gets the properties that every object has.
func (s *Suite) CRD() map[string]any {
	root := Value(s.Schema).(map[string]any)
	properties := root["properties"].(map[string]any)
	for name, kind := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if _, ok := properties[name]; !ok {
			properties[name] = map[string]any{"type": kind}
		}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "cases." + Group},
		"spec": map[string]any{
			"group": Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": Kind, "plural": "cases", "singular": "case", "listKind": "CaseList"},
			"versions": []any{map[string]any{
				"name": Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": root},
			}},
		},
	}
}
