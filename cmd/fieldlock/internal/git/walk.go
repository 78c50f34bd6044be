package git

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

const (
	// maxLinks bounds how many links lead to one file, and maxFollowed how many are followed in all: links to directories
	// with links could make more files than there are atoms.
	maxLinks    = 40
	maxFollowed = 10_000
)

// walker collects the files of a tree that hold objects.
type walker struct {
	tree    *Tree
	seen    map[string]bool
	files   []manifest.File
	targets []string // the entries that hold the contents of files

	followed int // links
}

// path adds what is at a path: shown is the path that led here through links, which reports name.
func (w *walker) path(name, shown string, found bool, links int) {
	e, isEntry := w.tree.entries[name]
	switch {
	case isEntry && e.kind == link:
		w.link(name, shown, found, links)
	case isEntry && e.kind == unchanged:
	case isEntry && e.kind == submodule:
		w.fail(shown, "it is a submodule at another commit, whose files are in another repository; check them there, or name the paths to check")
	case isEntry && (!found || manifest.HasObjects(shown)):
		w.add(name, shown, found)
	case w.tree.dirs[name]:
		w.dir(name, shown, links)
	case !isEntry && !found:
		// The other side of the comparison has it.
	}
}

// dir adds what is below a directory.
func (w *walker) dir(name, shown string, links int) {
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	for _, entry := range w.tree.below(prefix) {
		rest := strings.TrimPrefix(entry, prefix)
		if !hidden(path.Dir(rest)) {
			w.path(entry, path.Join(shown, rest), true, links)
		}
	}
}

// hidden reports whether a directory on a path begins with a dot.
func hidden(dir string) bool {
	for _, step := range strings.Split(dir, "/") {
		if strings.HasPrefix(step, ".") && step != "." {
			return true
		}
	}
	return false
}

// link follows a link inside of the tree.
func (w *walker) link(name, shown string, found bool, links int) {
	target, err := w.tree.target(name)
	w.followed++
	switch {
	case w.followed > maxFollowed:
		w.fail(shown, fmt.Sprintf("it is one of more than %d links; name the paths to check", maxFollowed))
	case err != nil:
		w.fail(shown, err.Error())
	case links == maxLinks:
		w.fail(shown, "its links lead in a circle")
	case w.tree.Has(target):
		if strings.HasPrefix(name+"/", target+"/") || target == "." {
			return // a link back up to a directory that holds it
		}
		w.path(target, shown, found, links+1)
	case !found || manifest.HasObjects(shown):
		w.fail(shown, "it is a link to "+target+", which the tree does not have")
	}
}

// add adds a file once.
func (w *walker) add(name, shown string, found bool) {
	if w.seen[shown] {
		return
	}
	w.seen[shown] = true
	w.files = append(w.files, manifest.File{Name: w.tree.name(shown), Path: shown, Found: found})
	w.targets = append(w.targets, name)
}

// fail adds a file that cannot be read.
func (w *walker) fail(shown, message string) {
	if w.seen[shown] {
		return
	}
	w.seen[shown] = true
	w.files = append(w.files, manifest.File{Name: w.tree.name(shown), Path: shown, Found: true, Err: fmt.Errorf("%s: %s", w.tree.name(shown), message)})
	w.targets = append(w.targets, "")
}

// below lists the entries whose path begins with prefix.
func (t *Tree) below(prefix string) []string {
	from, _ := slices.BinarySearch(t.sorted, prefix)
	to := from
	for to < len(t.sorted) && strings.HasPrefix(t.sorted[to], prefix) {
		to++
	}
	return t.sorted[from:to]
}

// target returns the path below the root that a link leads to.
func (t *Tree) target(name string) (string, error) {
	text, err := t.readLink(name)
	if err != nil {
		return "", err
	}
	target := path.Join(path.Dir(name), text)
	if path.IsAbs(text) || target == ".." || strings.HasPrefix(target, "../") || strings.Contains(text, "\x00") {
		return "", fmt.Errorf("it is a link that leads out of the repository, to %s", text)
	}
	return target, nil
}

// readLink returns the text of a link. The first call reads all links of the tree.
func (t *Tree) readLink(name string) (string, error) {
	if t.links == nil {
		t.links = map[string]string{}
		var names []string
		for _, other := range t.sorted {
			if t.entries[other].kind == link {
				names = append(names, other)
			}
		}
		contents, errs, err := t.reader.read(names)
		if err != nil {
			return "", err
		}
		for i, other := range names {
			if errs[i] == nil {
				t.links[other] = string(contents[i])
			}
		}
	}
	text, ok := t.links[name]
	if !ok {
		return "", errors.New("it is a link that cannot be read")
	}
	return text, nil
}
