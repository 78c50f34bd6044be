package git

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
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
				return nil, fmt.Errorf("--git: the tree of %s has a file %q and others below it, which no checkout "+
					"can have", rev, dir)
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

// validPath reports whether a path of a tree stays inside of it and out of .git. A backslash separates names on Windows
// only.
func validPath(name string) bool {
	for _, step := range strings.Split(name, "/") {
		if step == "" || step == "." || step == ".." || strings.EqualFold(step, ".git") ||
			strings.Contains(step, "\x00") ||
			os.PathSeparator != '/' && strings.ContainsRune(step, os.PathSeparator) {
			return false
		}
	}
	return true
}

// Has reports whether the tree has a file or directory at a path below its root, which may lead through links. What
// only Files can tell, such as that a link leads out of the tree, counts as had.
func (t *Tree) Has(below string) bool {
	var nowhere *nowhereError
	_, err := t.resolve(below)
	return !errors.As(err, &nowhere) || nowhere.links > 0
}

// SkipUnchanged leaves out the submodules that two trees have at the same commit: nothing in them changes. Links into
// them count where only one tree has them.
func SkipUnchanged(a, b *Tree) {
	a.other, b.other = b, a
	for name, e := range a.entries {
		if e.kind == submodule && e.id != "" && b.entries[name] == e {
			a.entries[name], b.entries[name] = entry{kind: unchanged}, entry{kind: unchanged}
		}
	}
}

