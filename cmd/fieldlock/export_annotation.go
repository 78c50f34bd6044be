package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/convert"
)

func newExportAnnotation(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "annotation CRD.yaml",
		Short: "Print the CRD with its locks in the annotation only, as a stock cluster accepts it",
		Long: `export annotation moves the locks of a CRD from its schemas into the annotation ` + crd.AnnotationKey + `. A stock API
server refuses or drops extension keys that it does not know, but it keeps annotations. fieldlock reads locks from both.

Only the changed lines differ from the input. The CRD goes to standard output.`,
		Example: `  fieldlock export annotation widgets.yaml | kubectl apply -f -`,
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readCRDFile(s, args[0])
			if err != nil {
				return err
			}
			moved, err := convert.ToAnnotation(file)
			if err != nil {
				return err
			}
			if err := file.Write(s.out); err != nil {
				return err
			}
			fmt.Fprintf(s.err, "%s moved into the annotation\n", report.Count(moved, "key"))
			return nil
		},
	}
}
