package main

import (
	"errors"
	"fmt"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// kudoDialect is KUDO's immutable parameters, restarts and children (KEP-30, KEP-27, KEP-36).
func kudoDialect() dialect {
	return dialect{
		name:       "kudo",
		readValues: kudo.ReadValues,
		isComplete: kudo.IsInstance,
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
