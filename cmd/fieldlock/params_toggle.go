package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/report/params"
)

func newParamsToggle(s streams) *cobra.Command {
	var in paramsInput
	command := paramsCommand(s, &in, "toggle", "Say whether a child instance exists after an operation",
		"--definitions params.yaml --current instance.yaml --task operator.yaml --set MONITORING=true",
		func() (*params.Report, error) {
			if err := in.kudoOnly(); err != nil {
				return nil, err
			}
			operation, err := in.admit(in.operation())
			if err != nil {
				return nil, err
			}
			switch {
			case len(operation.version.Tasks)+len(operation.oldTasks) > 0:
			case in.task != "":
				return nil, fmt.Errorf("%s: it has no KudoOperator task", in.task)
			default:
				return nil, errors.New("--task is missing: it names the KudoOperator task, or an operator.yaml with its tasks")
			}
			return operation.report(), nil
		})
	in.operationFlags(command)
	return command
}
