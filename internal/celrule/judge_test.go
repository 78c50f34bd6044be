package celrule

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

// judgement is the API server's judgement of objects of one schema.
type judgement struct {
	rules      *celrun.Validator
	plain      *celrun.Validator // rules without oldSelf, which every valid object satisfies
	structural *schema.Structural
	shape      validation.SchemaValidator
}

// judgeOf returns the judgement by those rules of s that keep holds for; nil keeps all.
func judgeOf(t *testing.T, s *spec.Schema, keep func(RuleRef) bool) *judgement {
	t.Helper()
	j := &judgement{rules: celrun.New(s, func(r celrun.Rule) bool { return keep == nil || keep(RuleRef{r.SchemaPath, r.Index}) })}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if err := json.Unmarshal(data, &v1); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		t.Fatal(err)
	}
	if j.structural, err = schema.NewStructural(&internal); err != nil {
		t.Fatal(err)
	}
	if j.shape, _, err = validation.NewSchemaValidator(&internal); err != nil {
		t.Fatal(err)
	}
	return j
}

// accepts reports whether every rule accepts the update, and what the others say.
func (j *judgement) accepts(t *testing.T, newObj, oldObj map[string]any) (bool, string) {
	t.Helper()
	violations, err := j.rules.ValidateUpdate(newObj, oldObj)
	if err != nil {
		t.Fatal(err)
	}
	return len(violations) == 0, fmt.Sprint(violations)
}

// valid reports whether obj fits the schema, without its rules.
func (j *judgement) valid(obj map[string]any) bool { return len(j.misfits(obj)) == 0 }

// misfits lists where obj does not fit the schema.
func (j *judgement) misfits(obj map[string]any) (paths []string) {
	for _, err := range validation.ValidateCustomResource(nil, obj, j.shape) {
		paths = append(paths, err.Field)
	}
	for _, err := range listtype.ValidateListSetsAndMaps(nil, j.structural, obj) {
		paths = append(paths, err.Field)
	}
	return paths
}

// satisfiesPlain reports whether obj satisfies the rules without oldSelf. Rules that do not compile are ignored.
func (j *judgement) satisfiesPlain(t *testing.T, obj map[string]any) bool {
	t.Helper()
	violations, _ := j.plain.ValidateUpdate(obj, nil)
	return len(violations) == 0
}

// transitions returns which rules of s are transition rules.
func transitions(s *spec.Schema) func(RuleRef) bool {
	is := map[RuleRef]bool{}
	for _, rules := range readTree(s).rules {
		for _, r := range rules {
			is[RuleRef{r.SchemaPath, r.Index}] = r.Transition
		}
	}
	return func(r RuleRef) bool { return is[r] }
}
