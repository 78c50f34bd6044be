package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report/params"
)

// dialects returns the systems of parameters; the first is the default.
func dialects() []dialect { return []dialect{kudoDialect(), heatDialect()} }

func dialectNames() []string {
	var names []string
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

// findDialect returns the dialect of a name.
func findDialect(name string) (*dialect, error) {
	all := dialects()
	i := slices.IndexFunc(all, func(d dialect) bool { return d.name == name })
	if i < 0 {
		return nil, fmt.Errorf("--dialect is %q: it should be %s", name, strings.Join(dialectNames(), " or "))
	}
	return &all[i], nil
}

// evaluate runs a verb of the dialect.
func (d *dialect) evaluate(in *paramsInput) (*params.Report, error) {
	run, ok := d.verbs[in.verb]
	if !ok {
		var has []string
		for _, v := range paramsVerbs() {
			if d.verbs[v.name] != nil {
				has = append(has, v.name)
			}
		}
		return nil, fmt.Errorf("--dialect %s has no %s: it has %s", d.name, in.verb, strings.Join(has[:len(has)-1], ", ")+" and "+has[len(has)-1])
	}
	return run(in)
}

// checkFlags checks the flags that all verbs have and finds the dialect.
func (in *paramsInput) checkFlags() (err error) {
	in.system, err = findDialect(in.dialect)
	switch {
	case err != nil:
		return err
	case in.definitions == "":
		return errors.New("--definitions is missing: it names a KUDO params.yaml or a Heat template")
	}
	return nil
}

// newParamsCommand returns the command of a verb.
func newParamsCommand(s streams, verb paramsVerb) *cobra.Command {
	in := &paramsInput{verb: verb.name, in: s.in}
	command := &cobra.Command{
		Use:     verb.name + " --definitions FILE",
		Short:   verb.short,
		Example: "  fieldlock params " + verb.name + " " + verb.example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("params %s takes no arguments, but got %s; name files with flags, such as --definitions FILE", verb.name, strings.Join(args, ", "))
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if err := in.checkFlags(); err != nil {
				return err
			}
			report, err := in.system.evaluate(in)
			if err != nil {
				return err
			}
			if err := report.Print(s.out, in.output.value); err != nil {
				return err
			}
			if !report.Allowed {
				return errRefused
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&in.dialect, "dialect", dialectNames()[0], "the `SYSTEM` of the definitions: "+strings.Join(dialectNames(), " or "))
	in.output = addOutput(command, asText, asJSON)
	flags.StringVar(&in.definitions, "definitions", "", "`FILE` of the KUDO params.yaml or OperatorVersion, or of the Heat template (required)")
	completeWith(command, "dialect", dialectNames()...)
	verb.flags(in, command)
	return command
}
