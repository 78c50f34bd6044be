package kudo

import (
	"strconv"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Children returns whether the instance of each task is there with these current values. The error is a
// [parameter.Refusals] where an enabling parameter is undefined, or neither a boolean nor a string that
// strconv.ParseBool accepts; its default counts (KEP-36, Validation).
func (v *OperatorVersion) Children(current parameter.Values) ([]Child, error) {
	var refusals parameter.Refusals
	children := v.children(v.index(), current, &refusals)
	return children, refusals.Err()
}

func (v *OperatorVersion) children(index map[string]*Parameter, values parameter.Values, refusals *parameter.Refusals) []Child {
	var out []Child
	for _, task := range v.Tasks {
		if task.EnablingParameter == "" {
			out = append(out, Child{Task: task.Name, Present: true})
			continue
		}
		if p, ok := task.enabling(index, refusals); ok {
			value, has := p.effective(values)
			out = append(out, Child{task.Name, task.reads(p, value, has, refusals), p.Name})
		}
	}
	return out
}

// enabling returns the parameter that enables the task's child, if there is one and it can.
func (t Task) enabling(index map[string]*Parameter, refusals *parameter.Refusals) (*Parameter, bool) {
	if t.EnablingParameter == "" {
		return nil, false
	}
	p := index[t.EnablingParameter]
	if p == nil {
		refusals.Add(t.EnablingParameter, parameter.RuleEnabling, "is not defined, and the task %q has it as its enablingParameter", t.Name)
		return nil, false
	}
	if kind := p.Type.name(); kind != TypeBoolean && kind != TypeString {
		refusals.Add(p.Name, parameter.RuleEnabling, "is of type %s and cannot enable the task %q: it should be a boolean, or a string that reads as one",
			kind, t.Name)
		return nil, false
	}
	return p, true
}

// reads returns the enabling value as a boolean.
func (t Task) reads(p *Parameter, value parameter.Value, has bool, refusals *parameter.Refusals) bool {
	present, err := strconv.ParseBool(value.Text)
	if err != nil {
		refusals.Add(p.Name, parameter.RuleEnabling, "has %s and cannot enable the task %q: it should be 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False",
			quoted(value, has), t.Name)
	}
	return present
}
