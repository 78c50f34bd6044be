package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/report"
)

func newLint(s streams) *cobra.Command {
	var old []string
	var strict bool
	var outputs *report.Outputs
	cmd := &cobra.Command{
		Use:   "lint [--old FILE] FILE...",
		Short: "Name the mistakes in the locks of CRDs, and the ways around them",
		Long: `lint reads CRDs and prints errors and warnings about their locks.

An error makes a CRD unusable: a lock where it cannot work, or one that contradicts another. A warning is a hole: a way
in which a locked value can still change, such as removing its parent and adding it again, or writing through a version
that lacks the lock. It names the fields behind the hole, and what would close it. CEL transition rules are locks too:
lint names the ways around them, so that it audits any CRD.

With --old, the CRDs are updates of those: lint also reports locks that the update drops, and changes that such an
update may not make.

In a directory all .yaml, .yml and .json files are read, also of folders below it. Documents that are not CRDs are
skipped, such as a patch for kustomize.

Exit status: 0 no error, 1 errors (with --strict: warnings too), 2 some input cannot be used (the rest is checked).`,
		Example: `  # Are the locks right, and what gets around them?
  fieldlock lint crd.yaml

  # What gets around the CEL rules of the CRDs in a cluster?
  kubectl get crds -o yaml | fieldlock lint -

  # May this update of the CRDs be released?
  git worktree add /tmp/v1 v1.0.0
  fieldlock lint --old /tmp/v1/config/crd config/crd

  # In CI, as code scanning alerts
  fieldlock lint --strict -o sarif=fieldlock.sarif config/crd`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("lint needs CRDs: files, directories or -; see fieldlock lint --help")
			}
			return runLint(s, outputs, strict, old, args)
		},
	}
	outputs = addOutputs(cmd, func(f report.Format) bool { return f.Lint != nil })
	cmd.Flags().StringArrayVar(&old, "old", nil, "the CRDs before the update: a `FILE`, a directory or -; may be repeated")
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings fail too")
	return cmd
}

func runLint(s streams, outputs *report.Outputs, strict bool, old, args []string) error {
	reader := &manifest.Reader{Stdin: s.in}
	news, errs, err := reader.CRDs(args...)
	if err != nil {
		return err
	}
	olds, oldErrs, err := reader.CRDs(old...)
	if err != nil {
		return err
	}
	errs = append(errs, oldErrs...)
	r, err := audit.CRDs(crdsOf(news), crdsOf(olds))
	if err != nil {
		return err
	}
	r.Strict = strict
	for _, err := range errs {
		r.Errors = append(r.Errors, err.Error())
	}
	if err := outputs.Write(s.out, func(f report.Format, w io.Writer) error { return f.Lint(w, r) }); err != nil {
		return err
	}
	if !r.Locked && len(r.Findings) == 0 && len(errs) == 0 {
		fmt.Fprintf(s.err, "warning: the CRDs have neither locks nor CEL transition rules; a CRD that was read from a cluster has only the locks in its annotation %s\n", crd.AnnotationKey)
	}
	switch {
	case len(errs) > 0:
		return joined(errs)
	case r.Refused():
		return errRefused
	}
	return nil
}

func crdsOf(list []manifest.CRD) []*crd.CRD {
	var crds []*crd.CRD
	for _, c := range list {
		crds = append(crds, c.CRD)
	}
	return crds
}
