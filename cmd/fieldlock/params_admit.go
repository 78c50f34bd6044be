package main

import (
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// operation returns what the flags describe: an upgrade with old definitions, an update with current values, otherwise
// an install.
func (in *paramsInput) operation() string {
	switch {
	case in.oldDefinitions != "":
		return "upgrade"
	case in.current != "":
		return "update"
	}
	return "install"
}

// admitted is an evaluated operation of KUDO.
type admitted struct {
	kudo.Admission
	operation string
	version   *kudo.OperatorVersion
	oldTasks  []kudo.Task
	before    []kudo.Child // the children before the operation, as far as they are known
}

// admit reads the files and evaluates the operation.
func (in *paramsInput) admit(operation string) (*admitted, error) {
	version, err := in.version()
	if err != nil {
		return nil, err
	}
	old, err := in.oldVersion()
	if err != nil {
		return nil, err
	}
	requested, current, err := in.valuesOf()
	if err != nil {
		return nil, err
	}
	was, err := in.tasksBefore(operation, version, old)
	if err != nil {
		return nil, err
	}
	a := &admitted{operation: operation, version: version, oldTasks: was.Tasks}
	a.before = childrenOf(was, current)
	switch operation {
	case "install":
		a.Admission = version.Install(requested)
	case "update":
		a.Admission = version.Update(requested, current)
	default:
		a.Admission = version.Upgrade(requested, old, current)
	}
	return a, nil
}

// tasksBefore returns the version before the operation with its tasks. An update without --old-task keeps the tasks; an
// upgrade has the tasks of --old-task or of an old OperatorVersion.
func (in *paramsInput) tasksBefore(operation string, version, old *kudo.OperatorVersion) (*kudo.OperatorVersion, error) {
	var was kudo.OperatorVersion
	switch {
	case old != nil:
		was = *old
	case operation == "update":
		was = *version
	}
	if in.oldTask == "" {
		return &was, nil
	}
	_, err := readParams(in, in.oldTask, func(data []byte) (any, error) { return nil, was.ReadTasks(data) })
	return &was, err
}

// childrenOf returns the children whose state the current values decide.
func childrenOf(version *kudo.OperatorVersion, current parameter.Values) []kudo.Child {
	var children []kudo.Child
	for _, task := range version.Tasks {
		one := kudo.OperatorVersion{Parameters: version.Parameters, Tasks: []kudo.Task{task}}
		if state, err := one.Children(current); err == nil {
			children = append(children, state...)
		}
	}
	return children
}

func (a *admitted) report() *params.Report {
	report := params.Decision(a.operation, a.Decision)
	var children []params.Child
	for _, child := range a.Children {
		shown := params.Child{Child: child}
		if i := slices.IndexFunc(a.before, func(before kudo.Child) bool { return before.Task == child.Task }); i >= 0 && a.operation != "install" {
			shown.Before = params.Presence(a.before[i].Present)
		}
		children = append(children, shown)
	}
	for _, task := range a.oldTasks {
		if !slices.ContainsFunc(a.version.Tasks, func(t kudo.Task) bool { return t.Name == task.Name }) {
			children = append(children, params.Child{Child: kudo.Child{Task: task.Name}, Dropped: true})
		}
	}
	report.SetChildren(children)
	return report
}

// version reads the definitions and tasks.
func (in *paramsInput) version() (*kudo.OperatorVersion, error) {
	version, err := readParams(in, in.definitions, kudo.ReadOperatorVersion)
	if err != nil || in.task == "" {
		return version, err
	}
	_, err = readParams(in, in.task, func(data []byte) (any, error) { return nil, version.ReadTasks(data) })
	return version, err
}

// oldVersion reads the definitions and tasks before the operation, nil where the flags name none.
func (in *paramsInput) oldVersion() (*kudo.OperatorVersion, error) {
	if in.oldDefinitions == "" {
		return nil, nil
	}
	return readParams(in, in.oldDefinitions, kudo.ReadOperatorVersion)
}
