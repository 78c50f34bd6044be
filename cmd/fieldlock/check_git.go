package main

import (
	"path/filepath"

	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

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
	in := &compare.Input{KnownOld: c.accept == ""}
	if err := c.objects(t, args, in, c.err); err != nil {
		return nil, err
	}
	if in.NewSchemas, in.OldSchemas, in.Errs, err = t.schemas(r, append(c.schemas, c.chartSchema()...)); err != nil {
		return nil, err
	}
	if c.chart != "" {
		if in.NewDefaults, in.OldDefaults, err = t.defaults(filepath.Join(c.chart, "values.yaml")); err != nil {
			return nil, err
		}
	}
	in.Accepted, in.OldAccepted, err = c.acceptances(t)
	return in, err
}
