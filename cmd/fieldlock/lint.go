package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

func newLint(s streams) *cobra.Command {
	var old []string
	var strict bool
	cmd := &cobra.Command{
		Use:   "lint [--old CRD.yaml] CRD.yaml...",
		Short: "Name the mistakes in the locks of CRDs, and the ways around them",
		Long: `lint reads CRDs and prints errors and warnings about their locks.

An error makes a CRD unusable: a lock where it cannot work, or one that contradicts another. A warning is a hole: a way
in which a locked value can still change, such as removing its parent and adding it again, or writing through a version
that lacks the lock. It names the fields behind the hole, and what would close it. CEL transition rules are locks too:
lint names the ways around them, so that it audits CRDs that never heard of fieldlock.

With --old, the CRDs are updates of those: lint also names locks that the update drops, and what it may not gain.

In a directory all .yaml, .yml and .json files are read, also of folders below it. What is no CRD there is left out,
such as a patch for kustomize.

Exit status: 0 no error, 1 errors (with --strict: warnings too), 2 the input cannot be used.`,
		Example: `  # Are the locks right, and what gets around them?
  fieldlock lint crd.yaml

  # What gets around the CEL rules of the CRDs in a cluster?
  kubectl get crds -o yaml | fieldlock lint -

  # May this update of the CRDs be released?
  git worktree add /tmp/v1 v1.0.0
  fieldlock lint --old /tmp/v1/config/crd config/crd

  # In CI, as code scanning alerts
  fieldlock lint --strict -o sarif config/crd > fieldlock.sarif`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("lint needs CRDs: files, directories or -; see fieldlock lint --help")
			}
			return runLint(s, cmd.Flag("output").Value.String(), strict, old, args)
		},
	}
	addOutput(cmd, asText, asJSON, asGitHub, asSARIF)
	cmd.Flags().StringArrayVar(&old, "old", nil, "the CRDs before the update: a `FILE`, a directory or -; may be repeated")
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings fail too")
	return cmd
}

func runLint(s streams, format string, strict bool, old, args []string) error {
	in := &inputs{in: s.in}
	news, err := readCRDs(in, args)
	if err != nil {
		return err
	}
	olds, err := readCRDs(in, old)
	if err != nil {
		return err
	}
	updates, err := pairCRDs(olds, news)
	if err != nil {
		return err
	}
	var findings []crd.Finding
	for _, u := range updates {
		findings = append(findings, lintCRD(u)...)
	}
	var out bytes.Buffer
	switch format {
	case asJSON:
		err = writeJSON(&out, lintReport(findings))
	case asGitHub:
		writeGitHub(&out, lintAlerts(findings))
	case asSARIF:
		err = writeSARIF(&out, lintAlerts(findings))
	default:
		writeLint(&out, findings, len(updates), strict, paletteOf(s.out))
	}
	if err != nil {
		return err
	}
	if len(findings) == 0 && !slices.ContainsFunc(news, func(c *crd.CRD) bool { return hasLocks(c) || transitionRules(c) > 0 }) {
		fmt.Fprintf(s.err, "note: there is neither a lock nor a CEL transition rule; a CRD that was read from a cluster has lost its locks, but for those in the annotation %s\n", crd.AnnotationKey)
	}
	if _, err := s.out.Write(out.Bytes()); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f crd.Finding) bool { return strict || f.Severity == immutability.Error }) {
		return errRefused
	}
	return nil
}

// hasLocks reports whether some version of a CRD without errors has a lock.
func hasLocks(c *crd.CRD) bool {
	return slices.ContainsFunc(c.Versions, func(v *crd.Version) bool {
		validator, err := v.Compile()
		return err != nil || !validator.Empty()
	})
}

// lintCRD returns all findings of one CRD: errors first, then in the order of the file.
func lintCRD(u crdUpdate) []crd.Finding {
	findings := crd.LintUpdate(u.new, u.old)
	findings = append(findings, lintRules(u.new)...)
	slices.SortStableFunc(findings, func(a, b crd.Finding) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)), cmp.Compare(a.Line, b.Line), strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message),
		)
	})
	return findings
}

// crdUpdate is a CRD and what it was before, nil for a new one.
type crdUpdate struct{ new, old *crd.CRD }

