package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// checkOptions are the flags of check.
type checkOptions struct {
	schemas            []string
	strict, noDefaults bool
}

func newCheck(s streams) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check --schema CRD.yaml... OLD NEW",
		Short: "Compare two sets of objects and name every locked field that changed",
		Long: `check compares the objects in OLD with those in NEW and prints every change that a lock of the CRDs forbids.

OLD and NEW are files, directories (all .yaml, .yml and .json files below them) or "-" for standard input; a file may
hold many objects. Objects are paired by kind, namespace and name. One that is only in NEW is created, one that is only
in OLD is deleted: both are allowed. An object without a namespace pairs with the one of its kind and name in any
namespace; one with generateName and no name pairs with none.

Before they are compared, both sides are treated as an API server would: unknown fields go, null goes where it is not
allowed, defaults come. --no-defaults compares them as they are written.

An object may have another version in OLD than in NEW. It is then compared as by a server without a conversion webhook,
with the locks of both versions.

Objects that no schema covers are skipped and counted; with --strict they are an error. CEL rules are not run: check
says where a CRD has transition rules, and fieldlock import cel makes locks of them.

Exit status: 0 no lock is broken, 1 at least one is, 2 the input cannot be used.`,
		Example: `  # Would this change be refused?
  fieldlock check --schema crd.yaml old.yaml new.yaml

  # All manifests of a branch against those of main, in CI, with annotations on the pull request
  git worktree add /tmp/main origin/main
  fieldlock check --schema config/crd -o github /tmp/main/deploy deploy

  # What is in the cluster against what is about to be applied
  kubectl get clusters.db.example.com -A -o yaml | fieldlock check --schema crd.yaml - deploy

  # A CRD whose locks are CEL rules
  fieldlock import cel crd.yaml | fieldlock check --schema - old.yaml new.yaml

  # One file against its last commit
  git show HEAD:orders.yaml | fieldlock check --schema crd.yaml - orders.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(o.schemas) == 0 {
				return errors.New("check needs --schema: the CRDs whose locks count, as files or directories; see fieldlock check --help")
			}
			if len(args) < 2 {
				return fmt.Errorf("check needs OLD and NEW, each a file, a directory or -; it has %s", enumerate(args, "neither"))
			}
			// --schema crds/*.yaml OLD NEW: the shell puts all but the first schema among the arguments.
			last := len(args) - 2
			o.schemas = append(o.schemas, args[:last]...)
			return runCheck(s, &o, cmd.Flag("output").Value.String(), args[last], args[last+1])
		},
	}
	addOutput(cmd, asText, asJSON, asGitHub, asSARIF)
	cmd.Flags().StringArrayVar(&o.schemas, "schema", nil, "CRDs: a `FILE`, a directory or -; repeat it, or list more before OLD")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "an object that no schema covers is an error")
	cmd.Flags().BoolVar(&o.noDefaults, "no-defaults", false, "neither prune nor default the objects, nor drop null from them")
	return cmd
}

// outcome is all that a check found.
type outcome struct {
	results                   []result // those with violations, in the order of NEW
	updated, created, deleted int
	skipped                   []skip // each object once
	notes                     []string
}

func (o *outcome) checked() int  { return o.updated + o.created + o.deleted }
func (o *outcome) allowed() bool { return len(o.results) == 0 }

func (o *outcome) violations() int {
	n := 0
	for _, r := range o.results {
		n += len(r.breaches) + r.more
	}
	return n
}

func runCheck(s streams, o *checkOptions, format, oldArg, newArg string) error {
	found, err := checkObjects(s, o, oldArg, newArg)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	switch format {
	case asJSON:
		err = writeJSON(&out, checkReport(found))
	case asGitHub:
		writeGitHub(&out, checkAlerts(found))
	case asSARIF:
		err = writeSARIF(&out, checkAlerts(found))
	default:
		writeCheck(&out, found, paletteOf(s.out))
	}
	if err != nil {
		return err
	}
	for _, note := range found.notes {
		fmt.Fprintf(s.err, "note: %s\n", printable(note))
	}
	if _, err := s.out.Write(out.Bytes()); err != nil {
		return err
	}
	if !found.allowed() {
		return errRefused
	}
	return nil
}

// checkObjects reads everything and checks every pair. The error is that of unusable input.
func checkObjects(s streams, o *checkOptions, oldArg, newArg string) (*outcome, error) {
	p := newProgress(s.err)
	defer p.end()
	p.begin("read", "file", 0)
	in := &inputs{in: s.in, progress: p}
	c := comparer{noDefaults: o.noDefaults}
	var catalog *crd.Catalog
	var texts [2][]text
	// Reading is most of the work, so the schemas and the two sides are read at the same time.
	if err := together(
		func() (err error) {
			crds, err := readCRDs(in, o.schemas)
			if err != nil {
				return err
			}
			if catalog, err = crd.NewCatalog(crds...); err != nil {
				return err
			}
			c.validators, err = compile(crds)
			return err
		},
		func() (err error) { texts[0], err = in.read(oldArg); return err },
		func() (err error) { texts[1], err = in.read(newArg); return err },
	); err != nil {
		return nil, err
	}
	var sides [2]*side
	var errs []error
	for i := range sides {
		var err error
		if sides[i], err = newSide(texts[i], catalog); err != nil {
			errs = append(errs, err)
		}
	}
	if err := joined(errs); err != nil {
		return nil, err
	}
	if sides[0].total+sides[1].total == 0 {
		return nil, fmt.Errorf("there is no object in %s and none in %s; there is nothing to check", oldArg, newArg)
	}
	found := &outcome{skipped: uncovered(sides[0].skipped, sides[1].skipped)}
	if o.strict && len(found.skipped) > 0 {
		return nil, strictly(found.skipped)
	}
	pairs, err := pairUp(sides[0].objects, sides[1].objects)
	if err != nil {
		return nil, err
	}
	p.begin("checked", "object", len(pairs))
	if err := c.compareAll(found, pairs, p); err != nil {
		return nil, err
	}
	found.remark(pairs, &c)
	return found, nil
}

// together runs tasks at the same time and returns their errors.
func together(tasks ...func() error) error {
	errs := make([]error, len(tasks))
	var group sync.WaitGroup
	for i, task := range tasks {
		group.Go(func() { errs[i] = task() })
	}
	group.Wait()
	return joined(slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
}

// compareAll checks the pairs into found.
func (c *comparer) compareAll(found *outcome, pairs []pair, p *progress) error {
	var errs []error
	for _, pair := range pairs {
		p.step()
		switch {
		case pair.old == nil:
			found.created++
		case pair.new == nil:
			found.deleted++
		default:
			found.updated++
			r, err := c.compare(pair)
			if err != nil {
				errs = append(errs, err)
			}
			if len(r.breaches)+r.more > 0 {
				found.results = append(found.results, r)
			}
		}
	}
	return joined(errs)
}

// remark adds what makes a clean result worth less than it looks.
func (o *outcome) remark(pairs []pair, c *comparer) {
	note := func(format string, args ...any) { o.notes = append(o.notes, fmt.Sprintf(format, args...)) }
	for _, r := range o.results {
		if r.more > 0 {
			note("%s %s has %s than are listed", r.new.kind, r.new.identity, count(r.more, "more violation"))
		}
	}
	if o.checked() == 0 && o.skippedKinds() == "CustomResourceDefinition" {
		note("nothing was checked: OLD and NEW hold CRDs; give these with --schema and compare their objects, or compare two CRDs with fieldlock lint --old OLD NEW")
		return
	}
	if o.checked() == 0 {
		note("nothing was checked: no schema covers any of the objects; give the CRDs of %s with --schema", o.skippedKinds())
		return
	}
	if o.updated == 0 {
		note("nothing was compared: no object is in both OLD and NEW (%d created, %d deleted)", o.created, o.deleted)
	}
	var unlocked, unread []string
	rules := map[*crd.Version]int{}
	for _, p := range pairs {
		if p.old == nil || p.new == nil {
			continue
		}
		v := p.new.version
		text := fmt.Sprintf("version %s of %s", v.Name, v.CRD().Name)
		if _, seen := rules[v]; !seen {
			rules[v] = rulesOf(v)
			for _, text := range misspelled(v) {
				note("%s", text)
			}
			if rules[v] > 0 {
				unread = append(unread, fmt.Sprintf("%s in %s", count(rules[v], "rule"), text))
			}
		}
		if rules[v] == 0 && c.validators[v].Empty() && c.validators[p.old.version].Empty() && !slices.Contains(unlocked, text) {
			unlocked = append(unlocked, text)
		}
	}
	if len(unread) > 0 {
		note("CEL transition rules are not checked: %s; fieldlock import cel makes locks of those that it can", strings.Join(unread, ", "))
	}
	if len(unlocked) > 0 {
		note("no lock stands in %s, so its objects may change freely; a CRD that was read from a cluster has lost its locks, but for those in the annotation %s",
			strings.Join(unlocked, " and in "), crd.AnnotationKey)
	}
}

// misspelled lists the keys in a schema that look like locks and are none: without lint, a lock with a typing error would
// pass for one that holds.
func misspelled(v *crd.Version) []string {
	var list []string
	for _, f := range immutability.Lint(v.Schema) {
		if f.Rule == rule.UnknownKey {
			list = append(list, fmt.Sprintf("%s:%d: %s: %s", v.CRD().File, v.Position(f.SchemaPath).Line, f.Path, f.Message))
		}
	}
	return list
}

// uncovered lists the skipped objects of both sides, each once, NEW after OLD.
func uncovered(olds, news []skip) []skip {
	seen := map[identity]bool{}
	var list []skip
	for _, s := range slices.Concat(olds, news) {
		if s.name != "" && seen[s.identity] {
			continue
		}
		seen[s.identity] = true
		list = append(list, s)
	}
	return list
}

// strictly is the error for skipped objects.
func strictly(skipped []skip) error {
	errs := make([]error, len(skipped))
	for i, s := range skipped {
		if s.kind == "" {
			errs[i] = mistake(s.document, "", "it is no Kubernetes object, as it has neither apiVersion nor kind; --strict wants a schema for every object")
			continue
		}
		errs[i] = mistake(s.document, "", "no schema covers kind %s of %s; give its CRD with --schema, or leave out --strict", s.kind, s.apiVersion)
	}
	return joined(errs)
}

// skippedKinds names the kinds that were skipped, sorted.
func (o *outcome) skippedKinds() string {
	var kinds []string
	for _, s := range o.skipped {
		kind := s.kind
		if kind == "" {
			kind = "files that are no Kubernetes objects"
		}
		kinds = append(kinds, printable(kind))
	}
	slices.Sort(kinds)
	return enumerate(slices.Compact(kinds), "none")
}

// enumerate lists names for a message, the first few of them; none is what it says for no name.
func enumerate(names []string, none string) string {
	const limit = 5
	switch {
	case len(names) == 0:
		return none
	case len(names) > limit:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
	}
	return strings.Join(names, ", ")
}
