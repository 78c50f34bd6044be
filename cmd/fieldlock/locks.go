package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/report"
)

func newLocks(s streams) *cobra.Command {
	var markdown bool
	var outputs *report.Outputs
	cmd := &cobra.Command{
		Use:   "locks FILE...",
		Short: "Show which fields of CRDs are locked, how, and how they can still change",
		Long: `locks prints the locked fields of each CRD as a tree: the path, the lock, and below it each hole through which the
value can still change. fieldlock lint explains how to close a hole. CEL transition rules are not listed: fieldlock
import cel turns them into locks.

-o markdown prints a table for reference documentation instead.

Exit status: 0, or 2 when a CRD cannot be used.`,
		Example: `  # What may users of this API not change?
  fieldlock locks crd.yaml

  # The table for the reference documentation
  fieldlock locks -o markdown config/crd > docs/locked-fields.md`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("locks needs CRDs: files, directories or -; see fieldlock locks --help")
			}
			if markdown {
				if err := outputs.Set("markdown"); err != nil {
					return errors.New("--markdown and -o exclude each other")
				}
			}
			return runLocks(s, outputs, args)
		},
	}
	outputs = addOutputs(cmd, func(f report.Format) bool { return f.Locks != nil })
	cmd.Flags().BoolVar(&markdown, "markdown", false, "short for -o markdown")
	return cmd
}

func runLocks(s streams, outputs *report.Outputs, args []string) error {
	crds, errs, err := (&manifest.Reader{Stdin: s.in}).CRDs(args...)
	if err != nil {
		return err
	}
	locks, mistakes := audit.LocksOf(crds)
	errs = append(errs, mistakes...)
	if len(locks.Groups) > 0 || len(errs) == 0 {
		if err := outputs.Write(s.out, func(f report.Format, w io.Writer) error { return f.Locks(w, locks) }); err != nil {
			return err
		}
	}
	if locks.Rules > 0 {
		fmt.Fprintf(s.err, "note: not listed: %s; fieldlock import cel turns those into locks that have an equivalent lock\n", report.Count(locks.Rules, "CEL transition rule"))
	}
	return joined(errs)
}
