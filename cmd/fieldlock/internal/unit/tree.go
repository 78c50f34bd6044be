package unit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Tree is the files of one side of a comparison. Names are relative to its root, with slashes. Nobody may change what
// it returns.
type Tree interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	fs.ReadLinkFS

	// ID identifies the content of a file: in the two trees of a comparison, files with equal IDs are equal.
	ID(name string) (string, error)
	// Paths lists the files and links, sorted.
	Paths() []string
	// Name is how messages name a file.
	Name(name string) string
}

// scan calls do with the content of a file, which do may not keep.
func scan(t Tree, name string, do func(data []byte)) error {
	if s, ok := t.(interface {
		Scan(name string, do func(data []byte)) error
	}); ok {
		return s.Scan(name, do)
	}
	data, err := t.ReadFile(name)
	if err == nil {
		do(data)
	}
	return err
}

// Dir returns the tree of a directory. Links that lead out of it are errors. Close it after use.
func Dir(dir string) (*Directory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Directory{rootFS: root.FS().(rootFS), root: root, dir: dir, ids: map[string]string{}}, nil
}

var _ Tree = (*Directory)(nil)

// Directory is the tree of a directory of the disk. Safe for concurrent use.
type Directory struct {
	rootFS
	root *os.Root
	dir  string

	mu    sync.Mutex
	ids   map[string]string
	paths []string
}

// rootFS is what os.Root gives.
type rootFS interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	fs.ReadLinkFS
}

// Close closes the directory.
func (d *Directory) Close() error { return d.root.Close() }

// maxFile bounds the files that are read, so that a hostile tree cannot fill the memory.
const maxFile = 32 << 20

// ReadFile returns the content of a file.
func (d *Directory) ReadFile(name string) ([]byte, error) {
	info, err := d.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
	}
	file, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", maxFile)}
	}
	return data, err
}

// ID returns the SHA-256 of a file.
func (d *Directory) ID(name string) (string, error) {
	d.mu.Lock()
	id, ok := d.ids[name]
	d.mu.Unlock()
	if ok {
		return id, nil
	}
	data, err := d.ReadFile(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids[name] = hex.EncodeToString(sum[:])
	return d.ids[name], nil
}

// Paths lists the files and links. What cannot be listed is left out.
func (d *Directory) Paths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paths != nil {
		return d.paths
	}
	d.paths = []string{}
	fs.WalkDir(d.rootFS, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil:
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.Type().IsRegular(), e.Type()&fs.ModeSymlink != 0:
			d.paths = append(d.paths, name)
		}
		return nil
	})
	slices.Sort(d.paths)
	return d.paths
}

// Name returns the path of the file as the user named the directory.
func (d *Directory) Name(name string) string { return filepath.ToSlash(filepath.Join(d.dir, name)) }

// isHidden reports whether a path leads through a directory whose name starts with a dot, or is one.
func isHidden(name string) bool { return manifest.IsHidden(name+"/x") && name != "." }

// trace is a tree that takes note of what is read of it. Not safe for concurrent use.
type trace struct {
	Tree
	names map[string]bool // files and directories that were looked at
	dirs  map[string]bool // directories that were listed
	all   bool            // all files were listed
}

func newTrace(t Tree) *trace {
	return &trace{Tree: t, names: map[string]bool{}, dirs: map[string]bool{}}
}

func (t *trace) Paths() []string {
	t.all = true
	return t.Tree.Paths()
}

func (t *trace) Open(name string) (fs.File, error) {
	t.names[name], t.dirs[name] = true, true
	return t.Tree.Open(name)
}

func (t *trace) ReadFile(name string) ([]byte, error) {
	t.names[name] = true
	return t.Tree.ReadFile(name)
}

func (t *trace) ReadDir(name string) ([]fs.DirEntry, error) {
	t.dirs[name] = true
	return t.Tree.ReadDir(name)
}

func (t *trace) Stat(name string) (fs.FileInfo, error) {
	t.names[name] = true
	return t.Tree.Stat(name)
}

func (t *trace) Lstat(name string) (fs.FileInfo, error) {
	t.names[name] = true
	return t.Tree.Lstat(name)
}

func (t *trace) ReadLink(name string) (string, error) {
	t.names[name] = true
	return t.Tree.ReadLink(name)
}

// seen lists the regular files that were looked at, and the paths that lead into a submodule.
func (t *trace) seen() []string {
	var list []string
	for name := range t.names {
		info, err := t.Tree.Stat(name)
		if err == nil && info.Mode().IsRegular() || submoduleOf(t.Tree, path.Join(name, "file")) != "" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// sameIn reports whether another tree would have answered alike.
func (t *trace) sameIn(other Tree) bool {
	if t.all && !slices.Equal(t.Tree.Paths(), other.Paths()) {
		return false
	}
	for name := range t.names {
		if state(t.Tree, name) != state(other, name) {
			return false
		}
	}
	for name := range t.dirs {
		if listing(t.Tree, name) != listing(other, name) {
			return false
		}
	}
	return true
}

// submoduleOf returns the commit of the submodule that a path leads into, "" for other paths: what is there is not
// known, and may change with the commit. An absolute path leads into none.
func submoduleOf(t Tree, name string) string {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, err := t.Stat(dir); err == nil {
			id, _ := t.ID(dir)
			return id
		}
	}
	return ""
}

// state tells what a tree has at a path.
func state(t Tree, name string) string {
	info, err := t.Lstat(name)
	switch {
	case err != nil:
		return "nothing" + submoduleOf(t, name)
	case info.Mode()&fs.ModeSymlink != 0:
		text, _ := t.ReadLink(name)
		id, _ := t.ID(name)
		return "link " + text + "\x00" + id
	case info.IsDir():
		return "directory" + submoduleOf(t, path.Join(name, "file"))
	}
	id, err := t.ID(name)
	if err != nil {
		return "unreadable"
	}
	return "file " + id
}

// valuesOf identifies the values that a file has for a chart; "" if Helm could not read it.
func valuesOf(t Tree, name string) string {
	data, err := t.ReadFile(name)
	if err != nil {
		return ""
	}
	return valuesIn(data)
}

// valuesIn identifies the values in a text, whatever its comments and the order of its keys.
func valuesIn(data []byte) string {
	values, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(values)
	return "values " + hex.EncodeToString(sum[:])
}

// listing tells what is in a directory of a tree.
func listing(t Tree, name string) string {
	entries, err := t.ReadDir(name)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s\x00%d\x00", e.Name(), e.Type())
	}
	return b.String()
}

func isDir(t Tree, name string) bool {
	info, err := t.Stat(name)
	return err == nil && info.IsDir()
}

// exists reports whether a tree has a file.
func exists(t Tree, name string) bool {
	info, err := fs.Stat(t, name)
	return err == nil && !info.IsDir()
}

// mentions reports whether a text has all of words.
func mentions(data []byte, words ...string) bool {
	for _, w := range words {
		if !bytes.Contains(data, []byte(w)) {
			return false
		}
	}
	return true
}

func isKustomization(name string) bool {
	base := path.Base(name)
	return base == "kustomization.yaml" || base == "kustomization.yml"
}
