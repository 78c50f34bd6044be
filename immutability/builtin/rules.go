package builtin

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

// rules runs the CEL rules and conditions of a kind with the API server's own validator. The zero value runs nothing.
type rules struct{ validator *celrun.Validator }

// newRules makes the rules and conditions of checks rules of the whole object, and gives each check their numbers.
func newRules(fields *field, checks []*check) rules {
	var all []any
	add := func(rule string) int {
		all = append(all, map[string]any{"rule": rule})
		return len(all) - 1
	}
	for _, c := range checks {
		c.when, c.rule = -1, -1
		if when := c.row.source.When; when != "" {
			c.when = add(when)
		}
		if rule := c.row.source.Rule; rule != "" {
			c.rule = add(rule)
		}
	}
	if len(all) == 0 {
		return rules{}
	}
	schema := fields.typed()
	schema.AddExtension("x-kubernetes-validations", all)
	return rules{celrun.New(schema, nil)}
}

// evaluate returns the numbers of the rules that are false, and an error when a rule cannot be run.
func (r rules) evaluate(newObj, oldObj map[string]any) (map[int]bool, error) {
	if r.validator == nil {
		return nil, nil
	}
	violations, err := r.validator.ValidateUpdate(newObj, oldObj)
	if err != nil {
		return nil, err
	}
	failed := make(map[int]bool, len(violations))
	for _, v := range violations {
		failed[v.Rule.Index] = true
	}
	return failed, nil
}

// typed returns the schema of the fields that have a type: those that rules read.
func (f *field) typed() *spec.Schema {
	s := &spec.Schema{}
	if f.typ != "" {
		s.Type = []string{f.typ}
	}
	switch {
	case f.items != nil:
		items := f.items.typed()
		if len(items.Type) == 0 {
			return &spec.Schema{}
		}
		s.Type, s.Items = []string{"array"}, &spec.SchemaOrArray{Schema: items}
	case f.typ == "" || f.typ == "object":
		for name, p := range f.properties {
			if below := p.typed(); len(below.Type) > 0 {
				s.SetProperty(name, *below)
				s.Type = []string{"object"}
			}
		}
	}
	return s
}
