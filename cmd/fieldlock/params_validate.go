package main

import (
	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/report/params"
)

func newParamsValidate(s streams) *cobra.Command {
	var in paramsInput
	command := paramsCommand(s, &in, "validate", "Check the definitions themselves, and the tasks that refer to them",
		"--definitions params.yaml --task operator.yaml", func() (*params.Report, error) {
			if in.dialect == dialectHeat {
				template, err := in.template(in.definitions)
				if err != nil {
					return nil, err
				}
				preview := template.Validate()
				report := params.Definitions("validate", preview.Refusals)
				report.Unchecked = preview.Unchecked
				return report, nil
			}
			version, err := in.version()
			if err != nil {
				return nil, err
			}
			return params.Definitions("validate", version.Validate()), nil
		})
	in.taskFlag(command)
	return command
}
