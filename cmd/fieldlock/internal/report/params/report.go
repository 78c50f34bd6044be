// Package params prints what the params commands find out, as text and as JSON.
package params

import (
	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// Report is what a params command prints. Keys that do not apply are left out.
type Report struct {
	Allowed   bool              `json:"allowed"`
	Errors    []Error           `json:"errors,omitempty"`
	Resulting parameter.Values  `json:"resulting,omitzero"`
	Restart   *bool             `json:"restart,omitempty"`
	Child     string            `json:"child,omitempty"`    // where there is one task
	Children  map[string]string `json:"children,omitempty"` // where there are several, by task
	Unchecked []heat.Unchecked  `json:"unchecked,omitempty"`
	Rows      []parameter.Row   `json:"rows,omitzero"`

	operation string // for the text
	refusals  parameter.Refusals
	decision  *parameter.Decision // nil where nothing is decided
	restarts  []string
	children  []Child
}

// Error is one refusal.
type Error struct {
	Parameter string `json:"parameter"`
	Message   string `json:"message"`
}

// Child is a child instance as the text shows it.
type Child struct {
	kudo.Child
	Before  string // "present", "absent" or "" where it is not known
	Dropped bool   // the new version has no task for it any more
}

// Definitions reports on definitions alone.
func Definitions(operation string, refusals parameter.Refusals) *Report {
	report := &Report{operation: operation, refusals: refusals, Allowed: len(refusals) == 0}
	for _, refusal := range refusals {
		report.Errors = append(report.Errors, Error{refusal.Parameter, refusal.Message})
	}
	return report
}

// Decision reports on an operation.
func Decision(operation string, d parameter.Decision) *Report {
	report := Definitions(operation, d.Refusals)
	report.decision = &d
	if report.Allowed {
		report.Resulting = d.Resulting
	}
	return report
}

// SetRestarts adds whether pods restart, and the parameters that restart them, to the report of an allowed operation.
func (r *Report) SetRestarts(names []string) {
	if !r.Allowed {
		return
	}
	restart := len(names) > 0
	r.Restart, r.restarts = &restart, names
}

// SetChildren adds the child instances to the report of an allowed operation.
func (r *Report) SetChildren(children []Child) {
	if !r.Allowed {
		return
	}
	r.children = children
	states := map[string]string{}
	for _, child := range children {
		if !child.Dropped {
			r.Child = Presence(child.Present)
			states[child.Task] = r.Child
		}
	}
	if len(states) > 1 {
		r.Child, r.Children = "", states
	}
}

// Presence returns the word for the state of a child instance.
func Presence(present bool) string {
	if present {
		return "present"
	}
	return "absent"
}
