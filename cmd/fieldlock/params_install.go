package main

import (
	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/report/params"
)

func newParamsInstall(s streams) *cobra.Command {
	var in paramsInput
	command := paramsCommand(s, &in, "install", "Evaluate an installation, or the creation of a stack",
		"--definitions params.yaml --values values.yaml", func() (*params.Report, error) {
			if in.dialect == dialectHeat {
				template, err := in.template(in.definitions)
				if err != nil {
					return nil, err
				}
				requested, err := in.requested(nil)
				if err != nil {
					return nil, err
				}
				return stackReport("install", template.Create(requested)), nil
			}
			operation, err := in.admit("install")
			if err != nil {
				return nil, err
			}
			return operation.report(), nil
		})
	in.valueFlags(command)
	in.taskFlag(command)
	return command
}
