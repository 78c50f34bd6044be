package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// filesBelow lists the YAML and JSON files of a directory tree, sorted, and what cannot be read in it. It follows links.
func filesBelow(dir string) []target {
	w := &walker{root: dir}
	w.dir(dir, nil)
	return w.sorted()
}

// hiddenBelow lists the files that filesBelow leaves out: those below directories whose name starts with a dot. The
// repository of git is not one of them.
func hiddenBelow(dir string) []target {
	w := &walker{root: dir, hidden: true}
	w.dir(dir, nil)
	return slices.DeleteFunc(w.sorted(), func(t target) bool { return t.err != nil || !IsHidden(t.below) })
}

// maxFollowed bounds how many links are followed in all: links to directories with links could make more files than there
// are atoms.
const maxFollowed = 10_000

// walker collects the files of a directory tree that hold objects.
type walker struct {
	root    string
	hidden  bool // also below directories whose name begins with a dot
	targets []target

	followed int // links
}

// sorted returns the files in the order of their names.
func (w *walker) sorted() []target {
	slices.SortFunc(w.targets, func(a, b target) int { return strings.Compare(a.name, b.name) })
	return w.targets
}

func (w *walker) add(path string, err error) {
	below, relErr := filepath.Rel(w.root, path)
	if relErr != nil {
		below = path
	}
	w.targets = append(w.targets, target{path, filepath.ToSlash(below), true, unreadable(path, err)})
}

// dir adds each file below dir that HasObjects, and what cannot be read. above are the directories that lead to dir, as
// real paths: a link back to one of them is not followed.
func (w *walker) dir(dir string, above []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		w.add(dir, err)
		return
	}
	if slices.Contains(above, real) {
		return
	}
	above = append(above[:len(above):len(above)], real)
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.add(dir, err)
		return
	}
	for _, entry := range entries {
		w.entry(filepath.Join(dir, entry.Name()), entry.Type(), above)
	}
}

// entry adds a file, and what is in a directory. A link that leads nowhere, or in a circle, is a mistake if it has the name
// of a file of objects.
func (w *walker) entry(path string, mode fs.FileMode, above []string) {
	if mode&fs.ModeSymlink != 0 {
		if w.followed++; w.followed > maxFollowed {
			if w.followed == maxFollowed+1 {
				w.add(path, fmt.Errorf("it is one of more than %d links", maxFollowed))
			}
			return
		}
		info, err := os.Stat(path)
		if leadsNowhere := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR); leadsNowhere && !HasObjects(path) {
			return
		}
		if err != nil {
			w.add(path, err)
			return
		}
		mode = info.Mode()
	}
	name := filepath.Base(path)
	switch {
	case mode.IsDir() && (name == ".git" || strings.HasPrefix(name, ".") && !w.hidden):
	case mode.IsDir():
		w.dir(path, above)
	case HasObjects(path) && !mode.IsRegular():
		w.add(path, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")})
	case HasObjects(path):
		w.add(path, nil)
	}
}

// IsHidden reports whether a path leads through a directory whose name starts with a dot.
func IsHidden(path string) bool {
	steps := strings.Split(filepath.ToSlash(path), "/")
	return slices.ContainsFunc(steps[:len(steps)-1], func(step string) bool { return strings.HasPrefix(step, ".") && step != "." && step != ".." })
}

// AcceptFile is the name of the file with accepted findings. It is never read as a file of objects.
const AcceptFile = ".fieldlock.yaml"

// HasObjects reports whether a file in a directory is read: by its name, as kubectl does.
func HasObjects(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return filepath.Base(path) != AcceptFile
	}
	return false
}
