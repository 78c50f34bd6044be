package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/lint"
)

func read(rule, lock string) *crd.CRD {
	crds, err := crd.Read("crd.yaml", []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  names: {kind: Database, plural: databases, singular: database, listKind: DatabaseList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              class: {type: string, x-kubernetes-validations: [{rule: "`+rule+`"}]}
              engine: {type: string`+lock+`}
`))
	if err != nil {
		panic(err)
	}
	return crds[0]
}

// TestCRD: one call finds holes of locks, holes of CEL rules, what an update drops, and what the server refuses.
func TestCRD(t *testing.T) {
	locked := read("self == oldSelf", ", x-kubernetes-immutable: true")
	for _, row := range []struct {
		name     string
		is, was  *crd.CRD
		rule     string
		severity string
	}{
		{"a lock below an optional parent", locked, nil, "optional-parent", "warning"},
		{"a rule on an optional field", locked, nil, "cel-unset-then-set", "warning"},
		{"a dropped lock", read("self == oldSelf", ""), locked, "lock-dropped", "error"},
		{"a rule that the server refuses", read("self == 1", ""), nil, "refused-rule", "error"},
	} {
		findings, err := lint.CRD(row.is, row.was)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(findings, func(f crd.Finding) bool {
			return f.Rule == row.rule && string(f.Severity) == row.severity && f.Position.Line > 0
		}) {
			t.Errorf("%s: %+v, want %s", row.name, findings, row.rule)
		}
	}
	findings, err := lint.CRD(locked, nil)
	if err != nil || slices.ContainsFunc(findings, func(f crd.Finding) bool { return f.Rule == "not-looked-at" }) {
		t.Errorf("%v, %+v: it looks at the rules, and says that it does not", err, findings)
	}
	if _, err := lint.CRD(nil, nil); err == nil {
		t.Error("nothing is looked at, and it is no error")
	}
}

func ExampleCRD() {
	findings, err := lint.CRD(read("self == oldSelf", ""), nil)
	if err != nil {
		panic(err)
	}
	for _, f := range findings {
		fmt.Println(f.Position.Line, f.Severity, f.Rule, f.Path)
	}
	// Output:
	// 19 warning cel-unset-then-set spec.class
}
