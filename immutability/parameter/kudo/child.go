package kudo

import (
	"github.com/fieldlock/fieldlock/immutability/parameter"
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
