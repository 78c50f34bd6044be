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

// paramsOptions are the flags of the params commands. Each command has those that mean something to it.
type paramsOptions struct {
	dialect, output             string
	definitions, oldDefinitions string
	current, values             string
	set                         []string
	mode                        string
	clear                       []string
	task, oldTask               string
}

// The dialects of --dialect.
const (
	dialectKudo = "kudo"
	dialectHeat = "heat"
)

func newParams(s streams) *cobra.Command {
	params := &cobra.Command{
		Use:   "params validate|list|install|update|upgrade|restart|toggle",
		Short: "Evaluate the parameters of KUDO operators and Heat stacks",
		Long: `params reads parameter definitions, a KUDO params.yaml or a Heat Orchestration Template, and says what an install,
an update or an upgrade would do: what changes, what is refused and why, whether pods restart and which child
instances are there afterwards. Nothing is done.

All files are YAML or JSON; "-" is the standard input.`,
		Example: `  # the definitions themselves
  fieldlock params validate --definitions params.yaml

  # may this instance get these values?
  fieldlock params update --definitions params.yaml --current stored.yaml --set NODE_COUNT=5

  # may this stack be updated?
  fieldlock params update --dialect heat --old-definitions old.yaml --definitions new.yaml \
    --current stored.yaml --mode patch --set flavor=m1.large`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("params has no command %q: it has validate, list, install, update, upgrade, restart and toggle", args[0])
			}
			return errors.New("params needs a command: validate, list, install, update, upgrade, restart or toggle; see fieldlock params --help")
		},
	}
	for _, verb := range paramsVerbs {
		params.AddCommand(verb.command(s))
	}
	return params
}

// paramsVerb is one of the params commands.
type paramsVerb struct {
	name, short, example string

	values, stored, old, task bool // which groups of flags it has
	heat                      bool // whether Heat has it
	run                       func(*paramsInput) *paramsReport
}

var paramsVerbs = []paramsVerb{
	{name: "validate", short: "Check the definitions themselves, and a task that refers to them", task: true, heat: true, run: runParamsValidate,
		example: "  fieldlock params validate --definitions params.yaml --task task.yaml"},
	{name: "list", short: "List the parameters: Name, Default, Required, Immutable", heat: true, run: runParamsList,
		example: "  fieldlock params list --definitions params.yaml"},
	{name: "install", short: "Evaluate an installation", values: true, task: true, heat: true, run: runParamsPlan,
		example: "  fieldlock params install --definitions params.yaml --values values.yaml"},
	{name: "update", short: "Evaluate new values", values: true, stored: true, old: true, task: true, heat: true, run: runParamsPlan,
		example: "  fieldlock params update --definitions params.yaml --current stored.yaml --set NODE_COUNT=5"},
	{name: "upgrade", short: "Evaluate an upgrade to other definitions", values: true, stored: true, old: true, task: true, run: runParamsPlan,
		example: "  fieldlock params upgrade --old-definitions v1/params.yaml --definitions v2/params.yaml --current stored.yaml --set DISK_SIZE=5Gi"},
	{name: "restart", short: "Say whether an operation restarts the pods", values: true, stored: true, old: true, task: true, run: runParamsPlan,
		example: "  fieldlock params restart --definitions params.yaml --current stored.yaml --set NODE_COUNT=5"},
	{name: "toggle", short: "Say whether a child instance is there after an operation", values: true, stored: true, old: true, task: true, run: runParamsPlan,
		example: "  fieldlock params toggle --definitions params.yaml --current stored.yaml --task task.yaml --set INSTALL_DEPENDENCY=false"},
}

