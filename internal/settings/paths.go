package settings

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Paths are relative to the directory of the settings. They count in trees, whose roots may be above that directory, or below it.
// If all trees are elsewhere, paths are relative to the root of each. In a pattern, "**" stands for any number of directories,
// and the other characters mean what they mean to path.Match. A pattern that matches a directory matches everything below it.

// Excludes returns a function that reports whether exclude hides a file of a tree, whose root is one of roots: those of OLD and
// NEW, if both are directories. It returns nil if nothing is hidden.
func (s *Settings) Excludes(roots ...string) func(name string) bool {
	if len(s.exclude) == 0 {
		return nil
	}
	var patterns [][]string
	for _, pattern := range s.exclude {
		patterns = append(patterns, steps(pattern))
	}
	return func(name string) bool {
		return slices.ContainsFunc(roots, func(root string) bool {
			below, ok := relative(s.base(root, roots), filepath.Join(root, filepath.FromSlash(name)))
			return ok && slices.ContainsFunc(patterns, func(pattern []string) bool { return matches(pattern, steps(below)) })
		})
	}
}

// Charts returns, for the directories of charts in a tree, whose root is one of roots, the files of values that each chart is
// rendered with. A file outside of the tree has a name that no tree has.
func (s *Settings) Charts(roots ...string) map[string][]string {
	all := map[string][]string{}
	for _, dir := range slices.Sorted(maps.Keys(s.charts)) {
		for _, root := range roots {
			base := s.base(root, roots)
			chart, ok := relative(root, filepath.Join(base, filepath.FromSlash(dir)))
			if !ok {
				continue
			}
			all[chart] = []string{}
			for _, file := range s.charts[dir] {
				name, _ := relative(root, filepath.Join(base, filepath.FromSlash(file)))
				all[chart] = append(all[chart], name)
			}
		}
	}
	return all
}

// base returns the directory that paths are relative to in the tree at root.
func (s *Settings) base(root string, roots []string) string {
	for _, r := range roots {
		_, isBelow := relative(s.Dir, r)
		_, isAbove := relative(r, s.Dir)
		if isBelow || isAbove {
			return s.Dir
		}
	}
	return root
}

// relative returns name as seen from dir, with slashes. It reports whether the name is below dir.
func relative(dir, name string) (string, bool) {
	rel, err := filepath.Rel(filepath.Clean(dir), name)
	if err != nil {
		return name, false
	}
	return filepath.ToSlash(rel), filepath.IsLocal(rel)
}

// steps splits a path; the directory itself has none.
func steps(name string) []string {
	if name = path.Clean(name); name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

func checkPattern(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("the pattern is empty")
	case path.IsAbs(pattern) || steps(pattern) != nil && steps(pattern)[0] == "..":
		return fmt.Errorf("the pattern %q leads out of the directory of the settings", pattern)
	case strings.HasPrefix(pattern, "!"):
		return errors.New("a pattern cannot take back what another one hides")
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("the pattern %q is malformed", pattern)
	}
	return nil
}

// matches reports whether a pattern matches a path, or a directory that the path leads through. Where "**" stands for too few
// steps, only the last one is made longer, so the cost is at most the product of both lengths.
func matches(pattern, name []string) bool {
	p, n, stars, end := 0, 0, -1, 0 // the last "**" is at stars, and stands for the steps before end
	for p < len(pattern) {
		switch {
		case pattern[p] == "**":
			stars, end = p, n
			p++
		case n < len(name) && matchesStep(pattern[p], name[n]):
			p, n = p+1, n+1
		case stars >= 0 && end < len(name):
			end++
			p, n = stars+1, end
		default:
			return false
		}
	}
	return true
}

func matchesStep(pattern, step string) bool {
	ok, err := path.Match(pattern, step)
	return ok && err == nil
}
