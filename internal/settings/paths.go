package settings

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/tool"
)

// Settings name files of the repository: exclude by patterns, charts and tools by directories. Each is relative to the
// directory of the settings, which can lie above or below the trees that are compared.

// ReadsAll reports whether exclude is an empty list: then expected output of tests is read, too.
func (s *Settings) ReadsAll() bool { return s.exclude != nil && len(s.exclude) == 0 }

// Excludes returns a function that reports whether exclude hides a file of a tree, whose root is one of roots: those of
// OLD and NEW, if both are directories. It returns nil if nothing is hidden.
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
			return ok && slices.ContainsFunc(patterns, func(pattern []string) bool {
				return matches(pattern, steps(below))
			})
		})
	}
}

// Charts returns, for the directories of charts in a tree, whose root is one of roots, how each chart is rendered. A
// file outside of the tree has a name that no tree has.
func (s *Settings) Charts(roots ...string) map[string][]Release {
	all := map[string][]Release{}
	for _, dir := range slices.Sorted(maps.Keys(s.charts)) {
		for _, root := range roots {
			base := s.base(root, roots)
			chart, ok := relative(root, filepath.Join(base, filepath.FromSlash(dir)))
			if !ok {
				continue
			}
			all[chart] = nil
			for _, r := range s.charts[dir] {
				inTree := Release{r.Name, r.Namespace, []string{}}
				for _, file := range r.Values {
					name, _ := relative(root, filepath.Join(base, filepath.FromSlash(file)))
					inTree.Values = append(inTree.Values, name)
				}
				all[chart] = append(all[chart], inTree)
			}
		}
	}
	return all
}

// Tools returns a function that returns who deploys a file of a tree, whose root is one of roots: the tool of the
// longest path in tools that holds it, otherwise tool.
func (s *Settings) Tools(roots ...string) func(name string) tool.Name {
	return func(name string) tool.Name {
		found, longest := s.Tool, -1
		for _, root := range roots {
			below, ok := relative(s.base(root, roots), filepath.Join(root, filepath.FromSlash(name)))
			for dir, t := range s.tools {
				if holds := dir == "." || below == dir ||
					strings.HasPrefix(below, dir+"/"); ok && holds && len(dir) > longest {
					found, longest = t, len(dir)
				}
			}
		}
		return found
	}
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

// matches reports whether a pattern matches a path, or a directory that the path leads through. Where "**" stands for
// too few steps, only the last one is made longer, so the cost is at most the product of both lengths.
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
