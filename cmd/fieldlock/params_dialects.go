package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// dialect is a system of parameters, the value of --dialect.
type dialect struct {
	name       string
	readValues func([]byte) (parameter.Values, error)
	isComplete func([]byte) bool // whether --values names every value, so that what it lacks is removed
	verbs      map[string]func(*paramsInput) (*params.Report, error)
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
		return nil, fmt.Errorf("--dialect %s has no %s: it has %s",
			d.name, in.verb, strings.Join(has[:len(has)-1], ", ")+" and "+has[len(has)-1])
	}
	return run(in)
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
		return nil, errors.New("--mode patch and --clear belong to Heat: KUDO keeps stored values, and a null in " +
			"--values removes one")
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
		return nil, errors.New("--old-definitions is missing: Heat's update goes from one template to another, which " +
			"may be the same file")
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