func (v paramsVerb) command(s streams) *cobra.Command {
	var o paramsOptions
	command := &cobra.Command{
		Use:     v.name + " --definitions FILE",
		Short:   v.short,
		Example: v.example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("params %s takes no arguments, it has %s; files are given with flags, such as --definitions FILE", v.name, enumerate(args, "none"))
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			report, err := v.evaluate(&o, s)
			if err != nil {
				return err
			}
			return report.print(s.out, o.output)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.dialect, "dialect", dialectKudo, "what the definitions are: kudo or heat")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json")
	flags.StringVar(&o.definitions, "definitions", "", "KUDO params.yaml or Heat template (required)")
	if v.values {
		flags.StringVar(&o.values, "values", "", "file of requested values, name: value; null removes")
		flags.StringArrayVar(&o.set, "set", nil, "one requested value, NAME=VALUE; goes over --values")
	}
	if v.stored {
		flags.StringVar(&o.current, "current", "", "file of the stored values, name: value")
	}
	if v.old {
		flags.StringVar(&o.oldDefinitions, "old-definitions", "", "the definitions before the upgrade, or the template before Heat's update")
	}
	if v.old && v.heat {
		flags.StringVar(&o.mode, "mode", string(parameter.Put), "Heat: put falls back to defaults, patch keeps stored values")
		flags.StringArrayVar(&o.clear, "clear", nil, "Heat: a stored value that a patch does not keep")
	}
	if v.task {
		flags.StringVar(&o.task, "task", "", "file with a KudoOperator task")
	}
	if v.task && v.old {
		flags.StringVar(&o.oldTask, "old-task", "", "the task before the operation, to show whether its child appears or goes")
	}
	return command
}

// evaluate checks the flags against each other, reads the files and runs the command.
func (v paramsVerb) evaluate(o *paramsOptions, s streams) (*paramsReport, error) {
	heat := o.dialect == dialectHeat
	switch {
	case o.dialect != dialectKudo && !heat:
		return nil, fmt.Errorf("--dialect is %q: it is kudo or heat", o.dialect)
	case o.output != "text" && o.output != "json":
		return nil, fmt.Errorf("--output is %q: it is text or json", o.output)
	case o.definitions == "":
		return nil, errors.New("--definitions is missing: it names a KUDO params.yaml or a Heat template")
	case heat && !v.heat:
		return nil, fmt.Errorf("--dialect heat has no %s: it has validate, list, install and update", v.name)
	case heat && o.task+o.oldTask != "":
		return nil, errors.New("--task is a KudoOperator task, and Heat has none")
	case heat && v.name == "update" && o.oldDefinitions == "":
		return nil, errors.New("--old-definitions is missing: Heat's update goes from one template to another, which may be the same file")
	case v.name == "upgrade" && o.oldDefinitions == "":
		return nil, errors.New("--old-definitions is missing: an upgrade goes from them to --definitions")
	case !heat && v.name == "update" && o.oldDefinitions != "":
		return nil, errors.New("--old-definitions makes it an upgrade: use fieldlock params upgrade")
	case v.name == "toggle" && o.task == "":
		return nil, errors.New("--task is missing: it names the KudoOperator task to toggle")
	case o.mode != "" && o.mode != string(parameter.Put) && o.mode != string(parameter.Patch):
		return nil, fmt.Errorf("--mode is %q: it is put or patch", o.mode)
	case !heat && (o.mode == string(parameter.Patch) || len(o.clear) > 0):
		return nil, errors.New("--mode patch and --clear are Heat's: KUDO keeps stored values, and a null in --values removes one")
	}
	in := &paramsInput{verb: v.name, options: o, stdin: s.in}
	if err := in.read(); err != nil {
		return nil, err
	}
	return v.run(in), nil
}

// paramsInput is what the files of one params command hold.
type paramsInput struct {
	verb    string
	options *paramsOptions
	stdin   io.Reader // nil once it has been read

	definitions, oldDefinitions *parameter.Definitions // KUDO
	template, oldTemplate       *parameter.Template    // Heat
	current, requested          parameter.Values
	tasks                       []parameter.Task // none or one
	oldTask                     *parameter.Task
}

func (in *paramsInput) read() (err error) {
	o := in.options
	if o.dialect == dialectHeat {
		if in.template, err = readParams(in, o.definitions, parameter.ReadTemplate); err != nil {
			return err
		}
		if o.oldDefinitions != "" {
			in.oldTemplate, err = readParams(in, o.oldDefinitions, parameter.ReadTemplate)
		}
	} else {
		if in.definitions, err = readParams(in, o.definitions, parameter.ReadDefinitions); err != nil {
			return err
		}
		if o.oldDefinitions != "" {
			in.oldDefinitions, err = readParams(in, o.oldDefinitions, parameter.ReadDefinitions)
		}
	}
	if err != nil {
		return err
	}
	if o.current != "" {
		if in.current, err = readParams(in, o.current, parameter.ReadValues); err != nil {
			return err
		}
	}
	in.requested = parameter.Values{}
	if o.values != "" {
		if in.requested, err = readParams(in, o.values, parameter.ReadValues); err != nil {
			return err
		}
	}
	if err := in.readSet(); err != nil {
		return err
	}
	if o.task != "" {
		task, err := readParams(in, o.task, parameter.ReadTask)
		if err != nil {
			return err
		}
		in.tasks = []parameter.Task{task}
	}
	if o.oldTask != "" {
		task, err := readParams(in, o.oldTask, parameter.ReadTask)
		if err != nil {
			return err
		}
		in.oldTask = &task
	}
	return nil
}

