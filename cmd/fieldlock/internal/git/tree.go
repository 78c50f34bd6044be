package git

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Tree is the files of a commit or of the work tree.
type Tree struct {
	repo     *Repository
	rev      string // for messages, "" for the tree that reports name without a revision
	entries  map[string]entry
	children map[string][]string // names in each directory, sorted
	sorted   []string            // paths of entries
	links    map[string]string   // texts of links, nil until they are needed
	reader   blobReader
	other    *Tree // that it is compared with, nil where that is not known
}

// entry is one file of a tree.
type entry struct {
	kind entryKind
	id   string // of the blob, in the work tree ""; of a submodule the commit, where it is known
}

type entryKind int

const (
	regular entryKind = iota
	executable
	link
	submodule
	unchanged // a submodule that both sides have
)

// blobReader reads the contents of entries.
type blobReader interface {
	// read returns the contents of paths, which are entries, in their order. Of each file errs tells what is wrong.
	read(paths []string) (contents [][]byte, errs []error, err error)
}

// newTree makes a tree of entries. A path that a checkout could not have is an error: a hostile tree can name files
// outside of itself.
func newTree(repo *Repository, rev string, entries map[string]entry, reader blobReader) (*Tree, error) {
	t := &Tree{repo: repo, rev: rev, entries: entries, children: map[string][]string{".": {}}, reader: reader}
	for name := range entries {
		if !validPath(name) {
			return nil, fmt.Errorf("--git: the tree of %s has the path %q, which no checkout can have", rev, name)
		}
		t.sorted = append(t.sorted, name)
		for child, known := name, false; !known; child = path.Dir(child) {
			dir := path.Dir(child)
			if _, isEntry := entries[dir]; isEntry {
				return nil, fmt.Errorf("--git: the tree of %s has a file %q and others below it, which no checkout can have", rev, dir)
			}
			_, known = t.children[dir]
			t.children[dir] = append(t.children[dir], path.Base(child))
		}
	}
	slices.Sort(t.sorted)
	for _, names := range t.children {
		slices.Sort(names)
	}
	return t, nil
}

// validPath reports whether a path of a tree stays inside of it and out of .git.
func validPath(name string) bool {
	for _, step := range strings.Split(name, "/") {
		if step == "" || step == "." || step == ".." || strings.EqualFold(step, ".git") || strings.ContainsAny(step, "\x00\\") {
			return false
		}
	}
	return true
}

// Has reports whether the tree has a file or directory at a path below its root, which may lead through links. What only
// Files can tell, such as that a link leads out of the tree, counts as had.
func (t *Tree) Has(below string) bool {
	var nowhere *nowhereError
	_, err := t.resolve(below)
	return !errors.As(err, &nowhere) || nowhere.links > 0
}

// SkipUnchanged leaves out the submodules that two trees have at the same commit: nothing in them changes. Links into them
// count where only one tree has them.
func SkipUnchanged(a, b *Tree) {
	a.other, b.other = b, a
	for name, e := range a.entries {
		if e.kind == submodule && e.id != "" && b.entries[name] == e {
			a.entries[name], b.entries[name] = entry{kind: unchanged}, entry{kind: unchanged}
		}
	}
}

// alike reports whether a path leads to the same place in an unchanged submodule in both trees.
func (t *Tree) alike(place, shown string) bool {
	dir := place
	for _, isEntry := t.entries[dir]; !isEntry && dir != "."; _, isEntry = t.entries[dir] {
		dir = path.Dir(dir)
	}
	if t.entries[dir].kind != unchanged || t.other == nil {
		return false
	}
	other, err := t.other.resolve(shown)
	return err == nil && other == place
}

// name is how messages name a file of the tree.
func (t *Tree) name(below string) string {
	if t.rev == "" {
		return t.repo.Display(below)
	}
	return t.rev + ":" + below
}

// kindOf reads the mode of git's trees.
func kindOf(mode string) entryKind {
	switch mode {
	case "100755":
		return executable
	case "120000":
		return link
	case "160000":
		return submodule
	}
	return regular
}
