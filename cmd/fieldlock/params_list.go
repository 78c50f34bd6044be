package main

import (
	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/report/params"
)

func newParamsList(s streams) *cobra.Command {
	var in paramsInput
	return paramsCommand(s, &in, "list", "List the parameters: Name, Default, Required, Immutable",
		"--definitions params.yaml", func() (*params.Report, error) {
			if in.dialect == dialectHeat {
				template, err := in.template(in.definitions)
				if err != nil {
					return nil, err
				}
				report := params.Definitions("list", template.Validate().Refusals)
				report.Rows = template.List()
				return report, nil
			}
			version, err := in.version()
			if err != nil {
				return nil, err
			}
			report := params.Definitions("list", version.Validate())
			report.Rows = version.List()
			return report, nil
		})
}
