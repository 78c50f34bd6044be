package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// newLint returns the command. The text of its help makes the function long.
func newLint(s streams) *cobra.Command {
	c := &lintCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "lint [--old FILE|--git REV] [--explain] [--fix] FILE...",
		Short: "Find mistakes in the locks of CRDs, and ways around locks and CEL rules",
		Long: `lint reads CRDs and prints errors and warnings about their locks. CEL transition rules count as locks, so lint audits any CRD.

An error is a lock that cannot work, because it is in the wrong place or contradicts another lock; fieldlock does not use
such a CRD. A warning is a hole: a way in which a locked value can still change, such as removing its parent and adding it
again. A warning names the fields that can change, and the remedy. lint looks for updates in which a field, a parent, a key or
a list item is removed and added again, for writes through other versions, for unknown fields that CEL does not compare, and
for two accepted updates that together make a change that the rule refuses. It does not look for longer sequences of updates,
or for changes by controllers.

With --explain, lint proves each hole with objects to be written one after the other: each object is valid, each step is
accepted, and the step from the first object to the last is refused. The API server's own validators decide this. lint
also prints the YAML that closes the hole, if it is known. A possible hole for which no objects were found is a note, with
and without --explain; notes never fail. The work for one CRD is limited: if lint reaches the limit, a note names the locks
and rules that it did not look at.

With --fix, lint adds CEL rules to the files: rules on a parent, and rules that another served version has. They close
holes, and no existing object becomes invalid. lint prints the updates that will be refused from now on, and changes
nothing else in the files. It leaves out rules that the API server would refuse for their cost, and rules that would
refuse an update that may be intended: a change from one member of a union, or version of the API behind it, to another,
or away from a deprecated field; the removal of an object that always has a locked field, or requires another one,
beside fields that may change; the removal of a value that a service or a controller fills in, or that counts at the
creation only, by a client that replaces the object; an update through a version that is newer than those with the rule,
and may have dropped it. The holes that remain are reported, with the rule and the reason. A removal that the author of
a rule seems to allow is a note without a fix: the rule asks whether the new object has the field, or accepts its empty
value; or its message, the description of the field or of a locked field in it or, with --go, its comment says that the
field may be removed; or a field beside it gives the value by reference, such as vpcRef beside vpcID. A rule that would
keep a value that may be zero is only described: Go clients that have the field with omitempty and without a pointer
leave out zero. If lint knows the Go type, from --go or from the Go source around a CRD that controller-gen wrote, the
rule counts zero as absent where clients leave it out or write it unasked. --fix adds no locks: the author decides what
is locked.
Removing the whole spec is reported only if the schema describes objects without one.

If a CRD is generated from Go types, the next run of controller-gen removes the added rules. With --go PACKAGES, in the form
that the go command takes, each finding names the field in the Go source, and --fix also writes the marker of each rule above
the field or type, so that controller-gen generates the same rule. If the Go field or type is also used in a place that does
not need the rule, the rule is left out. With and without --go, lint reads the Go source around a CRD that controller-gen wrote,
and leaves out a fix beside a rule that somebody else writes: the authors of a type from another module, a program that generates
Go code, or another project of whose CRD the file is a copy. It does the same where the Go source has no such rule, because the
CRD is older than its types or the rule is added to it later.

Rules with optionalOldSelf also judge new values. lint looks only at their effect on updates of existing values.

--old FILE compares the CRDs with those in FILE, and --git REV with the same files at that revision. CRDs are matched by
kind, and also by file if the old files have a kind several times. lint then also reports locks and CEL transition rules
that the update drops or weakens, and other changes that an update of a CRD may not make.

The key locks of .fieldlock.yaml, and --locks, add locks to schemas that somebody else owns; the key aliases defines what the
keys of another dialect mean. Mistakes in them are reported with their lines.

Accepted findings are listed and do not fail. The file .fieldlock.yaml, or the file of --accept, lists them as entries {crd,
path, rule, reason, until}; keys that are left out match everything.

FILE may be an OpenAPI document (v2 or v3) or a JSON Schema too. In a directory, all .yaml, .yml and .json files are read,
also those in its subdirectories. Documents that are not schemas, such as a patch for kustomize, are skipped.

Exit status: 0 no error, 1 errors (with --strict: warnings too), 2 some input cannot be used (the rest is checked).`,
		Example: `  # Are the locks right, and what gets around them?
  fieldlock lint crd.yaml

  # What gets around the CEL rules of the CRDs in a cluster?
  kubectl get crds -o yaml | fieldlock lint -

  # Show it with objects
  fieldlock lint --explain crd.yaml

  # Close the holes that can be closed without harm
  fieldlock lint --fix config/crd

  # The same in the Go types that controller-gen makes the CRDs from
  fieldlock lint --fix --go ./api/... config/crd

  # May this update of the CRDs be released?
  fieldlock lint --git v1.0.0 config/crd

  # In CI, as code scanning alerts
  fieldlock lint --strict -o sarif=fieldlock.sarif config/crd`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.ctx = cmd.Context()
			collect(150)
			if len(args) == 0 {
				return errors.New("lint needs CRDs: files, directories or -; see fieldlock lint --help")
			}
			return c.run(args)
		},
	}
	c.outputs = addOutputs(cmd, func(f report.Format) bool { return f.Lint != nil })
	cmd.Flags().StringArrayVar(&c.old, "old", nil,
		"the CRDs before the update: a `FILE`, a directory or -; may be repeated")
	cmd.Flags().BoolVar(&c.strict, "strict", false, "warnings fail too")
	cmd.Flags().BoolVar(&c.explain, "explain", false,
		"prove each hole with objects to write one after the other, and show the rule that refuses the direct change")
	cmd.Flags().BoolVar(&c.fixes, "fix", false,
		"write the CEL rules that close holes into the files, then lint again; no existing object becomes invalid")
	cmd.Flags().StringArrayVar(&c.packages, "go", nil,
		"the Go `PACKAGES` that the CRDs are made from, such as ./api/...; may be repeated")
	c.gitFlags(cmd)
	c.acceptFlags(cmd)
	c.externalFlags.flags(cmd)
	return cmd
}

