package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// paramsInput is what the flags of a params command name. Each command has the flags that mean something to it.
type paramsInput struct {
	verb string
	in   io.Reader // nil once it has been read

	system *dialect // of the flag --dialect

	dialect                     string
	output                      *format
	definitions, oldDefinitions string
	current, values             string
	set                         []string
	mode                        string
	clear                       []string
	task, oldTask               string
}

func (in *paramsInput) valueFlags(command *cobra.Command) {
	command.Flags().StringVar(&in.values, "values", "",
		"`FILE` of requested values, name: value (null removes), or the Instance to apply")
	command.Flags().StringArrayVar(&in.set, "set", nil,
		"one requested value, `NAME=VALUE`; takes precedence over --values; may be repeated")
}

func (in *paramsInput) currentFlag(command *cobra.Command) {
	command.Flags().StringVar(&in.current, "current", "", "`FILE` of the stored values, name: value, or an Instance")
}

func (in *paramsInput) oldDefinitionsFlag(command *cobra.Command, usage string) {
	command.Flags().StringVar(&in.oldDefinitions, "old-definitions", "", usage)
}

func (in *paramsInput) taskFlag(command *cobra.Command) {
	command.Flags().StringVar(&in.task, "task", "", "`FILE` with a KudoOperator task, or operator.yaml")
}

func (in *paramsInput) oldTaskFlag(command *cobra.Command) {
	command.Flags().StringVar(&in.oldTask, "old-task", "",
		"`FILE` with the task before the operation, to show whether its child appears or goes")
}

// operationFlags adds the flags of a verb that evaluates any operation.
func (in *paramsInput) operationFlags(command *cobra.Command) {
	in.valueFlags(command)
	in.currentFlag(command)
	in.oldDefinitionsFlag(command, "`FILE` of the definitions before the upgrade")
	in.taskFlag(command)
	in.oldTaskFlag(command)
}

// valuesOf reads the requested and the stored values.
func (in *paramsInput) valuesOf() (requested, current parameter.Values, err error) {
	if in.current != "" {
		if current, err = readParams(in, in.current, in.system.readValues); err != nil {
			return nil, nil, err
		}
	}
	requested, err = in.requested(current)
	return requested, current, err
}

// requested reads the requested values: --set over --values. An Instance asks for all its values explicitly, and for
// the removal of those it lacks.
func (in *paramsInput) requested(current parameter.Values) (parameter.Values, error) {
	requested := parameter.Values{}
	if in.values != "" {
		_, err := readParams(in, in.values, func(data []byte) (_ any, err error) {
			if requested, err = in.system.readValues(data); err != nil || !in.system.isComplete(data) {
				return nil, err
			}
			for name := range current {
				if _, stays := requested[name]; !stays {
					requested[name] = parameter.Value{}
				}
			}
			return nil, nil
		})
		if err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, set := range in.set {
		name, value, ok := strings.Cut(set, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--set %s: it should be NAME=VALUE", set)
		}
		if seen[name] {
			return nil, fmt.Errorf("--set has %s twice", name)
		}
		seen[name] = true
		requested[name] = parameter.Text(value)
	}
	return requested, nil
}

// readParams reads one file, "-" for standard input.
func readParams[T any](in *paramsInput, file string, parse func([]byte) (T, error)) (T, error) {
	var none T
	var data []byte
	var err error
	if file == "-" {
		if in.in == nil {
			return none, errors.New("standard input is named twice")
		}
		data, err = io.ReadAll(in.in)
		in.in, file = nil, "standard input"
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return none, fmt.Errorf("%s: cannot be read: %w", file, manifest.Cause(err))
	}
	parsed, err := parse(data)
	if err != nil {
		return none, fmt.Errorf("%s: %w", file, err)
	}
	return parsed, nil
}

// The modes of --mode.
const (
	modePut   = "put"
	modePatch = "patch"
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
func (in *paramsInput) tasksBefore(operation string, version,
	old *kudo.OperatorVersion) (*kudo.OperatorVersion, error) {
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
		if i := slices.IndexFunc(a.before, func(before kudo.Child) bool { return before.Task == child.Task }); i >= 0 &&
			a.operation != "install" {
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
