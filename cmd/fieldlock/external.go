package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/internal/foreign"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// externalFlags choose the locks on schemas that somebody else owns.
type externalFlags struct{ locks []string }

func (o *externalFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.locks, "locks", nil,
		"a `FILE` of locks on schemas that somebody else owns, besides those in "+manifest.AcceptFile+"; may be repeated")
}

// external reads the external locks and aliases of the settings and of --locks. Those of both sides count; with t nil there is
// only one. What OLD has and cannot be read is a warning.
func (o *externalFlags) external(t *trees) (*foreign.Locks, []string, error) {
	all := &foreign.Locks{}
	var warnings []string
	if t != nil {
		w, err := addSides(all, t, manifest.AcceptFile, foreign.Parse)
		if err != nil {
			return nil, nil, err
		}
		warnings = w
	} else if path := settingsPath(); path != "" {
		if _, err := addFile(all, path, foreign.Parse); err != nil {
			return nil, nil, err
		}
	}
	for _, file := range o.locks {
		if t != nil {
			if path, err := t.repo.Path(file); err == nil && (t.new.Has(path) || t.old.Has(path)) {
				w, err := addSides(all, t, path, foreign.ParseOnly)
				if err != nil {
					return nil, nil, err
				}
				warnings = append(warnings, w...)
				continue
			}
		}
		if _, err := addFile(all, file, foreign.ParseOnly); err != nil {
			return nil, nil, fmt.Errorf("--locks: %w", err)
		}
	}
	return all, warnings, nil
}

// standing reads what external reads without t, for commands that are given some schemas: the settings may be about others.
func (o *externalFlags) standing() (*foreign.Locks, error) {
	all := &foreign.Locks{}
	if path := settingsPath(); path != "" {
		locks, err := addFile(all, path, foreign.Parse)
		if err != nil {
			return nil, err
		}
		locks.Stand(nil)
		all = locks
	}
	for _, file := range o.locks {
		if _, err := addFile(all, file, foreign.ParseOnly); err != nil {
			return nil, fmt.Errorf("--locks: %w", err)
		}
	}
	return all, nil
}

type parser = func(name string, data []byte) (*foreign.Locks, error)

// addFile adds the locks of a file, which it returns, to all.
func addFile(all *foreign.Locks, path string, parse parser) (*foreign.Locks, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	locks, err := parse(filepath.ToSlash(path), data)
	all.Add(locks)
	return locks, err
}

// addSides adds the locks that a file has on either side to all. The warnings are about OLD's.
func addSides(all *foreign.Locks, t *trees, path string, parse parser) (warnings []string, err error) {
	read := func(tree *git.Tree) (*foreign.Locks, error) {
		data, ok, err := tree.File(path)
		if err != nil || !ok {
			return &foreign.Locks{}, err
		}
		return parse(path, data)
	}
	newLocks, err := read(t.new)
	if err != nil {
		return nil, err
	}
	oldLocks, err := read(t.old)
	if err != nil {
		warnings, oldLocks = []string{fmt.Sprintf("the external locks of OLD do not count: %v", err)}, &foreign.Locks{}
	}
	newLocks.Stand(oldLocks)
	oldLocks.Stand(nil)
	all.Add(newLocks)
	all.Add(oldLocks)
	return warnings, nil
}

// settingsPath returns the settings file here or at the root of the repository, "" for none.
func settingsPath() string {
	if _, err := os.Stat(manifest.AcceptFile); err == nil {
		return manifest.AcceptFile
	}
	if repo, err := git.Open("."); err == nil {
		if path := filepath.Join(repo.Root, manifest.AcceptFile); exists(path) {
			return path
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
