package celrule_test

import (
	"encoding/json"
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/celrule"
)

func schemaOf(text string) *spec.Schema {
	s := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		panic(err)
	}
	return s
}

func ExampleImport() {
	imported := celrule.Import(schemaOf(`{"type": "object", "properties": {"spec": {"type": "object",
		"x-kubernetes-validations": [{"rule": "!has(oldSelf.class) || has(self.class)"}],
		"properties": {
			"class": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
			"replicas": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}}}}`))
	for _, r := range imported.Recognized {
		for _, lock := range r.Locks {
			fmt.Printf("%s: %s becomes %s\n", lock.Path, r.Rule, lock.Locks[0])
		}
	}
	for _, l := range imported.Left {
		fmt.Println(l.Path, "stays a rule:", l.Reason)
	}
	// Output:
	// spec.class: !has(oldSelf.class) || has(self.class) becomes NoUnset
	// spec.class: self == oldSelf becomes NoModify
	// spec.replicas stays a rule: it has none of the forms that locks have
}

func ExampleExport() {
	exported, err := celrule.Export(schemaOf(`{"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "properties": {
		"class": {"type": "string", "maxLength": 63, "x-kubernetes-immutable": true},
		"steps": {"type": "array", "items": {"type": "string", "x-kubernetes-immutable": true}}}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range exported.Rules {
		fmt.Println(r.SchemaPath, r.Rule)
	}
	for _, r := range exported.Rest {
		fmt.Println(r.Path, "is not exported:", r.Reason)
		fmt.Println("what would help:", r.Remedy)
	}
	// Output:
	// /properties/spec has(self.class) == has(oldSelf.class) && (!has(self.class) || self.class == oldSelf.class)
	// spec.steps[*] is not exported: the rule's estimated cost is more than 100 times the API server's limit
	// what would help: maxItems: 4096 at spec.steps, maxLength: 4096 at spec.steps[*]
}
