package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/internal/report/params"
)

// The modes of --mode.
const (
	modePut   = "put"
	modePatch = "patch"
)

func newParamsUpdate(s streams) *cobra.Command {
	var in paramsInput
	command := paramsCommand(s, &in, "update", "Evaluate new values, or the update of a stack",
		"--definitions params.yaml --current instance.yaml --set NODE_COUNT=5", func() (*params.Report, error) {
			if in.dialect == dialectHeat {
				return in.updateStack()
			}
			switch {
			case in.oldDefinitions != "":
				return nil, errors.New("--old-definitions makes it an upgrade: use fieldlock params upgrade")
			case in.mode == modePatch || len(in.clear) > 0:
				return nil, errors.New("--mode patch and --clear belong to Heat: KUDO keeps stored values, and a null in --values removes one")
			case in.mode != modePut:
				return nil, fmt.Errorf("--mode is %q: it should be put or patch", in.mode)
			}
			operation, err := in.admit("update")
			if err != nil {
				return nil, err
			}
			return operation.reportWithRestart(), nil
		})
	in.valueFlags(command)
	in.currentFlag(command)
	in.oldDefinitionsFlag(command, "Heat: the template before the update (required)")
	command.Flags().StringVar(&in.mode, "mode", modePut, "Heat: put falls back to defaults, patch keeps stored values")
	completeWith(command, "mode", modePut, modePatch)
	command.Flags().StringArrayVar(&in.clear, "clear", nil, "Heat: a stored value that a patch does not keep")
	in.taskFlag(command)
	in.oldTaskFlag(command)
	return command
}

// updateStack evaluates the update of a stack.
func (in *paramsInput) updateStack() (*params.Report, error) {
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
	current, err := in.currentValues()
	if err != nil {
		return nil, err
	}
	requested, err := in.requested(current)
	if err != nil {
		return nil, err
	}
	if in.mode == modePatch {
		return stackReport("update", template.Patch(requested, old, current, in.clear...)), nil
	}
	return stackReport("update", template.Update(requested, old, current)), nil
}

func stackReport(operation string, preview heat.Preview) *params.Report {
	report := params.Decision(operation, preview.Decision)
	report.Unchecked = preview.Unchecked
	return report
}
