package builtin

import (
	"context"
	"math"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// rules runs the CEL rules and conditions of a kind with the API server's own validator. A nil *rules has none.
type rules struct {
	structural *schema.Structural
	validator  *cel.Validator
}

// newRules compiles the rules and conditions of checks. Each rule's message is its number, so that a result tells
// which one is false.
func newRules(fields *field, checks []*check) *rules {
	var all apiextensionsv1.ValidationRules
	add := func(rule string) int {
		all = append(all, apiextensionsv1.ValidationRule{Rule: rule, Message: strconv.Itoa(len(all))})
		return len(all) - 1
	}
	for _, c := range checks {
		c.when, c.rule = -1, -1
		if c.row.source.When != "" {
			c.when = add(c.row.source.When)
		}
		if rule := c.row.source.Rule; rule != "" {
			c.rule = add(rule)
		}
	}
	if len(all) == 0 {
		return nil
	}
	r := &rules{structural: fields.structural()}
	r.structural.XValidations = all
	r.validator = cel.NewValidator(r.structural, true, celconfig.PerCallLimit)
	return r
}

// evaluate returns the numbers of the rules that are false, and an error text when a rule could not be run.
func (r *rules) evaluate(newObj, oldObj map[string]any) (failed map[int]bool, problem string) {
	failed = map[int]bool{}
	if r == nil {
		return failed, ""
	}
	errs, _ := r.validator.Validate(context.Background(), nil, r.structural, newObj, oldObj, math.MaxInt64)
	for _, err := range errs {
		number, bad := strconv.Atoi(err.Detail)
		if bad != nil {
			problem = err.Error()
			continue
		}
		failed[number] = true
	}
	return failed, problem
}

// structural returns the structural schema of the typed fields of the tree.
func (f *field) structural() *schema.Structural {
	s := &schema.Structural{Generic: schema.Generic{Type: f.typ}}
	switch {
	case f.items != nil:
		items := f.items.structural()
		if items.Type == "" {
			return s
		}
		s.Type, s.Items = "array", items
	case f.typ == "" || f.typ == "object":
		s.Properties = map[string]schema.Structural{}
		for name, p := range f.properties {
			if below := p.structural(); below.Type != "" {
				s.Properties[name] = *below
			}
		}
		if len(s.Properties) > 0 || f.typ == "object" {
			s.Type = "object"
		}
	}
	return s
}
