package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newParams(s streams) *cobra.Command {
	params := &cobra.Command{
		Use:   "params validate|list|install|update|upgrade|restart|toggle|enhance",
		Short: "Evaluate the parameters of KUDO operators and Heat stacks",
		Long: `params reads parameter definitions and says what an install, an update or an upgrade would do: which values change,
what is refused and why, whether pods restart, and which child instances exist afterwards. It changes nothing.

The definitions are a KUDO params.yaml or OperatorVersion, or a Heat Orchestration Template with --dialect heat.
--current takes stored values (name: value) or a KUDO Instance; --values takes requested values, or the Instance that
is about to be applied. --task takes a KudoOperator task or an operator.yaml. All files are YAML or JSON; "-" is
standard input.`,
		Example: `  # the definitions themselves
  fieldlock params validate --definitions params.yaml --task operator.yaml

  # may this instance get these values?
  fieldlock params update --definitions params.yaml --current instance.yaml --set NODE_COUNT=5

  # may this stack be updated?
  fieldlock params update --dialect heat --old-definitions stack-v1.yaml --definitions stack-v2.yaml \
    --current stored.yaml --mode patch --set flavor=m1.large`,
		RunE: func(_ *cobra.Command, args []string) error {
			const verbs = "validate, list, install, update, upgrade, restart, toggle and enhance"
			if len(args) > 0 {
				return fmt.Errorf("params has no command %q: it has %s", args[0], verbs)
			}
			return errors.New("params needs a command: it has " + verbs + "; see fieldlock params --help")
		},
	}
	for _, verb := range paramsVerbs() {
		params.AddCommand(newParamsCommand(s, verb))
	}
	params.AddCommand(newParamsEnhance(s))
	return params
}
