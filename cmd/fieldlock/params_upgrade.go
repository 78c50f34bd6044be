package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/report/params"
)

func newParamsUpgrade(s streams) *cobra.Command {
	var in paramsInput
	command := paramsCommand(s, &in, "upgrade", "Evaluate an upgrade to other definitions",
		"--old-definitions v1/params.yaml --definitions v2/params.yaml --current instance.yaml --set DISK_SIZE=5Gi",
		func() (*params.Report, error) {
			if err := in.kudoOnly(); err != nil {
				return nil, err
			}
			if in.oldDefinitions == "" {
				return nil, errors.New("--old-definitions is missing: an upgrade goes from them to --definitions")
			}
			operation, err := in.admit("upgrade")
			if err != nil {
				return nil, err
			}
			return operation.reportWithRestart(), nil
		})
	in.operationFlags(command)
	return command
}
