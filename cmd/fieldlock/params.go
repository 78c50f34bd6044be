package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
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
			command.Flags().StringVar(&in.mode, "mode", modePut, "Heat: the `MODE`: put falls back to defaults, patch keeps stored values")
			completeWith(command, "mode", modePut, modePatch)
			command.Flags().StringArrayVar(&in.clear, "clear", nil, "Heat: the `NAME` of a stored value that a patch does not keep; may be repeated")
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

// dialects returns the systems of parameters; the first is the default.
func dialects() []dialect { return []dialect{kudoDialect(), heatDialect()} }

func dialectNames() []string {
	var names []string
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

// findDialect returns the dialect of a name.
func findDialect(name string) (*dialect, error) {
	all := dialects()
	i := slices.IndexFunc(all, func(d dialect) bool { return d.name == name })
	if i < 0 {
		return nil, fmt.Errorf("--dialect is %q: it should be %s", name, strings.Join(dialectNames(), " or "))
	}
	return &all[i], nil
}

// evaluate runs a verb of the dialect.
func (d *dialect) evaluate(in *paramsInput) (*params.Report, error) {
	run, ok := d.verbs[in.verb]
	if !ok {
		var has []string
		for _, v := range paramsVerbs() {
			if d.verbs[v.name] != nil {
				has = append(has, v.name)
			}
		}
		return nil, fmt.Errorf("--dialect %s has no %s: it has %s", d.name, in.verb, strings.Join(has[:len(has)-1], ", ")+" and "+has[len(has)-1])
	}
	return run(in)
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
	flags.StringVar(&in.dialect, "dialect", dialectNames()[0], "the `SYSTEM` of the definitions: "+strings.Join(dialectNames(), " or "))
	in.output = addOutput(command, asText, asJSON)
	flags.StringVar(&in.definitions, "definitions", "", "`FILE` of the KUDO params.yaml or OperatorVersion, or of the Heat template (required)")
	completeWith(command, "dialect", dialectNames()...)
	verb.flags(in, command)
	return command
}

// kudoDialect is KUDO's immutable parameters, restarts and children (KEP-30, KEP-27, KEP-36).
func kudoDialect() dialect {
	return dialect{
		name:       "kudo",
		readValues: kudo.ReadValues,
		isComplete: func(data []byte) bool {
			_, err := kudo.ReadInstance(data)
			return err == nil
		},
		verbs: map[string]func(*paramsInput) (*params.Report, error){
			"validate": validateVersion,
			"list":     listVersion,
			"install":  install,
			"update":   updateInstance,
			"upgrade":  upgrade,
			"restart":  restart,
			"toggle":   toggle,
		},
	}
}

func validateVersion(in *paramsInput) (*params.Report, error) {
	version, err := in.version()
	if err != nil {
		return nil, err
	}
	return params.Definitions(in.verb, version.Validate()), nil
}

func listVersion(in *paramsInput) (*params.Report, error) {
	version, err := in.version()
	if err != nil {
		return nil, err
	}
	report := params.Definitions(in.verb, version.Validate())
	report.Rows = version.List()
	return report, nil
}

func install(in *paramsInput) (*params.Report, error) {
	admitted, err := in.admit("install")
	if err != nil {
		return nil, err
	}
	return admitted.report(), nil
}

func updateInstance(in *paramsInput) (*params.Report, error) {
	switch {
	case in.oldDefinitions != "":
		return nil, errors.New("--old-definitions makes it an upgrade: use fieldlock params upgrade")
	case in.mode == modePatch || len(in.clear) > 0:
		return nil, errors.New("--mode patch and --clear belong to Heat: KUDO keeps stored values, and a null in --values removes one")
	case in.mode != modePut:
		return nil, fmt.Errorf("--mode is %q: it should be put or patch", in.mode)
	}
	return in.admitWithRestart("update")
}

func upgrade(in *paramsInput) (*params.Report, error) {
	if in.oldDefinitions == "" {
		return nil, errors.New("--old-definitions is missing: an upgrade goes from them to --definitions")
	}
	return in.admitWithRestart("upgrade")
}

func restart(in *paramsInput) (*params.Report, error) { return in.admitWithRestart(in.operation()) }

func toggle(in *paramsInput) (*params.Report, error) {
	admitted, err := in.admit(in.operation())
	if err != nil {
		return nil, err
	}
	switch {
	case len(admitted.version.Tasks)+len(admitted.oldTasks) > 0:
		return admitted.report(), nil
	case in.task != "":
		return nil, fmt.Errorf("%s: it has no KudoOperator task", in.task)
	}
	return nil, errors.New("--task is missing: it names the KudoOperator task, or an operator.yaml with its tasks")
}

func (in *paramsInput) admitWithRestart(operation string) (*params.Report, error) {
	admitted, err := in.admit(operation)
	if err != nil {
		return nil, err
	}
	report := admitted.report()
	report.SetRestarts(admitted.Restarts)
	return report, nil
}

// heatDialect is OpenStack Heat's updatable parameters.
func heatDialect() dialect {
	return dialect{
		name:       "heat",
		readValues: heat.ReadValues,
		isComplete: func([]byte) bool { return false },
		verbs: map[string]func(*paramsInput) (*params.Report, error){
			"validate": validateTemplate,
			"list":     listTemplate,
			"install":  createStack,
			"update":   updateStack,
		},
	}
}

func validateTemplate(in *paramsInput) (*params.Report, error) {
	template, err := in.template(in.definitions)
	if err != nil {
		return nil, err
	}
	report := params.Definitions(in.verb, template.Validate())
	report.Unchecked = template.Unchecked()
	return report, nil
}

func listTemplate(in *paramsInput) (*params.Report, error) {
	template, err := in.template(in.definitions)
	if err != nil {
		return nil, err
	}
	report := params.Definitions(in.verb, template.Validate())
	report.Rows = template.List()
	return report, nil
}

func createStack(in *paramsInput) (*params.Report, error) {
	template, err := in.template(in.definitions)
	if err != nil {
		return nil, err
	}
	requested, err := in.requested(nil)
	if err != nil {
		return nil, err
	}
	return stackReport(in, template.Create(requested)), nil
}

func updateStack(in *paramsInput) (*params.Report, error) {
	switch {
	case in.oldDefinitions == "":
		return nil, errors.New("--old-definitions is missing: Heat's update goes from one template to another, which may be the same file")
	case in.mode != modePut && in.mode != modePatch:
		return nil, fmt.Errorf("--mode is %q: it should be put or patch", in.mode)
	}
	template, err := in.template(in.definitions)
	if err != nil {
		return nil, err
	}
	old, err := in.template(in.oldDefinitions)
	if err != nil {
		return nil, err
	}
	requested, current, err := in.valuesOf()
	if err != nil {
		return nil, err
	}
	if in.mode == modePatch {
		return stackReport(in, template.Patch(requested, old, current, in.clear...)), nil
	}
	return stackReport(in, template.Update(requested, old, current)), nil
}

func stackReport(in *paramsInput, preview heat.Preview) *params.Report {
	report := params.Decision(in.verb, preview.Decision)
	report.Unchecked = preview.Unchecked
	return report
}

// template reads a template.
func (in *paramsInput) template(file string) (*heat.Template, error) {
	if in.task+in.oldTask != "" {
		return nil, errors.New("--task is a KudoOperator task, which Heat does not have")
	}
	return readParams(in, file, heat.ReadTemplate)
}
