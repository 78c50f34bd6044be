package git

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// WorkTree returns the tree of the files in the work tree: those that git tracks, and new ones that it does not ignore.
func (r *Repository) WorkTree() (*Tree, error) {
	out, err := r.run(nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", "--", ".")
	if err != nil {
		return nil, fmt.Errorf("--git: the files of the work tree cannot be listed: %w", err)
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	entries := map[string]entry{}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := root.Lstat(filepath.FromSlash(name))
		switch {
		case err != nil: // deleted, or "" for no files at all
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
	dropBehind(entries)
	return newTree(r, "", entries, &disk{root, entries})
}

// dropBehind removes the entries below other entries: the files that git has of a directory that became a link. They are
// reached through the link.
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

// submodule returns the commit that a submodule of the work tree is at: the one of its own work tree, otherwise the one that is
// staged; "" where that is not known. ok is false for a directory that is not a submodule.
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

// disk reads the contents of the work tree, and nothing outside of it.
type disk struct {
	root    *os.Root
	entries map[string]entry
}

func (d *disk) read(paths []string) (contents [][]byte, errs []error, err error) {
	contents, errs = make([][]byte, len(paths)), make([]error, len(paths))
	total := 0
	for i, name := range paths {
		contents[i], errs[i] = d.file(filepath.FromSlash(name), d.entries[name].kind)
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