// HasSubmodules reports whether the tree has submodules, without those that SkipUnchanged has left out.
func (t *Tree) HasSubmodules() bool {
	for _, e := range t.entries {
		if e.kind == submodule {
			return true
		}
	}
	return false
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

// step is a place on the way of a walker: shown is the path that led here through links, which reports name, and above
// are the directories on that path. found is false for a path that was named.
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

// place adds the file or directory at a path of the tree; no step of the path is a link.
func (w *walker) place(name string, s step) {
	e, isEntry := w.tree.entries[name]
	switch {
	case isEntry && e.kind == unchanged && !s.links:
	case isEntry && e.kind == submodule && !s.links:
		w.elsewhere(s.shown, "it is a submodule at another commit")
	case isEntry && e.kind >= submodule, !isEntry && w.tree.children[name] == nil:
		if !w.tree.alike(name, s.shown) {
			w.elsewhere(s.shown, "it is a link into a submodule")
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
			w.fail(below.shown, fmt.Sprintf("there are more than %d files behind links; name the paths to check",
				maxBehind))
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

// resolved adds what a path leads to. Where that is nothing, the path is a mistake if it has the name of a file of
// objects; a path that was named may be one of the other side of the comparison.
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
	w.once(found{manifest.File{Name: name, Path: shown, Err: fmt.Errorf("%s: %s", name, message)}, ""})
}

// elsewhere adds what is in another repository.
func (w *walker) elsewhere(shown, what string) {
	name := w.tree.name(shown)
	err := fmt.Errorf("%s: %s, whose files are in another repository; check them there, or name the paths to check",
		name, what)
	w.once(found{manifest.File{Name: name, Path: shown, Found: true, Err: err, Elsewhere: true}, ""})
}

func (w *walker) once(f found) {
	if !w.seen[f.Path] {
		w.seen[f.Path] = true
		w.found = append(w.found, f)
	}
}

// Files reads the objects at paths below the root: files, and directories with all YAML and JSON files below them, but
// for directories whose name starts with a dot. Links inside of the tree are followed.
func (t *Tree) Files(paths []string) ([]manifest.File, error) {
	w := &walker{tree: t, seen: map[string]bool{}}
	for _, name := range paths {
		w.named(name)
	}
	return t.parse(w.found)
}

// Hidden reads what Files leaves out: the files below directories whose name starts with a dot.
func (t *Tree) Hidden(paths []string) ([]manifest.File, error) {
	w := &walker{tree: t, hidden: true, seen: map[string]bool{}}
	for _, name := range paths {
		before := len(w.found)
		w.named(name)
		w.found = append(w.found[:before], slices.DeleteFunc(w.found[before:], func(f found) bool {
			return f.Err != nil || !manifest.IsHidden(strings.TrimPrefix(f.Path, name+"/"))
		})...)
	}
	return t.parse(w.found)
}

// parse reads the contents of files.
func (t *Tree) parse(list []found) ([]manifest.File, error) {
	files := make([]manifest.File, len(list))
	var names []string
	for i, f := range list {
		if files[i] = f.File; f.Err == nil {
			names = append(names, f.entry)
		}
	}
	contents, errs, err := t.reader.read(names)
	if err != nil {
		return nil, err
	}
	next := 0
	data := make([][]byte, len(files))
	for i := range files {
		if files[i].Err != nil {
			continue
		}
		data[i] = contents[next]
		if errs[next] != nil {
			files[i].Err = fmt.Errorf("%s: cannot be read: %w", files[i].Name, errs[next])
		}
		next++
	}
	manifest.ParseAll(files, data, &t.repo.shared)
	return files, nil
}

// File returns the content of one file; ok is false where the tree has nothing at the path. What is there and is not a
// file is an error, also a link: who reviews changes of the path would not see those of the file that it leads to.
func (t *Tree) File(below string) (data []byte, ok bool, err error) {
	switch e, found := t.entries[below]; {
	case !found && t.children[below] == nil:
		return nil, false, nil
	case found && e.kind == link:
		return nil, true, fmt.Errorf("%s: it is a link; it has to be a file", t.name(below))
	case !found || e.kind > executable:
		return nil, true, fmt.Errorf("%s: it is not a file", t.name(below))
	}
	contents, errs, err := t.reader.read([]string{below})
	if err != nil || errs[0] != nil {
		return nil, true, fmt.Errorf("%s: cannot be read: %w", t.name(below), cmp.Or(err, errs[0]))
	}
	return contents[0], true, nil
}

// maxLinks bounds how many links lead to one file, and maxText how long the text of a link is, as Linux does.
const (
	maxLinks = 40
	maxText  = 4095
)

// nowhereError is the error for a path that leads to nothing in the tree.
type nowhereError struct {
	links  int // how many links the path has led through
	reason string
}

func (e *nowhereError) Error() string { return e.reason }

// resolve returns the path below the root that a path leads to, without links on it: the path of an entry or a
// directory. It goes step by step, as the system does: after a link to a directory, ".." is the parent of that
// directory. What follows the path of a submodule is left as it is.
//
// A path that leads nowhere, or in a circle, has a *nowhereError; any other error is about a link that leads out of the
// tree or cannot be read.
func (t *Tree) resolve(name string) (string, error) {
	at, links, text := ".", 0, name
	for steps := strings.Split(name, "/"); len(steps) > 0; {
		step := steps[0]
		steps = steps[1:]
		e, isEntry := t.entries[at]
		switch {
		case isEntry && e.kind >= submodule && step != "" && step != "." && step != "..":
			return strings.Join(append([]string{at, step}, steps...), "/"), nil
		case isEntry && e.kind >= submodule:
		case isEntry:
			return "", &nowhereError{links,
				fmt.Sprintf("it is a link to %s, but %s is a file", path.Join(at, step, path.Join(steps...)), at)}
		}
		if step == ".." && at == "." || strings.EqualFold(step, ".git") && links > 0 {
			return "", leadsOut(text)
		}
		next := path.Join(at, step)
		switch e, isEntry := t.entries[next]; {
		case isEntry && e.kind == link:
			if links++; links > maxLinks {
				return "", &nowhereError{links, "its links lead in a circle"}
			}
			var err error
			if text, err = t.readLink(next); err != nil {
				return "", err
			}
			if len(text) > maxText {
				return "", &nowhereError{links, fmt.Sprintf("it is a link with more than %d bytes", maxText)}
			}
			if path.IsAbs(text) || strings.Contains(text, "\x00") {
				return "", leadsOut(text)
			}
			steps = append(strings.Split(text, "/"), steps...)
		case isEntry || t.children[next] != nil:
			at = next
		default:
			return "", &nowhereError{links,
				fmt.Sprintf("it is a link to %s, which the tree does not have", path.Join(next, path.Join(steps...)))}
		}
	}
	return at, nil
}

func leadsOut(text string) error {
	return fmt.Errorf("it is a link that leads out of the repository, to %s", text)
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
