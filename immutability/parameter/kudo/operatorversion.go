package kudo

import (
	"cmp"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// planDeploy is the plan that every operator has; planUpdate runs for changes without a trigger, where it exists.
const (
	planDeploy = "deploy"
	planUpdate = "update"
)

// OperatorVersion is what one version of an operator says about parameters. It may be read from a package or from a
// cluster, or be built by hand. Evaluations do not change it.
type OperatorVersion struct {
	Name       string
	Parameters []Parameter
	Groups     []string // names of the parameter groups; nil where they are not known, as in a cluster
	Tasks      []Task   // the KudoOperator tasks
	Plans      []string // names of the plans; nil where they are not known

	mistakes parameter.Refusals // what else the reader found
}

// List returns a row per parameter, sorted by name (KEP-30, Other).
func (v *OperatorVersion) List() []parameter.Row {
	rows := make([]parameter.Row, 0, len(v.Parameters))
	for i := range v.Parameters {
		p := &v.Parameters[i]
		rows = append(rows, parameter.Row{Name: p.Name, Default: p.Default.Text, Required: !p.Optional, Immutable: p.Immutable})
		if !p.HasDefault() {
			rows[i].Default = ""
		}
	}
	slices.SortStableFunc(rows, func(a, b parameter.Row) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// index returns the parameters by name. Of two with one name, which Validate refuses, the first counts.
func (v *OperatorVersion) index() map[string]*Parameter {
	index := make(map[string]*Parameter, len(v.Parameters))
	for i := range v.Parameters {
		if _, twice := index[v.Parameters[i].Name]; !twice {
			index[v.Parameters[i].Name] = &v.Parameters[i]
		}
	}
	return index
}

// Task is a task whose work depends on a parameter of the operator.
type Task struct {
	Name string

	// EnablingParameter names the parameter that decides whether the child instance of a KudoOperator task is there
	// (KEP-36). Empty means that it always is.
	EnablingParameter string
}