// maxFixRounds bounds how often --fix lints and fixes again. Each round but the last adds a rule.
const maxFixRounds = 100

// lintCommand is one run of lint.
type lintCommand struct {
	streams
	sources
	old      []string
	strict   bool
	explain  bool
	fixes    bool
	packages []string // of Go types
	ctx      context.Context
	rounds   int      // of fixes so far
	fixed    []string // files that were fixed since news was read
	linted   linted
	amender  *manifest.Amender
	warnings []string // about external locks
	fixer    fixer
	outputs  *report.Outputs
}

// readGo loads the Go types. Where the go command has to compile what they import, it says that it waits for it.
func (c *lintCommand) readGo() (err error) {
	if len(c.packages) == 0 {
		return nil
	}
	if c.fixer.types == nil {
		c.fixer.types = &goTypes{}
	}
	p := newProgress(c.err)
	p.begin("reading the Go packages", "", 0)
	done := make(chan struct{})
	var saying sync.WaitGroup
	saying.Go(func() {
		select {
		case <-done:
		case <-time.After(goIsSlow):
			if p == nil {
				fmt.Fprintln(c.err, "still reading the Go packages: the go command compiles what they import, and "+
					"keeps it for the next time")
			}
		}
	})
	var problems []string
	c.fixer.types.source, err = loadGoTypes(c.ctx, c.packages, func(text string) { problems = append(problems, text) })
	close(done)
	saying.Wait()
	p.end()
	for _, text := range problems {
		c.fixer.warn(c.err, text)
	}
	return err
}

// goIsSlow is the time after which a reader wants to know what lint waits for.
const goIsSlow = 5 * time.Second

// linted is what the rounds of --fix have in common.
type linted struct {
	news, olds []*crd.CRD // of news only those that are to be audited: the others are nil, and known
	files      []string   // of news
	errs       []error
	known      audit.Known
}

func (c *lintCommand) run(args []string) error {
	var t *trees
	var err error
	if c.fixes && (c.git != "" || slices.Contains(args, "-")) {
		return errors.New("--fix writes files: give the files of CRDs, without --git and -")
	}
	if c.git != "" {
		if len(c.old) > 0 {
			return errors.New("--old and --git exclude each other: with --git the old CRDs come from the revision")
		}
		if t, err = c.open(); err != nil {
			return err
		}
	}
	c.configure(t)
	if c.rounds == 0 {
		if err := c.readGo(); err != nil {
			return err
		}
	}
	r, errs, err := c.findings(t, args)
	if err != nil {
		return err
	}
	newList, oldList, err := c.acceptances()
	if err != nil {
		return err
	}
	warnings := slices.Concat(c.project.remarks, c.warnings,
		r.Accept(newList, oldList, t != nil && c.accept == "", time.Now()))
	if c.writeAccept {
		return c.acceptAll(c.out, r.Acceptances, "finding")
	}
	if c.fixes && t == nil {
		if c.fixed, err = c.fixer.fix(c.err, r.Findings); err != nil {
			return err
		}
		if len(c.fixed) > 0 && c.rounds < maxFixRounds { // closing one hole can show another
			c.rounds++
			return c.run(args)
		}
		if err := c.writeGo(); err != nil {
			return err
		}
	}
	if c.fixer.types != nil {
		c.fixer.types.annotate(r.Findings)
	}
	if err := c.outputs.Write(c.out, func(f report.Format, w io.Writer) error { return f.Lint(w, r) }); err != nil {
		return err
	}
	if !r.Locked && len(r.Findings) == 0 && len(errs) == 0 {
		warnings = append(warnings, "the CRDs have neither locks nor CEL transition rules; a CRD that was read from "+
			"a cluster has only the locks in its annotation "+crd.AnnotationKey)
	}
	for _, warning := range warnings {
		fmt.Fprintf(c.err, "warning: %s\n", report.Printable(warning))
	}
	switch {
	case len(errs) > 0:
		return joined(errs)
	case r.Refused():
		return c.refused(c.err)
	}
	return nil
}

