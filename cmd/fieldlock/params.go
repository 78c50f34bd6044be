package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
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

func newParamsEnhance(s streams) *cobra.Command {
	var e kudo.Enhancement
	var templates, live string
	var output *format
	command := &cobra.Command{
		Use:   "enhance --templates FILE|DIR --instance NAME --operator NAME --operator-version V --plan P --phase P --step S --plan-uid UID",
		Short: "Print manifests with the labels and annotations that KUDO adds to them",
		Long: `enhance reads the rendered manifests of an operator and prints them with KUDO's marks (KEP-27): static labels on the
objects and their templates; plan, phase, step, operator version and the plan's UID as annotations of the objects; and
with --restart the UID in the templates too, which restarts their pods. Without --restart, the templates keep the UIDs
that they have in --live, so nothing restarts. -o json prints one List instead of YAML documents.`,
		Example: `  fieldlock params enhance --templates rendered/ --instance ring --operator cassandra --operator-version 1.0.0 \
    --plan deploy --phase nodes --step rack --plan-uid 4f9a --restart`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, required := range []struct{ flag, value string }{
				{"templates", templates}, {"instance", e.Instance}, {"operator", e.Operator}, {"operator-version", e.OperatorVersion},
				{"plan", e.Plan}, {"phase", e.Phase}, {"step", e.Step}, {"plan-uid", e.PlanUID},
			} {
				if required.value == "" {
					return fmt.Errorf("--%s is missing: enhance needs it for its marks; see fieldlock params enhance --help", required.flag)
				}
			}
			objects, err := enhance(&manifest.Reader{Stdin: s.in}, e, templates, live)
			if err != nil {
				return err
			}
			return printManifests(s.out, output.value, objects)
		},
	}
	flags := command.Flags()
	flags.StringVar(&templates, "templates", "", "`FILE` or directory of rendered manifests (required)")
	flags.StringVar(&e.Instance, "instance", "", "`NAME` of the instance (required)")
	flags.StringVar(&e.Operator, "operator", "", "`NAME` of the operator (required)")
	flags.StringVar(&e.OperatorVersion, "operator-version", "", "`VERSION` of the operator (required)")
	flags.StringVar(&e.Plan, "plan", "", "`NAME` of the plan (required)")
	flags.StringVar(&e.Phase, "phase", "", "`NAME` of the phase (required)")
	flags.StringVar(&e.Step, "step", "", "`NAME` of the step (required)")
	flags.StringVar(&e.PlanUID, "plan-uid", "", "`UID` of this run of the plan (required)")
	flags.BoolVar(&e.Restart, "restart", false, "restart the pods; fieldlock params restart says whether that is needed")
	flags.StringVar(&live, "live", "", "`FILE` or directory of the objects as they are in the cluster")
	output = addOutput(command, asText, asJSON)
	return command
}

// enhance reads the manifests and the live objects, and marks the manifests.
func enhance(r *manifest.Reader, e kudo.Enhancement, templates, live string) ([]map[string]any, error) {
	rendered, err := readManifests(r, templates)
	if err != nil {
		return nil, err
	}
	var current []map[string]any
	if live != "" {
		documents, err := readManifests(r, live)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			current = append(current, document.Object)
		}
	}
	objects := make([]map[string]any, 0, len(rendered))
	for _, document := range rendered {
		before, err := liveOf(document.Object, current)
		if err != nil {
			return nil, document.Errorf([]any{"metadata"}, "%v", err)
		}
		marked, err := e.Apply(document.Object, before)
		if err != nil {
			return nil, document.Errorf(nil, "%v", err)
		}
		objects = append(objects, marked)
	}
	return objects, nil
}

// liveOf returns the live object that a rendered object belongs to, or nil if the cluster has no such object. Both have
// the same group, kind, namespace and name; a rendered object without a namespace has any, since KUDO fills in the
// Instance's. It returns an error if several live objects match.
func liveOf(rendered map[string]any, live []map[string]any) (map[string]any, error) {
	r := unstructured.Unstructured{Object: rendered}
	var found map[string]any
	for _, candidate := range live {
		c := unstructured.Unstructured{Object: candidate}
		if r.GroupVersionKind().GroupKind() != c.GroupVersionKind().GroupKind() || r.GetName() != c.GetName() ||
			r.GetNamespace() != "" && r.GetNamespace() != c.GetNamespace() {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("several live objects have the kind %v and the name %q: give the manifest a namespace", rendered["kind"], r.GetName())
		}
		found = candidate
	}
	return found, nil
}

// readManifests returns the objects of a file or a directory. It returns no objects when some cannot be read.
func readManifests(r *manifest.Reader, path string) ([]*yamldoc.Document, error) {
	files, err := r.Read(path)
	if err != nil {
		return nil, err
	}
	var documents []*yamldoc.Document
	var errs []error
	for _, file := range files {
		errs = append(errs, file.Err)
		for _, r := range file.Repeated {
			errs = append(errs, r.Err())
		}
		for _, document := range file.Documents {
			apiVersion, _ := document.Object["apiVersion"].(string)
			kind, _ := document.Object["kind"].(string)
			if apiVersion == "" || kind == "" {
				errs = append(errs, document.Errorf(nil, "the document has no apiVersion and kind: it should be a Kubernetes object"))
			}
			documents = append(documents, document)
		}
	}
	return documents, errors.Join(errs...)
}

func printManifests(out io.Writer, format string, objects []map[string]any) error {
	if format == asJSON {
		return report.WriteJSON(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}
