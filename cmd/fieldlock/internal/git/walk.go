package git

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// maxFollowed bounds how many links are followed in all, and maxBehind how many files and directories behind links are
// looked at: links to directories with links could make more files than there are atoms.
const (
	maxFollowed = 10_000
	maxBehind   = 1_000_000
)

// walker collects the files of a tree that hold objects.
type walker struct {
	tree   *Tree
	hidden bool // also below directories whose name begins with a dot
	seen   map[string]bool
	found  []found

	followed int // links
	behind   int // files and directories behind links
}

// found is a file, and the entry that holds its contents: "" where there is an error.
type found struct {
	manifest.File
	entry string
}

// step is a place on the way of a walker: shown is the path that led here through links, which reports name, and above are
// the directories on that path. found is false for a path that was named.
type step struct {
	shown string
	found bool
	links bool // the path leads through a link
	above []string
}

// named adds what is at a path, and below it in the order of the paths.
func (w *walker) named(name string) {
	before := len(w.found)
	real, err := w.tree.resolve(name)
	w.resolved(real, err, step{shown: name})
	slices.SortStableFunc(w.found[before:], func(a, b found) int { return strings.Compare(a.Path, b.Path) })
}

// place adds what is at a path of the tree, on which there is no link.
func (w *walker) place(name string, s step) {
	e, isEntry := w.tree.entries[name]
	switch {
	case isEntry && e.kind == unchanged && !s.links:
	case isEntry && e.kind == submodule && !s.links:
		w.fail(s.shown, "it is a submodule at another commit, whose files are in another repository; check them there, or name the paths to check")
	case isEntry && e.kind >= submodule, !isEntry && w.tree.children[name] == nil:
		if !w.tree.alike(name, s.shown) {
			w.fail(s.shown, "it is a link into a submodule, whose files are in another repository; check them there, or name the paths to check")
		}
	case isEntry && (!s.found || manifest.HasObjects(s.shown)):
		w.add(name, s)
	case !isEntry && (!s.found || w.hidden || !strings.HasPrefix(path.Base(s.shown), ".")):
		w.dir(name, s)
	}
}

// dir adds what is below a directory, unless the path has led through it before.
func (w *walker) dir(name string, s step) {
	if slices.Contains(s.above, name) {
		return
	}
	above := append(slices.Clip(s.above), name)
	for _, child := range w.tree.children[name] {
		below := step{path.Join(s.shown, child), true, s.links, above}
		if s.links {
			w.behind++
		}
		switch {
		case w.behind > maxBehind:
			w.fail(below.shown, fmt.Sprintf("there are more than %d files behind links; name the paths to check", maxBehind))
			return
		case w.tree.entries[path.Join(name, child)].kind == link:
			w.link(below)
		default:
			w.place(path.Join(name, child), below)
		}
	}
}

// link follows a link inside of the tree.
func (w *walker) link(s step) {
	if w.followed++; w.followed > maxFollowed {
		w.fail(s.shown, fmt.Sprintf("it is one of more than %d links; name the paths to check", maxFollowed))
		return
	}
	name, err := w.tree.resolve(s.shown)
	s.links = true
	w.resolved(name, err, s)
}

// resolved adds what a path leads to. Where that is nothing, the path is a mistake if it has the name of a file of objects;
// a path that was named may be one of the other side of the comparison.
func (w *walker) resolved(name string, err error, s step) {
	var nowhere *nowhereError
	switch {
	case err == nil:
		w.place(name, s)
	case !errors.As(err, &nowhere):
		w.fail(s.shown, err.Error())
	case s.found && manifest.HasObjects(s.shown), !s.found && nowhere.links > 0:
		w.fail(s.shown, err.Error())
	}
}

// add adds a file once.
func (w *walker) add(entry string, s step) {
	w.once(found{manifest.File{Name: w.tree.name(s.shown), Path: s.shown, Found: s.found}, entry})
}

// fail adds a file that cannot be read.
func (w *walker) fail(shown, message string) {
	name := w.tree.name(shown)
	w.once(found{manifest.File{Name: name, Path: shown, Found: true, Err: fmt.Errorf("%s: %s", name, message)}, ""})
}

func (w *walker) once(f found) {
	if !w.seen[f.Path] {
		w.seen[f.Path] = true
		w.found = append(w.found, f)
	}
}
