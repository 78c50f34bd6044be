package witness

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// problems returns the problems of writing obj over old, nil for a create.
func (v *Version) problems(obj, old map[string]any) []problem {
	var problems []problem
	for _, err := range v.errors(obj) {
		problems = append(problems, problem{kind: invalid, path: locate(obj, v.Schema, fieldOf(err)), error: err, message: err.Error()})
		if err.Type == field.ErrorTypeTypeInvalid {
			return append(problems, problem{kind: unevaluated}, problem{kind: unevaluated})
		}
	}
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return append(problems, problem{kind: unreadable, message: err.Error()})
	}
	for _, b := range broken {
		problems = append(problems, problem{kind: brokenRule, path: locate(obj, v.Schema, b.Path), rule: &b.Rule, message: b.Message})
	}
	if old != nil && v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			problems = append(problems, problem{kind: brokenLock, path: locate(obj, v.Schema, err.Field), error: err, message: err.Error()})
		}
	}
	return problems
}

// refusals returns the locks and transition rules that refuse an update.
func (v *Version) refusals(obj, old map[string]any) []Refusal {
	var found []Refusal
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return nil
	}
	for _, b := range broken {
		if v.transition[b.Rule] {
			found = append(found, Refusal{Path: b.Path, Rule: b.Rule.Text, Message: b.Message, node: locate(obj, v.Schema, b.Path), rule: b.Rule})
		}
	}
	if v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			found = append(found, Refusal{Path: err.Field, Message: err.Detail, node: locate(obj, v.Schema, err.Field)})
		}
	}
	return found
}
