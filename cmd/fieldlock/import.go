package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

func newImport(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "import cel",
		Short: "Replace CEL transition rules with equivalent locks",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to import: fieldlock import cel CRD.yaml")
		},
	}
	command.AddCommand(newImportCEL(s))
	return command
}

func newImportCEL(s streams) *cobra.Command {
	var output *format
	command := &cobra.Command{
		Use:   "cel CRD.yaml",
		Short: "Print the CRD with CEL rules replaced by equivalent locks",
		Long: `import cel reads the transition rules of a CRD, the rules with oldSelf. A rule in one of the forms in which people
and export cel write locks is replaced by these locks, which give the same verdict for every update from one valid object
to another. All other rules stay, and the report gives the reason.

A rule with optionalOldSelf stays: it also judges values that have no old value, such as new items of a list, and no lock
does that. The report also lists the messages that are dropped together with their rules: a lock has its own message.

The CRD goes to standard output, the report to standard error. With -o json, both are one JSON object on standard
output. Only fieldlock reads the locks; a stock API server drops them. fieldlock export cel turns them into rules again.`,
		Example: `  # self == oldSelf on a required field becomes x-kubernetes-immutable: true
  fieldlock import cel config/crd/bases/example.com_widgets.yaml > widgets.locked.yaml`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readCRDFile(s, args[0])
			if err != nil {
				return err
			}
			result, err := convert.FromCEL(file)
			if err != nil {
				return err
			}
			if output.value == asJSON {
				if result.Documents, err = file.Objects(); err != nil {
					return err
				}
				return report.WriteJSON(s.out, result)
			}
			if err := file.Write(s.out); err != nil {
				return err
			}
			report.Import(s.err, result)
			return nil
		},
	}
	output = addOutput(command, asText, asJSON)
	return command
}

// readCRDFile reads a file of CRDs that is printed again with changes.
func readCRDFile(s streams, path string) (*convert.File, error) {
	name, data, err := (&manifest.Reader{Stdin: s.in}).Bytes(path)
	if err != nil {
		return nil, err
	}
	return convert.Read(name, data)
}