// readSet lays the --set values over the requested ones.
func (in *paramsInput) readSet() error {
	seen := map[string]bool{}
	for _, set := range in.options.set {
		name, value, ok := strings.Cut(set, "=")
		if !ok || name == "" {
			return fmt.Errorf("--set %s: it is NAME=VALUE", set)
		}
		if seen[name] {
			return fmt.Errorf("--set has %s twice", name)
		}
		seen[name] = true
		in.requested[name] = parameter.Text(value)
	}
	return nil
}

// readParams reads one file, "-" for the standard input.
func readParams[T any](in *paramsInput, file string, parse func([]byte) (T, error)) (T, error) {
	var none T
	var data []byte
	var err error
	if file == "-" {
		if in.stdin == nil {
			return none, errors.New("the standard input is named twice")
		}
		data, err = io.ReadAll(in.stdin)
		in.stdin, file = nil, "standard input"
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

func runParamsValidate(in *paramsInput) *paramsReport {
	report := &paramsReport{title: "validate"}
	if in.template != nil {
		report.refuse(in.template.Validate())
	} else {
		report.refuse(in.definitions.Validate(in.tasks...))
	}
	return report
}

func runParamsList(in *paramsInput) *paramsReport {
	report := &paramsReport{Allowed: true, title: "list"}
	if in.template != nil {
		report.Rows = in.template.Rows()
	} else {
		report.Rows = in.definitions.Rows()
	}
	return report
}

// runParamsPlan evaluates an install, an update or an upgrade. Restart and toggle are an upgrade with old
// definitions, an update with current values, else an install.
func runParamsPlan(in *paramsInput) *paramsReport {
	verb := in.verb
	if verb == "restart" || verb == "toggle" {
		switch {
		case in.oldDefinitions != nil:
			verb = "upgrade"
		case in.options.current != "":
			verb = "update"
		default:
			verb = "install"
		}
	}
	var plan parameter.Plan
	switch {
	case in.template != nil && verb == "install":
		plan = in.template.Install(in.requested)
	case in.template != nil:
		plan = in.template.Update(in.oldTemplate, in.current, in.requested, parameter.Mode(in.options.mode), in.options.clear...)
	case verb == "install":
		plan = in.definitions.Install(in.requested, in.tasks...)
	case verb == "update":
		plan = in.definitions.Update(in.current, in.requested, in.tasks...)
	default:
		plan = in.definitions.Upgrade(in.oldDefinitions, in.current, in.requested, in.tasks...)
	}

	report := &paramsReport{title: verb, plan: &plan}
	report.refuse(plan.Errors)
	if !report.Allowed {
		return report
	}
	report.Resulting = plan.Resulting
	if in.template == nil && (in.verb == "restart" || in.verb == "update" || in.verb == "upgrade") {
		restart := len(plan.Restarts) > 0
		report.Restart = &restart
	}
	for _, child := range plan.Children {
		report.Child = presence(child.Present)
	}
	report.before = in.childBefore(verb)
	return report
}

// childBefore returns the state of the child before the operation, "" where it is not known: an upgrade needs the old
// task for it.
func (in *paramsInput) childBefore(verb string) string {
	definitions, task := in.definitions, in.oldTask
	switch {
	case len(in.tasks) == 0 || verb == "install":
		return ""
	case verb == "upgrade":
		definitions = in.oldDefinitions
	case task == nil:
		task = &in.tasks[0]
	}
	if task == nil {
		return ""
	}
	child, err := definitions.Child(*task, in.current)
	if err != nil {
		return ""
	}
	return presence(child.Present)
}

func presence(present bool) string {
	if present {
		return "present"
	}
	return "absent"
}