// writeGo writes the markers of the fixes into the Go source, and reads it again if it changed.
func (c *lintCommand) writeGo() error {
	if c.fixer.types == nil {
		return nil
	}
	changed, err := c.fixer.types.write(c.err)
	if err != nil || !changed {
		return err
	}
	return c.readGo()
}

// findings reads the CRDs and lints them. errs are inputs that could not be read.
func (c *lintCommand) findings(t *trees, args []string) (r *audit.Report, errs []error, err error) {
	if c.rounds == 0 {
		err = c.read(t, args)
		collectRarely()
	} else {
		err = c.readFixed()
	}
	if err != nil {
		return nil, nil, err
	}
	p := newProgress(c.err)
	defer p.end()
	o := audit.Options{
		Explain: c.explain,
		Known:   &c.linted.known,
		Begin:   func(total int) { p.begin("auditing", "CRD", total) },
		Step:    p.step,
		GoField: c.fixer.field,
	}
	if r, err = audit.CRDs(c.linted.news, c.linted.olds, o); err != nil {
		return nil, nil, err
	}
	r.Strict = c.strict
	for _, err := range c.linted.errs {
		r.Errors = append(r.Errors, err.Error())
	}
	return r, c.linted.errs, nil
}

// read reads the CRDs.
func (c *lintCommand) read(t *trees, args []string) (err error) {
	var added *external.Locks
	var warnings []string
	if t != nil {
		added, warnings, err = c.external(c.project, t)
	} else {
		added, err = c.standing(c.project)
	}
	if err != nil {
		return err
	}
	c.amender, c.warnings = manifest.NewAmender(added), warnings
	kinds, err := builtin.For("")
	if err != nil {
		return err
	}
	c.amender.Builtin(kinds) // their entries are not about the CRDs
	reader := &manifest.Reader{Stdin: c.in, Amender: c.amender}
	var news, olds []manifest.CRD
	var errs []error
	if t != nil {
		var newSchemas, oldSchemas manifest.Schemas
		if newSchemas, oldSchemas, errs, err = t.schemas(reader, args); err == nil {
			var newErrs, oldErrs []error
			news, newErrs = newSchemas.Amended(c.amender)
			olds, oldErrs = oldSchemas.Amended(c.amender)
			errs = slices.Concat(errs, newErrs, oldErrs)
		}
	} else {
		var oldErrs []error
		if news, errs, err = reader.Kinds(args...); err == nil {
			olds, oldErrs, err = reader.Kinds(c.old...)
		}
		errs = append(errs, oldErrs...)
	}
	c.linted.news, c.linted.olds, c.linted.errs = crdsOf(news), crdsOf(olds), append(errs, c.amender.Errs()...)
	for _, n := range news {
		c.linted.files = append(c.linted.files, n.File)
	}
	c.fixer.know(c.linted.news)
	if c.project.mistake != nil {
		c.linted.errs = append(c.linted.errs, c.project.mistake)
	}
	c.warnings = append(c.warnings, c.amender.Warnings()...)
	return err
}

// readFixed reads again the CRDs of the files that were fixed. All others are known.
func (c *lintCommand) readFixed() error {
	reader := &manifest.Reader{Stdin: c.in, Amender: c.amender}
	for _, file := range c.fixed {
		crds, _, err := reader.Kinds(file) // what cannot be read in it is known
		if err != nil {
			return err
		}
		for i, name := range c.linted.files {
			if name == file && len(crds) > 0 {
				c.linted.news[i], crds = crds[0].CRD, crds[1:]
			}
		}
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
