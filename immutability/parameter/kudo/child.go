package kudo

import (
	"strconv"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// An operator can have child instances that a parameter switches on and off (KEP-36): a KudoOperator task with an
// enablingParameter has its instance while the value of the parameter is true.

// Child is the state of a child instance.
type Child struct {
	Task    string
	Present bool
	Because string // the enabling parameter, "" for an unconditional task
}

// Children returns whether the instance of each task is there with these current values. The error is a
// [parameter.Refusals] where an enabling parameter is undefined, or neither a boolean nor a string that
// strconv.ParseBool accepts; its default counts (KEP-36, Validation).
func (v *OperatorVersion) Children(current parameter.Values) ([]Child, error) {
	if v.undefined() {
		return nil, v.Validate().Err()
	}
	var refusals parameter.Refusals
	children := v.children(v.index(), current, &refusals)
	return children, refusals.Err()
}

func (v *OperatorVersion) children(index map[string]*Parameter, values parameter.Values,
	refusals *parameter.Refusals) []Child {
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
		refuse.Add(refusals, t.EnablingParameter, refuse.Enabling,
			"is not defined, and the task %q has it as its enablingParameter", t.Name)
		return nil, false
	}
	if kind := p.Type.name(); kind != TypeBoolean && kind != TypeString {
		refuse.Add(refusals, p.Name, refuse.Enabling,
			"is of type %s and cannot enable the task %q: it should be a boolean, or a string that reads as one",
			kind, t.Name)
		return nil, false
	}
	return p, true
}

// reads returns the enabling value as a boolean.
func (t Task) reads(p *Parameter, value parameter.Value, has bool, refusals *parameter.Refusals) bool {
	present, err := strconv.ParseBool(value.Text)
	if err != nil {
		refuse.Add(refusals, p.Name, refuse.Enabling,
			"has %s and cannot enable the task %q: it should be 1, t, T, TRUE, true, True or 0, f, F, FALSE, "+
				"false, False",
			quoted(value, has), t.Name)
	}
	return present
}
