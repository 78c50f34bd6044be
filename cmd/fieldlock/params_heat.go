package main

import (
	"errors"
	"fmt"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
)

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
	preview := template.Validate()
	report := params.Definitions(in.verb, preview.Refusals)
	report.Unchecked = preview.Unchecked
	return report, nil
}

func listTemplate(in *paramsInput) (*params.Report, error) {
	template, err := in.template(in.definitions)
	if err != nil {
		return nil, err
	}
	report := params.Definitions(in.verb, template.Validate().Refusals)
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
