package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// newCheck returns the command. The text of its help makes the function long.
func newCheck(s streams) *cobra.Command {
	c := &checkCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "check [--schema FILE...] OLD NEW | --git REV [PATH...] | --live NEW",
		Short: "Compare two sets of objects, and find the changes that a cluster will refuse",
		Long: `check compares the objects in OLD with those in NEW. It prints every change that a cluster will refuse, how to make the
change anyway, and what that costs.

Input:
  OLD and NEW are files, directories or "-" for standard input. A file may hold many objects. In a directory, check renders
  the units: kustomizations, charts, Flux Kustomizations, HelmReleases and Argo CD Applications. It compares all other .yaml,
  .yml and .json files as they are written. fieldlock render prints the objects that check compares. --plain compares all files
  as they are written.

  Units are rendered in child processes, which read only the files of the directory. A unit that cannot be rendered is listed
  as not covered, with a warning if it changed. Nothing is downloaded without --fetch, which downloads the charts and pinned
  bases that changed units need.

  --git REV compares PATH (by default ".") at REV with the work tree. REV..REV2 compares two revisions. REV...REV2 compares
  REV2 with the merge base of both. Only units and files that changed are compared. Links that leave the repository are errors.

  --live compares NEW with the objects of the cluster. Dry runs on the server show the object that an apply would store, and
  everything else that the server refuses. If you may not send dry runs, check merges the objects itself, as the manager that
  has applied most of the object so far, or as --applier says. The CRDs and the version come from the cluster. Nothing is
  written.

  --render COMMAND runs a command, such as helm template, in the trees of OLD and NEW, and compares the objects that it prints.
  The command runs without a shell.

Rules:
  The rules for Kubernetes' own kinds are built in. The rules for custom resources are the locks and CEL rules of the CRDs in
  OLD, in NEW and in --schema, and a catalogue of the changes that operators refuse. For kinds of well-known projects whose CRDs
  are not there, the catalogue has the transition rules of one published version; the report names it. The
  ValidatingAdmissionPolicies among the manifests apply to all objects that they match. CEL rules run with the API server's own
  validator. The locks of OLD and NEW both count: a change cannot drop a lock and break it at once.

  --schema also takes OpenAPI documents (v2 and v3; FILE#NAME picks one schema), and JSON Schemas for documents that are not
  Kubernetes objects, such as the values of a chart. --locks, or the key locks of .fieldlock.yaml, adds locks to schemas that
  somebody else owns. Objects of unknown kinds are skipped and counted.

How objects are matched:
  Objects are matched by kind, namespace and name; if one side has the same object several times, also by file. An object that
  is only in NEW is created, and an object that is only in OLD is deleted; both are allowed. An object without a namespace is
  matched with the object of the same kind and name in any namespace. An object with generateName is not matched. If NEW copies
  an object into another file and changes it in a way that would be refused, the verdict is unknown: the copy may be for another
  cluster.

  Files are read as kubectl reads them: if a key appears twice, the last one counts, with a warning. Then both sides are
  prepared as an API server does: unknown fields are pruned, defaults are applied, and null is dropped where the schema does
  not allow it. --no-defaults turns this off. If an object moves to another version of its CRD, the locks of both versions
  count; with a conversion webhook the verdict is unknown.

Who applies:
  Deployment tools send different requests for the same manifests. A cluster may accept one request and refuse another: a
  Deployment that becomes Recreate needs a client-side apply. --applier names the request; without it, check assumes the request
  of the tool that deploys the unit. If the tool is not known either, and the answers differ, the verdict is unknown, and check
  prints both answers. If an object tells its tool not to update it, check skips the object with a note.

Deletions:
  Deletions are listed with their cost, and with a remark if the tool keeps the object. --refuse-deletions data,cascade refuses
  deletions that lose data or other objects.

What was checked:
  The first and the last line say whether all of the change was checked: ✗ if something is refused or cannot be read; ? if
  something that changed was not checked, with the number of each; ! if deletions lose data or other objects; otherwise ✓. Not
  checked are changed files and units that nothing can read, unknown verdicts, and changed objects of kinds whose rules are not
  known. With --strict, or strict: true in the settings, ? exits with 1.

Settings:
  The file .fieldlock.yaml, in the current directory or at the root of the repository, accepts violations: its key accept has
  entries {object, kind, path, rule, change, reason, until}; keys that are left out match everything. Accepted violations are
  printed and do not fail. The other keys are exclude, charts, kubernetes-version, applier, tool, tools, refuse-deletions, locks,
  aliases, mode and strict; flags take precedence over them. An entry with the path of a file or unit, and its change, accepts that
  the file or unit was not checked. With --git, a change cannot excuse itself: accept is read from NEW, refuse-deletions, locks,
  aliases and strict from both sides, and the other keys from OLD. With --advisory, or mode: advisory, nothing fails.

Exit status: 0 if no change is refused, 1 if some change is refused (with --strict: or not checked), 2 if some input cannot be used
(the rest is checked).`,
		Example: `  # Would this change be refused?
  fieldlock check old.yaml new.yaml

  # The same for custom resources
  fieldlock check --schema crd.yaml old.yaml new.yaml

  # A pull request in CI: annotations, and a summary of the job
  fieldlock check --git origin/main... -o github -o markdown=$GITHUB_STEP_SUMMARY deploy

  # A chart with other values, before and after
  fieldlock check --git v1.2.0 --render 'helm template charts/shop -f prod.yaml'

  # Would the cluster refuse the work tree?
  fieldlock check --live deploy

  # The values of two releases of a chart, by the locks in its values.schema.json
  fieldlock check --chart charts/shop old/values.yaml new/values.yaml

  # One file against its last commit
  git show HEAD:orders.yaml | fieldlock check --schema crd.yaml - orders.yaml`,
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args) },
	}
	c.from = []source{c.liveSource(), c.gitSource(), c.fileSource()}
	for _, from := range c.from {
		from.flags(cmd)
	}
	c.acceptFlags(cmd)
	c.unitFlags.flags(cmd)
	cmd.Flags().BoolVar(&c.plain, "plain", false, "compare files as they are written, without rendering units")
	c.externalFlags.flags(cmd)
	cmd.Flags().StringVar(&c.minor, "kubernetes-version", "",
		"the `MINOR` of the cluster, such as 1.36; by default the newest known one")
	completeMinors(cmd)
	cmd.Flags().BoolVar(&c.noBuiltin, "no-builtin", false, "do not check the kinds of Kubernetes itself")
	cmd.Flags().BoolVar(&c.noOperators, "no-operators", false,
		"leave out the catalogue of what operators and the CRDs of well-known projects refuse")
	c.outputs = addOutputs(cmd, func(f report.Format) bool { return f.Check != nil })
	cmd.Flags().BoolVar(&c.all, "all", false, "name all objects that one line refuses in text, not only the first few")
	cmd.Flags().StringArrayVar(&c.schemas, "schema", nil,
		"a `FILE`, a directory or - with CRDs, OpenAPI documents or JSON Schemas; may be repeated, and more files "+
			"may follow, before OLD")
	cmd.Flags().StringVar(&c.chart, "chart", "",
		"compare values of the Helm chart in `DIR`, by its values.schema.json and with the defaults of its values.yaml")
	cmd.Flags().BoolVar(&c.options.Strict, "strict", false,
		"exit with 1 if something that changed was not checked; strict: true in "+manifest.AcceptFile+" does the same")
	cmd.Flags().Var(&choice[tool.Method]{&c.options.Applier, tool.Methods()}, "applier",
		"who applies the objects: `HOW` is server-side, client-side, helm (a three-way merge) or replace (a PUT)")
	var methods []string
	for _, m := range tool.Methods() {
		methods = append(methods, string(m))
	}
	completeWith(cmd, "applier", methods...)
	cmd.Flags().Var(&choices[result.Cost]{&c.options.RefuseDeletions, result.Costs()}, "refuse-deletions",
		"the `COSTS` of deletions that are violations, such as data,cascade")
	completeWith(cmd, "refuse-deletions", result.Costs()...)
	cmd.Flags().BoolVar(&c.options.NoDefaults, "no-defaults", false,
		"compare the objects as they are written: neither pruned nor defaulted, and with null")
	return cmd
}

