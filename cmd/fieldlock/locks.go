package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

func newLocks(s streams) *cobra.Command {
	var markdown, ofOperators bool
	var minor string
	var external externalFlags
	var outputs *report.Outputs
	cmd := &cobra.Command{
		Use:   "locks [KIND|FILE...]",
		Short: "List the locked fields, how each is locked, and how it can still change",
		Long: `locks prints the locked fields of built-in kinds and of CRDs as a tree: the path, the lock, and below it each hole
through which the value can still change. fieldlock lint explains how to close a hole. CEL transition rules of CRDs are
listed at the field that has them; fieldlock import cel replaces those with an equivalent lock.

KIND is the kind, plural or short name of a built-in kind, or of a kind whose operator is known. Upper and lower case do not
matter; add ".group" if several kinds have the name. A file of that name takes precedence over a kind, and a built-in kind
over others. Without arguments, all built-in kinds are listed, or with --operators the fields that operators refuse to change. FILE
holds CRDs, an OpenAPI document (v2 or v3) or a JSON Schema; FILE#NAME is one schema of a document.

The key locks of .fieldlock.yaml, and --locks, add locks to schemas that somebody else owns; the key aliases defines what the
keys of another dialect mean.

-o markdown prints a table for reference documentation instead.

Exit status: 0, or 2 if a kind is not known or a CRD cannot be used.`,
		Example: `  # Which fields of a StatefulSet are immutable?
  fieldlock locks statefulset

  # Which fields of this API are immutable?
  fieldlock locks crd.yaml

  # The table for the reference documentation
  fieldlock locks -o markdown config/crd > docs/locked-fields.md`,
		RunE: func(_ *cobra.Command, args []string) error {
			if markdown {
				if err := outputs.Set("markdown"); err != nil {
					return errors.New("--markdown and -o exclude each other")
				}
			}
			p := readProject(nil)
			if p.mistake != nil {
				return p.mistake
			}
			kinds, err := builtin.For(cmp.Or(minor, p.new.KubernetesVersion))
			if err != nil {
				return fmt.Errorf("--kubernetes-version: %w", err)
			}
			added, err := external.standing(p)
			if err != nil {
				return err
			}
			catalogue, err := operators.Load()
			if err != nil {
				return err
			}
			if ofOperators {
				if len(args) > 0 {
					return errors.New("--operators lists the whole catalogue; it takes no KIND or FILE")
				}
				return outputs.Write(s.out, func(f report.Format, w io.Writer) error {
					return f.Locks(w, audit.LocksOfOperators(catalogue.All()))
				})
			}
			return runLocks(s, outputs, kinds, catalogue, manifest.NewAmender(added), args)
		},
	}
	outputs = addOutputs(cmd, func(f report.Format) bool { return f.Locks != nil })
	external.flags(cmd)
	cmd.Flags().BoolVar(&markdown, "markdown", false, "short for -o markdown")
	cmd.Flags().BoolVar(&ofOperators, "operators", false, "list the fields that operators refuse to change")
	cmd.Flags().StringVar(&minor, "kubernetes-version", "",
		"the `MINOR` of the cluster for built-in kinds, such as 1.36; by default the newest known one")
	completeMinors(cmd)
	cmd.ValidArgsFunction = completeKinds
	return cmd
}

func runLocks(s streams, outputs *report.Outputs, kinds *builtin.Kinds, catalogue *operators.Catalogue,
	amender *manifest.Amender, args []string) error {
	locks := &audit.Locks{Fields: []audit.Field{}}
	var errs []error
	kinds = amender.Builtin(kinds)
	if len(args) == 0 {
		locks = audit.LocksOfKinds(locked(kinds.All()))
	}
	reader := &manifest.Reader{Stdin: s.in, Amender: amender}
	for _, arg := range args {
		found, ofOperators, ofCRDs := named(kinds, arg), namedOfOperators(catalogue, arg), namedOfCRDs(arg)
		if _, err := os.Stat(arg); err == nil || arg == "-" || looksLikeFile(arg) {
			found, ofOperators, ofCRDs = nil, nil, nil
		} else if len(found)+len(ofOperators)+len(ofCRDs) == 0 {
			return fmt.Errorf("%s is neither a file nor a known kind; fieldlock locks lists the built-in kinds, "+
				"fieldlock locks --operators those of operators", arg)
		}
		if len(found) > 0 {
			locks.Add(audit.LocksOfKinds(found))
			continue
		}
		if len(ofOperators)+len(ofCRDs) > 0 {
			locks.Add(audit.LocksOfOperators(ofOperators))
			locks.Add(audit.LocksOfFacts(ofCRDs))
			locks.DropEmpty()
			continue
		}
		crds, mistakes, err := reader.Kinds(arg)
		if err != nil {
			return err
		}
		ofFiles, more := audit.LocksOf(crds)
		locks.Add(ofFiles)
		errs = append(append(errs, mistakes...), more...)
	}
	errs = append(errs, amender.Errs()...)
	if len(locks.Groups) > 0 || len(errs) == 0 {
		if err := outputs.Write(s.out,
			func(f report.Format, w io.Writer) error { return f.Locks(w, locks) }); err != nil {
			return err
		}
	}
	for _, warning := range amender.Warnings() {
		fmt.Fprintf(s.err, "warning: %s\n", report.Printable(warning))
	}
	return joined(errs)
}

// named returns the built-in kinds with a name: a kind, plural or short name.
func named(kinds *builtin.Kinds, name string) []*builtin.Kind {
	return slices.DeleteFunc(slices.Clone(kinds.All()), func(k *builtin.Kind) bool {
		return !kindindex.Names{Group: k.Group, Kind: k.Kind, Plural: k.Plural, Short: k.ShortNames}.Has(name)
	})
}

// namedOfOperators is named for the kinds of operators.
func namedOfOperators(catalogue *operators.Catalogue, name string) []*operators.Kind {
	return slices.DeleteFunc(slices.Clone(catalogue.All()), func(k *operators.Kind) bool {
		return !kindindex.Names{Group: k.Group, Kind: k.Kind, Plural: k.Plural, Short: k.ShortNames}.Has(name)
	})
}

// namedOfCRDs is named for the kinds whose CRDs are known.
func namedOfCRDs(name string) []*crdfacts.Kind {
	return slices.DeleteFunc(slices.Clone(crdfacts.All()), func(k *crdfacts.Kind) bool { return !k.Has(name) })
}

// locked returns the kinds that have locks.
func locked(kinds []*builtin.Kind) []*builtin.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k *builtin.Kind) bool { return len(k.Rows()) == 0 })
}

// looksLikeFile reports whether an argument can only be meant as a file.
func looksLikeFile(arg string) bool {
	file, _ := manifest.CutName(arg)
	return strings.ContainsAny(arg, "/\\") || manifest.HasObjects(file)
}
