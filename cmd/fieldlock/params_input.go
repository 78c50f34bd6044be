package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter"
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
	command.Flags().StringVar(&in.values, "values", "", "`FILE` of requested values, name: value (null removes), or the Instance to apply")
	command.Flags().StringArrayVar(&in.set, "set", nil, "one requested value, `NAME=VALUE`; takes precedence over --values; may be repeated")
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
	command.Flags().StringVar(&in.oldTask, "old-task", "", "`FILE` with the task before the operation, to show whether its child appears or goes")
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
		return none, fmt.Errorf("%s: it cannot be read: %w", file, manifest.Cause(err))
	}
	parsed, err := parse(data)
	if err != nil {
		return none, fmt.Errorf("%s: %w", file, err)
	}
	return parsed, nil
}

// dialect is a system of parameters, the value of --dialect.
type dialect struct {
	name       string
	readValues func([]byte) (parameter.Values, error)
	isComplete func([]byte) bool // whether --values names every value, so that what it lacks is removed
	verbs      map[string]func(*paramsInput) (*params.Report, error)
}

// The modes of --mode.
const (
	modePut   = "put"
	modePatch = "patch"
)
