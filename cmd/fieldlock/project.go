package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/settings"
)

// project is the settings of a project, as a run takes them.
type project struct {
	// new and old are those of the two sides; the same one where there is only one side. They are never nil.
	new, old *settings.Settings
	remarks  []string
	// mistake is why the settings of NEW cannot be read. They then have what adds refusals, as far as that can be read.
	mistake error
}

// readProject reads the settings of both sides of a comparison in git. With t nil there is one side: the settings in
// the current directory, otherwise those at the root of the repository. A mistake in OLD is a remark, since the change
// may mend it.
func readProject(t *trees) *project {
	if t == nil {
		s, err := diskSettings()
		return &project{new: s, old: s, mistake: err}
	}
	p := &project{}
	var oldErr error
	p.new, p.mistake = treeSettings(t.repo, t.new)
	p.old, oldErr = treeSettings(t.repo, t.old)
	if oldErr != nil {
		p.remarks = append(p.remarks,
			"the settings of OLD do not count, except for locks and refused deletions: "+oldErr.Error())
	}
	if p.mistake != nil {
		return p
	}
	if names := settings.Postponed(p.new, p.old); names != nil {
		p.remarks = append(p.remarks, fmt.Sprintf("%s: the change of %s takes effect after the merge",
			manifest.AcceptFile, strings.Join(names, ", ")))
	}
	return p
}

// treeSettings reads the settings of a tree: those in the current directory, otherwise those at its root.
func treeSettings(repo *git.Repository, t *git.Tree) (*settings.Settings, error) {
	for _, dir := range slices.Compact([]string{path.Clean(repo.Prefix), "."}) {
		name := path.Join(dir, manifest.AcceptFile)
		data, ok, err := t.File(name)
		switch {
		case err != nil:
			return &settings.Settings{}, err
		case ok:
			return parseSettings(name, data, dir)
		}
	}
	return &settings.Settings{}, nil
}

// diskSettings reads the settings in the current directory, otherwise those at the root of its repository.
func diskSettings() (*settings.Settings, error) {
	dirs := []string{"."}
	if root, ok := git.Root("."); ok {
		dirs = append(dirs, root)
	}
	for _, dir := range dirs {
		name := filepath.Join(dir, manifest.AcceptFile)
		data, err := os.ReadFile(name)
		switch {
		case err == nil:
			return parseSettings(filepath.ToSlash(name), data, realPath(dir))
		case !errors.Is(err, fs.ErrNotExist) || isLink(name):
			return &settings.Settings{}, err
		}
	}
	return &settings.Settings{}, nil
}

// units sets what the settings say about units of trees with these roots: "." for trees of git.
func (p *project) units(o *unit.Options, roots ...string) {
	o.Exclude, o.Charts = p.old.Excludes(roots...), p.old.Charts(roots...)
	o.ReadExpected, o.Tool = p.old.ReadsAll(), p.old.Tools(roots...)
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// realPath returns an absolute path without links, as far as there is one.
func realPath(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	return name
}

func parseSettings(name string, data []byte, dir string) (*settings.Settings, error) {
	s, err := settings.Parse(name, data)
	s.Dir = dir
	return s, err
}

// externalFlags choose the locks on schemas that somebody else owns.
type externalFlags struct{ locks []string }

func (o *externalFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.locks, "locks", nil,
		"a `FILE` of locks on schemas that somebody else owns, besides those in "+manifest.AcceptFile+
			"; may be repeated")
}

// external returns the external locks and aliases of both sides: those of the settings and of --locks. With t nil there
// is one side. What OLD has and cannot be read is a warning.
func (o *externalFlags) external(p *project, t *trees) (all *external.Locks, warnings []string, err error) {
	all = &external.Locks{}
	addSides := func(newLocks, oldLocks *external.Locks) {
		newLocks.Stand(oldLocks)
		oldLocks.Stand(nil)
		all.Add(newLocks)
		all.Add(oldLocks)
	}
	if t == nil {
		all.Add(p.new.Locks)
	} else {
		addSides(orEmpty(p.new.Locks), orEmpty(p.old.Locks))
	}
	for _, file := range o.locks {
		below, inTree := t.find(file)
		if !inTree {
			if err := addFile(all, file); err != nil {
				return nil, nil, err
			}
			continue
		}
		newLocks, err := treeLocks(t.new, below)
		if err != nil {
			return nil, nil, err
		}
		oldLocks, err := treeLocks(t.old, below)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the external locks of OLD do not count: %v", err))
		}
		addSides(newLocks, oldLocks)
	}
	return all, warnings, nil
}

// find returns the path of a file in the trees; with t nil it is in none.
func (t *trees) find(file string) (below string, ok bool) {
	if t == nil {
		return "", false
	}
	below, err := t.repo.Path(file)
	return below, err == nil && (t.new.Has(below) || t.old.Has(below))
}

// standing returns what external returns without t, for commands that are given some schemas: the settings may be about
// others.
func (o *externalFlags) standing(p *project) (*external.Locks, error) {
	all := orEmpty(p.new.Locks)
	all.Stand(nil)
	for _, file := range o.locks {
		if err := addFile(all, file); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func orEmpty(l *external.Locks) *external.Locks {
	if l == nil {
		return &external.Locks{}
	}
	return l
}

// addFile adds the locks of a file of --locks to all.
func addFile(all *external.Locks, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--locks: %w", err)
	}
	locks, err := external.ParseOnly(filepath.ToSlash(path), data)
	if err != nil {
		return fmt.Errorf("--locks: %w", err)
	}
	all.Add(locks)
	return nil
}

// treeLocks reads the locks of a file of --locks in a tree; none where the tree lacks the file or it has a mistake.
func treeLocks(t *git.Tree, below string) (*external.Locks, error) {
	data, ok, err := t.File(below)
	if err != nil || !ok {
		return &external.Locks{}, err
	}
	locks, err := external.ParseOnly(below, data)
	return orEmpty(locks), err
}
