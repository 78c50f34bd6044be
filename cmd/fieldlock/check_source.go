package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// source is a way to give check its two sides. To add one takes a function that makes it, and an entry in checkCommand.from.
type source struct {
	flags func(cmd *cobra.Command)
	// given reports whether the command line asks for the source. It returns an error if it asks for what does not go
	// with it.
	given func(args []string) (bool, error)
	read  func(r *manifest.Reader, args []string) (*compare.Input, error)
}

// checkCommand is one run of check.
type checkCommand struct {
	streams
	sources
	from      []source // the first that is given counts
	schemas   []string
	chart     string
	minor     string // of Kubernetes
	noBuiltin bool
	options   compare.Options
	outputs   *report.Outputs
	progress  *progress
}

// fileSource is OLD and NEW.
func (c *checkCommand) fileSource() source {
	given := func(args []string) (bool, error) {
		if len(args) < 2 {
			return false, fmt.Errorf("check compares two versions: give OLD and NEW (each a file, a directory or -), --git REV [PATH...] or --live NEW; it was given %s", enumerate(args, "nothing"))
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
	in := &compare.Input{}
	errs := make([]error, 4)
	var group sync.WaitGroup
	if len(c.renders) > 0 {
		group.Go(func() { errs[0] = c.render(oldArg, newArg, in, c.err) })
	} else {
		group.Go(func() { in.Old, errs[0] = r.Read(oldArg) })
		group.Go(func() { in.New, errs[1] = r.Read(newArg) })
		in.Hidden = func(names []string) []manifest.File { return r.Hidden(newArg, names) }
	}
	group.Go(func() { in.NewSchemas, in.Errs, errs[2] = r.Schemas(append(schemas, c.chartSchema()...)...) })
	group.Go(func() { in.Accepted, _, errs[3] = c.acceptances(nil) })
	group.Wait()
	in.OldSchemas = in.NewSchemas
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

// chartSchema returns the schema of the chart, if there is one.
func (c *checkCommand) chartSchema() []string {
	if c.chart == "" {
		return nil
	}
	return []string{filepath.Join(c.chart, "values.schema.json")}
}