func (c *checkCommand) run(args []string) error {
	var from source
	for _, from = range c.from {
		if given, err := from.given(args); err != nil {
			return err
		} else if given {
			break
		}
	}
	if !c.noOperators {
		catalogue, err := operators.Load()
		if err != nil {
			return err
		}
		c.options.Operators = catalogue
	}
	p := newProgress(c.err)
	defer p.end()
	defer func() {
		for _, do := range c.after {
			do()
		}
	}()
	c.progress = p
	p.begin("read", "file", 0)
	r, err := c.checkOnce(from, args)
	if err != nil {
		return err
	}
	for _, c.base = range c.bases {
		again, err := c.checkOnce(from, args)
		if err != nil {
			return err
		}
		r.AgainstBase(c.base[:12], again)
	}
	if n := len(c.bases); n > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("there are %d merge bases: OLD is each of them in turn, and a refusal counts if all show it; "+
				"the other ones are %s", n+1, strings.Join(c.bases, ", ")))
	}
	p.end()
	return c.print(r)
}

// checkOnce reads the two sides of a source and compares them.
func (c *checkCommand) checkOnce(from source, args []string) (*compare.Report, error) {
	p := c.progress
	reader := &manifest.Reader{Stdin: c.in, Step: p.step}
	in, err := from.read(reader, args)
	if err != nil {
		return nil, err
	}
	in.Warnings = append(in.Warnings, c.project.remarks...)
	if c.project.mistake != nil {
		in.Errs = append(in.Errs, c.project.mistake)
	}
	c.options.Begin = func(pairs int) { p.begin("checked", "object", pairs) }
	c.options.Step, c.options.Now = p.step, time.Now()
	r, err := compare.Check(*in, c.options)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, enumerate(args, "the repository"))
	}
	r.ListAll = c.all
	return r, nil
}

