// Package kudo evaluates the parameters of KUDO operators: immutable parameters (KEP-30), forced pod restarts (KEP-27)
// and child operators that a parameter switches on and off (KEP-36).
//
// A webhook on Instances needs one call:
//
//	find := func(ctx context.Context, name string) (*kudo.OperatorVersion, error) {
//		object, err := client.Resource(operatorVersions).Namespace(request.Namespace).Get(ctx, name, metav1.GetOptions{})
//		if err != nil {
//			return nil, err
//		}
//		data, err := object.MarshalJSON()
//		if err != nil {
//			return nil, err
//		}
//		return kudo.ReadOperatorVersion(data)
//	}
//	admission, err := kudo.Review(ctx, request.Object.Raw, request.OldObject.Raw, find)
//
// It denies the request with admission.Err(), or admits it and stores admission.Resulting in spec.parameters. The
// program examples/instances is such a webhook.
//
// [Review] and [OperatorVersion.Admit] take a value as given explicitly when the new Instance has it: a webhook cannot
// see more, and KUDO itself decides like this. A command line knows what its user asks for in this very operation, so
// [OperatorVersion.Install], [OperatorVersion.Update] and [OperatorVersion.Upgrade] take the requested values apart
// from the current ones, and only the requested ones are explicit.
//
// Every evaluation starts with [OperatorVersion.Validate], since a definition that KUDO's verifier refuses may not mean
// what its author intended.
package kudo

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// planDeploy is the plan that every operator has; planUpdate runs for changes without a trigger, where it exists.
const (
	planDeploy = "deploy"
	planUpdate = "update"
)

// OperatorVersion is what one version of an operator says about parameters. It may be read from a package or from a
// cluster, or be built by hand. Evaluations do not change it. Those of the zero OperatorVersion or a nil one, and
// upgrades from the zero one, are refused.
type OperatorVersion struct {
	Name       string
	Parameters []Parameter
	Groups     []string // names of the parameter groups; nil where they are not known, as in a cluster
	Tasks      []Task   // the KudoOperator tasks
	Plans      []string // names of the plans; nil where they are not known

	read     bool               // rather than built by hand
	mistakes parameter.Refusals // what else the reader found
}

// undefined reports whether v is nil or has nothing to say.
func (v *OperatorVersion) undefined() bool {
	return v == nil || !v.read && v.Name == "" && len(v.Parameters)+len(v.Tasks)+len(v.Groups)+len(v.Plans) == 0
}

// orZero returns v, or the zero OperatorVersion for nil.
func (v *OperatorVersion) orZero() *OperatorVersion {
	if v == nil {
		return &OperatorVersion{}
	}
	return v
}

// List returns a row per parameter, sorted by name (KEP-30, Other).
func (v *OperatorVersion) List() []parameter.Row {
	v = v.orZero()
	rows := make([]parameter.Row, 0, len(v.Parameters))
	for i := range v.Parameters {
		p := &v.Parameters[i]
		rows = append(rows, parameter.Row{Name: p.Name, Default: p.Default.Text, Required: !p.Optional,
			Immutable: p.Immutable})
		if p.Default.IsNull() {
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
