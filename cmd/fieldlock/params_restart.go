package main

import (
	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/report/params"
)

func newParamsRestart(s streams) *cobra.Command {
	var in paramsInput
	command := paramsCommand(s, &in, "restart", "Say whether an operation restarts the pods",
		"--definitions params.yaml --current instance.yaml --set NODE_COUNT=5", func() (*params.Report, error) {
			if err := in.kudoOnly(); err != nil {
				return nil, err
			}
			operation, err := in.admit(in.operation())
			if err != nil {
				return nil, err
			}
			return operation.reportWithRestart(), nil
		})
	in.operationFlags(command)
	return command
}