// configure reads the settings, and sets what flags and settings decide. A flag beats the settings.
func (c *checkCommand) configure(t *trees) error {
	c.sources.configure(t)
	counts := c.project.old
	c.options.DefaultApplier, c.options.DefaultTool = counts.Applier, counts.Tool
	if c.options.RefuseDeletions == nil {
		c.options.RefuseDeletions = slices.Concat(c.project.new.RefuseDeletions, counts.RefuseDeletions)
	}
	c.options.Strict = c.options.Strict || c.project.new.Strict || counts.Strict
	if c.noBuiltin {
		return nil
	}
	kinds, err := builtin.For(cmp.Or(c.minor, counts.KubernetesVersion))
	if err != nil {
		return fmt.Errorf("--kubernetes-version: %w", err)
	}
	c.options.Builtin = kinds
	return nil
}

// print prints the report and returns the error for its exit status.
func (c *checkCommand) print(r *compare.Report) error {
	if c.writeAccept {
		return c.acceptAll(c.out, r.Acceptances, "violation")
	}
	if err := c.outputs.Write(c.out, func(f report.Format, w io.Writer) error { return f.Check(w, r) }); err != nil {
		return err
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(c.err, "warning: %s\n", report.Printable(warning))
	}
	var errs []error
	for _, e := range r.Errors {
		errs = append(errs, errors.New(e.Text))
	}
	switch {
	case len(errs) > 0:
		return joined(errs)
	case r.Failed():
		return c.refused(c.err)
	}
	return nil
}

// source is a way to give check its two sides. To add one takes a function that makes it, and an entry in
// checkCommand.from.
type source struct {
	flags func(cmd *cobra.Command)
	// given reports whether the command line asks for the source. It returns an error if it asks for what does not go
	// with it.
	given func(args []string) (bool, error)
	read  func(r *manifest.Reader, args []string) (*compare.Input, error)
}

// choice is a flag that takes one of some words.
type choice[T ~string] struct {
	value *T
	known []T
}

func (c *choice[T]) String() string { return string(*c.value) }
func (*choice[T]) Type() string     { return "string" }

func (c *choice[T]) Set(text string) error {
	if !slices.Contains(c.known, T(text)) {
		return fmt.Errorf("unknown word %q; want %s", text, oneOf(c.known))
	}
	*c.value = T(text)
	return nil
}

// choices is a flag that takes some words of a list, separated by commas; it can be repeated.
type choices[T ~string] struct {
	value *[]T
	known []T
}

func (*choices[T]) String() string { return "" }
func (*choices[T]) Type() string   { return "strings" }

func (c *choices[T]) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		var one T
		if err := (&choice[T]{&one, c.known}).Set(strings.TrimSpace(word)); err != nil {
			return err
		}
		*c.value = append(*c.value, one)
	}
	return nil
}

// oneOf writes words as "a, b or c".
func oneOf[T ~string](words []T) string {
	var b strings.Builder
	for i, word := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}

// checkCommand is one run of check.
type checkCommand struct {
	streams
	sources
	from        []source // the first that is given counts
	schemas     []string
	chart       string
	minor       string // of Kubernetes
	noBuiltin   bool
	noOperators bool
	all         bool // objects are named in text
	options     compare.Options
	outputs     *report.Outputs
	progress    *progress
	repo        *git.Repository // of --git
	after       []func()        // what closes the trees, whose files are still read for the report
}

