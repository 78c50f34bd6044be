package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/report/params"
)

// The dialects of --dialect.
const (
	dialectKudo = "kudo"
	dialectHeat = "heat"
)

// paramsInput is what the flags of a params command name. Each command has the flags that mean something to it.
type paramsInput struct {
	verb string
	in   io.Reader // nil once it has been read

	dialect, output             string
	definitions, oldDefinitions string
	current, values             string
	set                         []string
	mode                        string
	clear                       []string
	task, oldTask               string
}

// paramsCommand returns the command of a verb with the flags that all verbs have.
func paramsCommand(s streams, in *paramsInput, verb, short, example string, run func() (*params.Report, error)) *cobra.Command {
	in.verb, in.in = verb, s.in
	command := &cobra.Command{
		Use:     verb + " --definitions FILE",
		Short:   short,
		Example: "  fieldlock params " + verb + " " + example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("params %s takes no arguments, but got %s; name files with flags, such as --definitions FILE", verb, strings.Join(args, ", "))
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if err := in.checkFlags(); err != nil {
				return err
			}
			report, err := run()
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
	flags.StringVar(&in.dialect, "dialect", dialectKudo, "what the definitions are: kudo or heat")
	flags.StringVarP(&in.output, "output", "o", "text", "text or json")
	flags.StringVar(&in.definitions, "definitions", "", "KUDO params.yaml or OperatorVersion, or Heat template (required)")
	completeWith(command, "dialect", dialectKudo, dialectHeat)
	completeWith(command, "output", "text", "json")
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

// checkFlags checks the flags against each other, so that none is silently without effect.
func (in *paramsInput) checkFlags() error {
	onHeat := in.dialect == dialectHeat
	switch {
	case in.dialect != dialectKudo && !onHeat:
		return fmt.Errorf("--dialect is %q: it should be kudo or heat", in.dialect)
	case in.output != "text" && in.output != "json":
		return fmt.Errorf("--output is %q: it should be text or json", in.output)
	case in.definitions == "":
		return errors.New("--definitions is missing: it names a KUDO params.yaml or a Heat template")
	case onHeat && in.task+in.oldTask != "":
		return errors.New("--task is a KudoOperator task, which Heat does not have")
	}
	return nil
}

// kudoOnly returns an error for a verb that Heat does not have.
func (in *paramsInput) kudoOnly() error {
	if in.dialect == dialectHeat {
		return fmt.Errorf("--dialect heat has no %s: it has validate, list, install and update", in.verb)
	}
	return nil
}

// version reads the definitions and tasks of KUDO.
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

// template reads a Heat template, nil where file is "".
func (in *paramsInput) template(file string) (*heat.Template, error) {
	if file == "" {
		return nil, nil
	}
	return readParams(in, file, heat.ReadTemplate)
}

// currentValues reads the stored values.
func (in *paramsInput) currentValues() (parameter.Values, error) {
	read := kudo.ReadValues
	if in.dialect == dialectHeat {
		read = heat.ReadValues
	}
	if in.current == "" {
		return nil, nil
	}
	return readParams(in, in.current, read)
}

// requested reads the requested values: --set over --values. An Instance asks for all its values explicitly, and for
// the removal of those it lacks.
func (in *paramsInput) requested(current parameter.Values) (parameter.Values, error) {
	requested := parameter.Values{}
	if in.values != "" {
		_, err := readParams(in, in.values, func(data []byte) (_ any, err error) {
			if in.dialect == dialectHeat {
				requested, err = heat.ReadValues(data)
				return nil, err
			}
			if requested, err = kudo.ReadValues(data); err != nil || !kudo.IsInstance(data) {
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