// pairCRDs pairs the CRDs by group and kind, in the order of news. One that is alone on both sides is a pair: lint
// says when the two are not the same.
func pairCRDs(olds, news []*crd.CRD) ([]crdUpdate, error) {
	before := map[schema.GroupKind]*crd.CRD{}
	for _, o := range olds {
		gk := schema.GroupKind{Group: o.Group, Kind: o.Kind}
		if other := before[gk]; other != nil {
			return nil, fmt.Errorf("--old: %s is defined twice, in %s:%d and in %s:%d; give one of them", gk, other.File, other.Position().Line, o.File, o.Position().Line)
		}
		before[gk] = o
	}
	if len(olds) == 1 && len(news) == 1 {
		return []crdUpdate{{news[0], olds[0]}}, nil
	}
	updates := make([]crdUpdate, len(news))
	for i, n := range news {
		updates[i] = crdUpdate{n, before[schema.GroupKind{Group: n.Group, Kind: n.Kind}]}
	}
	return updates, nil
}

// jsonFinding is one item of lint -o json.
type jsonFinding struct {
	File       string `json:"file"`
	Line       int    `json:"line,omitempty"`
	CRD        string `json:"crd"`
	Version    string `json:"version,omitempty"`
	Path       string `json:"path"`
	SchemaPath string `json:"schemaPath"`
	Severity   string `json:"severity"`
	Rule       string `json:"rule"`
	Message    string `json:"message"`
}

func lintReport(findings []crd.Finding) any {
	report := struct {
		Findings []jsonFinding `json:"findings"`
	}{[]jsonFinding{}}
	for _, f := range findings {
		report.Findings = append(report.Findings, jsonFinding{
			f.File, f.Line, f.CRD, f.Version, f.Path, f.SchemaPath, string(f.Severity), f.Rule, f.Message,
		})
	}
	return report
}

// lintAlerts makes alerts of findings, each at the line of its schema node.
func lintAlerts(findings []crd.Finding) []alert {
	alerts := make([]alert, len(findings))
	for i, f := range findings {
		subject := f.CRD
		if f.Version != "" {
			subject += ", version " + f.Version
		}
		field := subject
		if f.Path != "" {
			field += ": " + f.Path
		}
		alerts[i] = alert{
			rule: f.Rule, severity: f.Severity, title: f.Rule, message: field + ": " + f.Message, field: field, at: place{f.File, f.Line},
		}
	}
	return alerts
}

// writeLint prints the findings by CRD. What several versions have in common stands there once.
func writeLint(w io.Writer, findings []crd.Finding, crds int, strict bool, p palette) {
	type subject struct{ file, crd string }
	var last subject
	for i, f := range findings {
		if slices.ContainsFunc(findings[:i], func(g crd.Finding) bool { return sameFinding(f, g) }) {
			continue
		}
		if s := (subject{f.File, f.CRD}); s != last {
			fmt.Fprintf(w, "%s %s\n", p.bold(printable(f.CRD)), p.dim("("+printable(f.File)+")"))
			last = s
		}
		var places []string
		for _, g := range findings[i:] {
			switch {
			case !sameFinding(f, g):
			case g.Version == "":
				places = append(places, fmt.Sprintf("line %d", g.Line))
			default:
				places = append(places, fmt.Sprintf("line %d (%s)", g.Line, g.Version))
			}
		}
		severity := p.yellow("warning")
		if f.Severity == immutability.Error {
			severity = p.red("error")
		}
		fmt.Fprintf(w, "  %s  %s  %s\n      %s\n", p.bold(printable(cmp.Or(f.Path, "the whole object"))), severity+" "+f.Rule,
			p.dim(printable(strings.Join(places, ", "))), printable(f.Message))
	}
	if len(findings) > 0 {
		fmt.Fprintln(w)
	}
	errs := 0
	for _, f := range findings {
		if f.Severity == immutability.Error {
			errs++
		}
	}
	text := fmt.Sprintf("%s, %s in %s", count(errs, "error"), count(len(findings)-errs, "warning"), count(crds, "CRD"))
	if errs > 0 || strict && len(findings) > 0 {
		fmt.Fprintln(w, p.red("✗")+" "+text)
		return
	}
	fmt.Fprintln(w, p.green("✓")+" "+text)
}

// sameFinding reports whether two findings say the same of two versions of one CRD.
func sameFinding(a, b crd.Finding) bool {
	return a.File == b.File && a.CRD == b.CRD && a.Path == b.Path && a.Rule == b.Rule && a.Message == b.Message
}
