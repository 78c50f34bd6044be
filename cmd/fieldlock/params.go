package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newParams(s streams) *cobra.Command {
	params := &cobra.Command{
		Use:   "params validate|list|install|update|upgrade|restart|toggle|enhance",
		Short: "Predict what an update of a KUDO operator or a Heat stack would do",
		Long: `params reads parameter definitions and predicts what an install, an update or an upgrade would do: which values change,
what is refused and why, whether pods restart, and which child instances exist afterwards. It changes nothing.

The definitions are a KUDO params.yaml or OperatorVersion, or a Heat Orchestration Template with --dialect heat.
--current takes stored values (name: value) or a KUDO Instance; --values takes requested values, or the Instance that
is about to be applied. --task takes a KudoOperator task or an operator.yaml. All files are YAML or JSON; "-" is
standard input.`,
		Example: `  # The definitions themselves
  fieldlock params validate --definitions params.yaml --task operator.yaml

  # May this instance get these values?
  fieldlock params update --definitions params.yaml --current instance.yaml --set NODE_COUNT=5

  # May this stack be updated?
  fieldlock params update --dialect heat --old-definitions stack-v1.yaml --definitions stack-v2.yaml \
    --current stored.yaml --mode patch --set flavor=m1.large`,
		RunE: func(_ *cobra.Command, args []string) error {
			const verbs = "validate, list, install, update, upgrade, restart, toggle and enhance"
			if len(args) > 0 {
				return fmt.Errorf("params has no command %q: it has %s", args[0], verbs)
			}
			return errors.New("params needs a command: it has " + verbs + "; see fieldlock params --help")
		},
	}
	for _, verb := range paramsVerbs() {
		params.AddCommand(newParamsCommand(s, verb))
	}
	params.AddCommand(newParamsEnhance(s))
	return params
}

// paramsVerb is a command below params that evaluates an operation.
type paramsVerb struct {
	name, short, example string
	flags                func(*paramsInput, *cobra.Command)
}

// paramsVerbs returns the verbs in the order of the help; the dialects define what each one does.
func paramsVerbs() []paramsVerb {
	return []paramsVerb{{
		"validate", "Check the definitions themselves, and the tasks that refer to them",
		"--definitions params.yaml --task operator.yaml",
		(*paramsInput).taskFlag,
	}, {
		"list", "List the parameters with name, default, required and immutable",
		"--definitions params.yaml",
		func(*paramsInput, *cobra.Command) {},
	}, {
		"install", "Evaluate an installation, or the creation of a stack",
		"--definitions params.yaml --values values.yaml",
		func(in *paramsInput, command *cobra.Command) {
			in.valueFlags(command)
			in.taskFlag(command)
		},
	}, {
		"update", "Evaluate new values, or the update of a stack",
		"--definitions params.yaml --current instance.yaml --set NODE_COUNT=5",
		func(in *paramsInput, command *cobra.Command) {
			in.valueFlags(command)
			in.currentFlag(command)
			in.oldDefinitionsFlag(command, "Heat: the `FILE` of the template before the update (required)")
			command.Flags().StringVar(&in.mode, "mode", modePut,
				"Heat: the `MODE`: put falls back to defaults, patch keeps stored values")
			completeWith(command, "mode", modePut, modePatch)
			command.Flags().StringArrayVar(&in.clear, "clear", nil,
				"Heat: the `NAME` of a stored value that a patch does not keep; may be repeated")
			in.taskFlag(command)
			in.oldTaskFlag(command)
		},
	}, {
		"upgrade", "Evaluate an upgrade to other definitions",
		"--old-definitions v1/params.yaml --definitions v2/params.yaml --current instance.yaml --set DISK_SIZE=5Gi",
		(*paramsInput).operationFlags,
	}, {
		"restart", "Say whether an operation restarts the pods",
		"--definitions params.yaml --current instance.yaml --set NODE_COUNT=5",
		(*paramsInput).operationFlags,
	}, {
		"toggle", "Tell whether a child instance exists after an operation",
		"--definitions params.yaml --current instance.yaml --task operator.yaml --set MONITORING=true",
		(*paramsInput).operationFlags,
	}}
}

// checkFlags checks the flags that all verbs have and finds the dialect.
func (in *paramsInput) checkFlags() (err error) {
	in.system, err = findDialect(in.dialect)
	switch {
	case err != nil:
		return err
	case in.definitions == "":
		return errors.New("--definitions is missing: it names a KUDO params.yaml or a Heat template")
	}
	return nil
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
				return fmt.Errorf("params %s takes no arguments, but got %s; name files with flags, such as "+
					"--definitions FILE", verb.name, strings.Join(args, ", "))
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
			if err := report.Print(s.out, in.output.value); err != nil {
				return err
			}
			if !report.Allowed {
				return errRefused
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&in.dialect, "dialect", dialectNames()[0],
		"the `SYSTEM` of the definitions: "+strings.Join(dialectNames(), " or "))
	in.output = addOutput(command, asText, asJSON)
	flags.StringVar(&in.definitions, "definitions", "",
		"`FILE` of the KUDO params.yaml or OperatorVersion, or of the Heat template (required)")
	completeWith(command, "dialect", dialectNames()...)
	verb.flags(in, command)
	return command
}