// fileSource is OLD and NEW.
func (c *checkCommand) fileSource() source {
	given := func(args []string) (bool, error) {
		if len(args) < 2 {
			return false, fmt.Errorf("check compares two versions: give OLD and NEW (each a file, a directory or -), "+
				"--git REV [PATH...] or --live NEW; got %s", enumerate(args, "nothing"))
		}
		return true, nil
	}
	return source{c.renderFlags, given, c.readFiles}
}

// readFiles reads the schemas and both sides, at the same time, as reading is most of the work.
func (c *checkCommand) readFiles(r *manifest.Reader, args []string) (*compare.Input, error) {
	// --schema crds/*.yaml OLD NEW: the shell puts all but the first schema among the arguments.
	last := len(args) - 2
	schemas, oldArg, newArg := append(c.schemas, args[:last]...), args[last], args[last+1]
	if err := c.configure(nil); err != nil {
		return nil, err
	}
	in := &compare.Input{}
	errs := make([]error, 5)
	var group sync.WaitGroup
	switch {
	case len(c.renders) > 0:
		ctx, stop := untilInterrupted()
		defer stop()
		group.Go(func() { errs[0] = c.render(ctx, oldArg, newArg, in, c.err) })
	case bothDirectories(oldArg, newArg): // below
	default:
		group.Go(func() { in.Old, errs[0] = r.Read(oldArg); c.deployedBySettings(in.Old) })
		group.Go(func() { in.New, errs[1] = r.Read(newArg); c.deployedBySettings(in.New) })
		in.Hidden = func(names []string) []manifest.File { return r.Hidden(newArg, names) }
	}
	group.Go(func() { in.NewSchemas, in.Errs, errs[2] = r.Schemas(append(schemas, c.chartSchema()...)...) })
	group.Go(func() { in.Accepted, _, errs[3] = c.acceptances() })
	group.Go(func() { in.Locks, in.Warnings, errs[4] = c.external(c.project, nil) })
	group.Wait()
	in.OldSchemas = in.NewSchemas
	if len(c.renders) == 0 && bothDirectories(oldArg, newArg) {
		in.Hidden = func(names []string) []manifest.File { return r.Hidden(newArg, names) }
		errs[0] = c.readDirectories(oldArg, newArg, in)
	}
	if c.chart != "" && errors.Join(errs...) == nil {
		files, err := r.Read(filepath.Join(c.chart, "values.yaml"))
		if err != nil {
			return nil, err
		}
		in.NewDefaults, errs[0] = defaultsOf(files)
		in.OldDefaults = in.NewDefaults
	}
	return in, errors.Join(errs...)
}

// readDirectories reads what two directories deploy.
func (c *checkCommand) readDirectories(oldArg, newArg string, in *compare.Input) error {
	newSide, err := c.directorySide(newArg)
	if err != nil {
		return err
	}
	oldSide, err := c.directorySide(oldArg)
	if err != nil {
		return err
	}
	return c.compareUnits(newSide, oldSide, in, realPath(newArg), realPath(oldArg))
}

// chartSchema returns the schema of the chart, if there is one.
func (c *checkCommand) chartSchema() []string {
	if c.chart == "" {
		return nil
	}
	return []string{filepath.Join(c.chart, "values.schema.json")}
}

// gitSource is two revisions of a git repository.
func (c *checkCommand) gitSource() source {
	return source{c.gitFlags, func([]string) (bool, error) { return c.git != "", nil }, c.readGit}
}

// readGit reads the schemas and both sides from git.
func (c *checkCommand) readGit(r *manifest.Reader, args []string) (*compare.Input, error) {
	t, err := c.open()
	if err != nil {
		return nil, err
	}
	c.repo = t.repo
	if err := c.configure(t); err != nil {
		return nil, err
	}
	in := &compare.Input{KnownOld: c.accept == ""}
	if in.NewSchemas, in.OldSchemas, in.Errs, err = t.schemas(r, append(c.schemas, c.chartSchema()...)); err != nil {
		return nil, err
	}
	if in.Locks, in.Warnings, err = c.external(c.project, t); err != nil {
		return nil, err
	}
	if err := c.objects(t, args, in, c.err); err != nil {
		return nil, err
	}
	if c.chart != "" {
		if in.NewDefaults, in.OldDefaults, err = t.defaults(filepath.Join(c.chart, "values.yaml")); err != nil {
			return nil, err
		}
	}
	in.Accepted, in.OldAccepted, err = c.acceptances()
	return in, err
}
