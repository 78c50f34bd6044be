package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// paramsInput is what the flags of a params command name. Each command has the flags that mean something to it.
type paramsInput struct {
	verb string
	in   io.Reader // nil once it has been read

	system *dialect // of the flag --dialect

	dialect, output             string
	definitions, oldDefinitions string
	current, values             string
	set                         []string
	mode                        string
	clear                       []string
	task, oldTask               string
}

// newParamsCommand returns the command of a verb.
func newParamsCommand(s streams, verb paramsVerb) *cobra.Command {
	in := &paramsInput{verb: verb.name, in: s.in}
	command := &cobra.Command{
		Use:     verb.name + " --definitions FILE",
		Short:   verb.short,
		Example: "  fieldlock params " + verb.name + " " + verb.example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("params %s takes no arguments, but got %s; name files with flags, such as --definitions FILE", verb.name, strings.Join(args, ", "))
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if err := in.checkFlags(); err != nil {
				return err
			}
			report, err := in.system.evaluate(in)
			if err != nil {
				return err
			}
			if err := report.Print(s.out, in.output); err != nil {
				return err
			}
			if !report.Allowed {
				return errRefused
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&in.dialect, "dialect", dialectNames()[0], "what the definitions are: "+strings.Join(dialectNames(), " or "))
	flags.StringVarP(&in.output, "output", "o", "text", "text or json")
	flags.StringVar(&in.definitions, "definitions", "", "KUDO params.yaml or OperatorVersion, or Heat template (required)")
	completeWith(command, "dialect", dialectNames()...)
	completeWith(command, "output", "text", "json")
	verb.flags(in, command)
	return command
}

func (in *paramsInput) valueFlags(command *cobra.Command) {
	command.Flags().StringVar(&in.values, "values", "", "file of requested values, name: value (null removes), or the Instance to apply")
	command.Flags().StringArrayVar(&in.set, "set", nil, "one requested value, NAME=VALUE; takes precedence over --values")
}

func (in *paramsInput) currentFlag(command *cobra.Command) {
	command.Flags().StringVar(&in.current, "current", "", "file of the stored values, name: value, or an Instance")
}

func (in *paramsInput) oldDefinitionsFlag(command *cobra.Command, usage string) {
	command.Flags().StringVar(&in.oldDefinitions, "old-definitions", "", usage)
}

func (in *paramsInput) taskFlag(command *cobra.Command) {
	command.Flags().StringVar(&in.task, "task", "", "file with a KudoOperator task, or operator.yaml")
}

func (in *paramsInput) oldTaskFlag(command *cobra.Command) {
	command.Flags().StringVar(&in.oldTask, "old-task", "", "the task before the operation, to show whether its child appears or goes")
}

// operationFlags adds the flags of a verb that evaluates any operation.
func (in *paramsInput) operationFlags(command *cobra.Command) {
	in.valueFlags(command)
	in.currentFlag(command)
	in.oldDefinitionsFlag(command, "the definitions before the upgrade")
	in.taskFlag(command)
	in.oldTaskFlag(command)
}

// checkFlags checks the flags that all verbs have and finds the dialect.
func (in *paramsInput) checkFlags() (err error) {
	in.system, err = findDialect(in.dialect)
	switch {
	case err != nil:
		return err
	case in.output != "text" && in.output != "json":
		return fmt.Errorf("--output is %q: it should be text or json", in.output)
	case in.definitions == "":
		return errors.New("--definitions is missing: it names a KUDO params.yaml or a Heat template")
	}
	return nil
}

// currentValues reads the stored values.
func (in *paramsInput) currentValues() (parameter.Values, error) {
	if in.current == "" {
		return nil, nil
	}
	return readParams(in, in.current, in.system.readValues)
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
		return none, fmt.Errorf("%s: it cannot be read: %w", file, cause(err))
	}
	parsed, err := parse(data)
	if err != nil {
		return none, fmt.Errorf("%s: %w", file, err)
	}
	return parsed, nil
}
