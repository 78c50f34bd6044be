package git

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What the developer has and what git has are read alike. A file that git holds unchanged is read as its blob in the
// index: the bytes on the disk may be another encoding of it, by eol or working-tree-encoding in .gitattributes. So is
// a file that a sparse checkout leaves out. Changed files and new ones are read from the disk.

// WorkTree returns the tree of the files in the work tree: those that git tracks, and new ones that it does not ignore.
func (r *Repository) WorkTree() (*Tree, error) {
	indexed, others, err := r.index()
	if err != nil {
		return nil, fmt.Errorf("--git: the files of the work tree cannot be listed: %w", err)
	}
	modified, err := r.modified(indexed)
	if err != nil {
		return nil, fmt.Errorf("--git: the changes of the work tree cannot be listed: %w", err)
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	entries := map[string]entry{}
	sparse := false
	for name, e := range indexed {
		switch {
		case e.kind != submodule && (e.skipped || !modified[name]):
			entries[name] = e.entry
			sparse = sparse || e.skipped
		default:
			others = append(others, name)
		}
	}
	for _, name := range others {
		info, err := root.Lstat(filepath.FromSlash(name))
		switch {
		case err != nil: // deleted
		case info.IsDir(): // a submodule, or the place of a file that is gone: git lists the files of such a directory, too
			name = strings.TrimSuffix(name, "/")
			if commit, ok := r.submodule(root, name); ok {
				entries[name] = entry{submodule, commit}
			}
		case info.Mode()&fs.ModeSymlink != 0:
			entries[name] = entry{kind: link}
		case info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			entries[name] = entry{kind: executable}
		case info.Mode().IsRegular():
			entries[name] = entry{kind: regular}
		}
	}
	if head, err := r.commit("HEAD"); sparse && err == nil {
		r.fetchMissing(head)
	}
	dropBehind(entries)
	return newTree(r, "", entries, &disk{root, entries, &blobs{repo: r, entries: entries}})
}

// indexEntry is a file of the index.
type indexEntry struct {
	entry
	skipped bool // a sparse checkout leaves it out
}

// index lists the files of the index, and those that git neither tracks nor ignores. Among the latter are files with a
// conflict.
func (r *Repository) index() (indexed map[string]indexEntry, others []string, err error) {
	out, err := r.run(nil, "ls-files", "-z", "-t", "--stage", "--others", "--exclude-standard",
		"--full-name", "--", ".")
	if err != nil {
		return nil, nil, err
	}
	indexed = map[string]indexEntry{}
	conflicts := map[string]bool{}
	for record := range strings.SplitSeq(string(out), "\x00") {
		// TAG MODE ID STAGE<tab>PATH, or "? PATH"
		if name, isOther := strings.CutPrefix(record, "? "); isOther {
			others = append(others, name)
			continue
		}
		head, name, ok := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		switch {
		case !ok || len(fields) != 4:
		case fields[3] != "0":
			conflicts[name] = true
		default:
			indexed[name] = indexEntry{entry{kindOf(fields[1]), fields[2]}, fields[0] == "S"}
		}
	}
	return indexed, slices.AppendSeq(others, maps.Keys(conflicts)), nil
}

// modified returns the files of the index that differ from it on the disk, or are gone there. Where only the times
// differ, the content decides, converted as .gitattributes says; programs that it names are not run.
func (r *Repository) modified(indexed map[string]indexEntry) (map[string]bool, error) {
	unfiltered, err := r.withoutFilters()
	if err != nil {
		return nil, err
	}
	out, err := r.runWith(unfiltered, nil, "diff-files", "-z", "--raw", "--no-renames",
		"--ignore-submodules=all", "--", ".")
	if err != nil {
		return nil, err
	}
	modified := map[string]bool{}
	var asked []string // that may differ in their times only
	for rest := string(out); rest != ""; {
		// :OLDMODE NEWMODE OLDID NEWID STATUS<nul>PATH<nul>
		var head, name string
		head, rest, _ = strings.Cut(rest, "\x00")
		name, rest, _ = strings.Cut(rest, "\x00")
		fields := strings.Fields(strings.TrimPrefix(head, ":"))
		modified[name] = true
		sameMode := len(fields) == 5 && fields[0] == fields[1] && kindOf(fields[0]) <= executable
		if sameMode && fields[4] == "M" && !strings.ContainsAny(name, "\n\r\"") {
			asked = append(asked, name)
		}
	}
	if len(asked) == 0 {
		return modified, nil
	}
	out, err = r.runWith(unfiltered, strings.NewReader(strings.Join(asked, "\n")+"\n"), "hash-object", "--stdin-paths")
	ids := strings.Fields(string(out))
	if err != nil || len(ids) != len(asked) { // such as a file that cannot be read, or whose encoding is not what it should be
		return modified, nil
	}
	for i, name := range asked {
		if indexed[name].id == ids[i] {
			delete(modified, name)
		}
	}
	return modified, nil
}

// withoutFilters returns the environment in which git runs none of the programs that convert files.
func (r *Repository) withoutFilters() ([]string, error) {
	out, err := r.run(nil, "config", "-z", "--name-only", "--get-regexp",
		`^filter\..*\.(clean|smudge|process|required)$`)
	if err != nil && len(out) > 0 {
		return nil, err
	}
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	var env []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := ""
		if strings.HasSuffix(name, ".required") {
			value = "false"
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), nil
}

// dropBehind removes the entries below other entries: the files that git has of a directory that became a link. They
// are reached through the link.
func dropBehind(entries map[string]entry) {
	for name := range entries {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, isEntry := entries[dir]; isEntry {
				delete(entries, name)
				break
			}
		}
	}
}

// submodule returns the commit that a submodule of the work tree is at: the one of its own work tree, otherwise the one
// that is staged; "" where that is not known. ok is false for a directory that is not a submodule.
func (r *Repository) submodule(root *os.Root, name string) (commit string, ok bool) {
	if _, err := root.Lstat(filepath.Join(filepath.FromSlash(name), ".git")); err == nil {
		own := &Repository{Root: filepath.Join(r.Root, filepath.FromSlash(name))}
		commit, _ = own.commit("HEAD")
		return commit, true
	}
	out, err := r.run(nil, "ls-files", "-s", "-z", "--full-name", "--", name)
	fields := strings.Fields(string(out))
	switch {
	case err != nil:
		return "", true
	case len(fields) < 2 || kindOf(fields[0]) != submodule:
		return "", false
	}
	return fields[1], true
}

var _ blobReader = (*disk)(nil)

// disk reads the contents of the work tree, and nothing outside of it: the blobs of unchanged files, and the others
// from the disk.
type disk struct {
	root    *os.Root
	entries map[string]entry
	blobs   *blobs
}

func (d *disk) read(paths []string) (contents [][]byte, errs []error, err error) {
	contents, errs = make([][]byte, len(paths)), make([]error, len(paths))
	var held []string
	var at []int
	for i, name := range paths {
		if d.entries[name].id != "" {
			held, at = append(held, name), append(at, i)
		}
	}
	blobs, blobErrs, err := d.blobs.read(held)
	if err != nil {
		return nil, nil, err
	}
	for i, place := range at {
		contents[place], errs[place] = blobs[i], blobErrs[i]
	}
	total := 0
	for i, name := range paths {
		if d.entries[name].id == "" {
			contents[i], errs[i] = d.file(filepath.FromSlash(name), d.entries[name].kind)
		}
		if total += len(contents[i]); total > maxTotal {
			return nil, nil, fmt.Errorf("--git: the files have more than %d bytes together; name fewer paths", maxTotal)
		}
	}
	return contents, errs, nil
}

func (d *disk) file(name string, kind entryKind) ([]byte, error) {
	if kind == link {
		target, err := d.root.Readlink(name)
		return []byte(filepath.ToSlash(target)), err
	}
	file, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return data, err
}

// Directory returns the directory that holds the tree's files; ok is false for a commit.
func (t *Tree) Directory() (dir string, ok bool) {
	_, ok = t.reader.(*disk)
	return t.repo.Root, ok
}

// Write writes the tree below an empty directory, for a command that reads it. Links that lead out of the tree and
// submodules are left out.
func (t *Tree) Write(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var names []string
	for _, name := range t.sorted {
		switch t.entries[name].kind {
		case submodule, unchanged:
		case link:
			if err := t.writeLink(root, name); err != nil {
				return err
			}
		default:
			names = append(names, name)
		}
	}
	contents, errs, err := t.reader.read(names)
	if err != nil {
		return err
	}
	for i, name := range names {
		if errs[i] != nil {
			return fmt.Errorf("%s: cannot be read: %w", t.name(name), errs[i])
		}
		mode := os.FileMode(0o644)
		if t.entries[name].kind == executable {
			mode = 0o755
		}
		if err := makeParent(root, name); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(name), contents[i], mode); err != nil {
			return fmt.Errorf("%s cannot be written for --render: %w", name, err)
		}
	}
	return nil
}

func (t *Tree) writeLink(root *os.Root, name string) error {
	if _, err := t.resolve(name); err != nil {
		return nil // the command will say so if it needs it
	}
	if err := makeParent(root, name); err != nil {
		return err
	}
	return root.Symlink(filepath.FromSlash(t.links[name]), filepath.FromSlash(name)) // resolve has read the link
}

func makeParent(root *os.Root, name string) error {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return root.MkdirAll(filepath.FromSlash(name[:i]), 0o755)
	}
	return nil
}
