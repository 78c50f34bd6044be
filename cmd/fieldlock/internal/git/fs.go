package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

var (
	_ fs.ReadFileFS = (*FS)(nil)
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// FS is a tree as a file system. Links inside of the tree are followed, step by step as a system does; a link that
// leads out of the tree is an error. The files of submodules are not part of it. Safe for concurrent use.
type FS struct {
	tree  *Tree
	batch batch

	mu   sync.Mutex        // of tree, which learns the texts of links
	led  map[string]string // where names lead to
	ids  map[string]string
	kept contents // of files of the work tree, by their entries
}

// contents keeps what was read, as far as it is not too much. Safe for concurrent use.
type contents struct {
	mu   sync.Mutex
	of   map[string][]byte
	size int
}

func (c *contents) get(key string) (data []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok = c.of[key]
	return data, ok
}

func (c *contents) keep(key string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[key] != nil || len(data) > maxKeptFile || c.size+len(data) > maxKept {
		return
	}
	if c.of == nil {
		c.of = map[string][]byte{}
	}
	c.of[key] = data
	c.size += len(data)
}

// Forget drops the contents of files that were read from commits. They are read again when they are needed.
func (r *Repository) Forget() {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	r.blobs.of, r.blobs.size = nil, 0
}

// keptIn returns where the content of an entry is kept, and as what: both trees of a comparison share their blobs.
func (f *FS) keptIn(at string) (in *contents, key string) {
	if id := f.tree.entries[at].id; id != "" {
		return &f.tree.repo.blobs, id
	}
	return &f.kept, at
}

// FS returns the files of the tree. Close it after use.
func (t *Tree) FS() *FS {
	return &FS{tree: t, batch: batch{repo: t.repo}, led: map[string]string{}, ids: map[string]string{}}
}

// Close ends what the file system has started.
func (f *FS) Close() { f.batch.close() }

// resolve returns the entry or directory that a name leads to.
func (f *FS) resolve(op, name string) (string, error) {
	if !validName(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, ok := f.led[name]; ok {
		return at, nil
	}
	at, err := f.tree.resolve(name)
	var nowhere *nowhereError
	switch {
	case errors.As(err, &nowhere):
		err = fs.ErrNotExist
	case err == nil && !f.has(at):
		err = fmt.Errorf("it is in a submodule, whose files are in another repository: %w", fs.ErrNotExist)
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	if len(f.led) < maxLed {
		f.led[name] = at
	}
	return at, nil
}

// validName is fs.ValidPath for names of any bytes: those of files need not be UTF-8.
func validName(name string) bool { return fs.ValidPath(strings.ToValidUTF8(name, "?")) }

// maxLed bounds how many names are kept with where they lead to.
const maxLed = 200_000

// has reports whether the tree has a file or directory at a path without links.
func (f *FS) has(at string) bool {
	_, isEntry := f.tree.entries[at]
	return isEntry || f.tree.children[at] != nil
}

// Open opens a file or directory.
func (f *FS) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := f.ReadDir(name)
		return &openDir{info, entries}, err
	}
	data, err := f.ReadFile(name)
	return &openFile{info, bytes.NewReader(data)}, err
}

// maxKept bounds how much is kept of what was read, and maxKeptFile the size of a file that is kept, and of the room
// for one.
const (
	maxKept     = 32 << 20
	maxKeptFile = 4 << 20
)

// ReadFile returns the content of a file. Nobody may change it.
func (f *FS) ReadFile(name string) ([]byte, error) {
	at, err := f.resolve("read", name)
	if err != nil {
		return nil, err
	}
	in, key := f.keptIn(at)
	data, ok := in.get(key)
	if ok {
		return data, nil
	}
	if data, err = f.content(at); err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	in.keep(key, data)
	return data, nil
}

// Scan calls do with the content of a file, which do may not keep. Unlike ReadFile, it keeps nothing in memory.
func (f *FS) Scan(name string, do func(data []byte)) error {
	at, err := f.resolve("read", name)
	if err != nil {
		return err
	}
	in, key := f.keptIn(at)
	data, ok := in.get(key)
	if e := f.tree.entries[at]; !ok && e.kind <= executable && e.id != "" {
		return f.batch.scan(e.id, do)
	}
	if !ok {
		if data, err = f.content(at); err != nil {
			return err
		}
	}
	do(data)
	return nil
}

// content reads an entry.
func (f *FS) content(at string) ([]byte, error) {
	e, isEntry := f.tree.entries[at]
	if !isEntry || e.kind > executable {
		return nil, errors.New("it is a directory")
	}
	if e.id != "" {
		return f.batch.blob(e.id)
	}
	contents, errs, err := f.tree.reader.read([]string{at})
	if err != nil {
		return nil, err
	}
	return contents[0], errs[0]
}

// ID returns the ID of the blob with the content of a file, as git computes it: files with equal IDs are equal. Of a
// submodule it is its commit. Cost: a file of the work tree is read once.
func (f *FS) ID(name string) (string, error) {
	at, err := f.resolve("read", name)
	if err != nil {
		return "", err
	}
	e, isEntry := f.tree.entries[at]
	switch {
	case e.kind == submodule && e.id != "":
		return e.id, nil
	case !isEntry || e.kind > executable:
		return "", &fs.PathError{Op: "read", Path: name, Err: errors.New("it is a directory")}
	case e.id != "":
		return e.id, nil
	}
	f.mu.Lock()
	id, ok := f.ids[at]
	f.mu.Unlock()
	if ok {
		return id, nil
	}
	if id, err = f.tree.repo.blobID(f.tree.reader.(*disk), at); err != nil { // every entry of a commit has an ID
		return "", &fs.PathError{Op: "read", Path: name, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids[at] = id
	return id, nil
}

// blobID returns the ID that git gives a blob with the content of a file of the work tree, whatever its size.
func (r *Repository) blobID(d *disk, name string) (string, error) {
	r.format.Do(func() {
		out, err := r.run(nil, "rev-parse", "--show-object-format")
		r.sha256 = err == nil && strings.TrimSpace(string(out)) == "sha256"
	})
	file, err := d.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	hash := sha1.New()
	if r.sha256 {
		hash = sha256.New()
	}
	fmt.Fprintf(hash, "blob %d\x00", info.Size())
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// ReadDir lists a directory, sorted by name. Links are listed as links.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := f.resolve("readdir", name)
	if err != nil {
		return nil, err
	}
	if e, isEntry := f.tree.entries[at]; isEntry && e.kind <= executable {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("it is not a directory")}
	}
	var list []fs.DirEntry
	for _, child := range f.tree.children[at] {
		list = append(list, fs.FileInfoToDirEntry(f.info(path.Join(at, child), child)))
	}
	return list, nil
}

// Stat describes what a name leads to. The size of a file is known only once the file was read.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	at, err := f.resolve("stat", name)
	if err != nil {
		return nil, err
	}
	return f.info(at, path.Base(name)), nil
}

// Lstat is Stat without following the last step of the name, if that is a link.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	at, err := f.lresolve("lstat", name)
	if err != nil {
		return nil, err
	}
	return f.info(at, path.Base(name)), nil
}

// ReadLink returns the text of a link.
func (f *FS) ReadLink(name string) (string, error) {
	at, err := f.lresolve("readlink", name)
	if err != nil {
		return "", err
	}
	if f.tree.entries[at].kind != link {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := f.tree.readLink(at)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return text, nil
}

// lresolve is resolve for all steps of a name but the last.
func (f *FS) lresolve(op, name string) (string, error) {
	if name == "." || !validName(name) {
		return f.resolve(op, name)
	}
	dir, err := f.resolve(op, path.Dir(name))
	if err != nil {
		return "", err
	}
	at := path.Join(dir, path.Base(name))
	if !f.has(at) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return at, nil
}

func (f *FS) info(at, name string) info {
	e, isEntry := f.tree.entries[at]
	switch {
	case !isEntry || e.kind >= submodule:
		return info{name: name, mode: fs.ModeDir | 0o755}
	case e.kind == link:
		return info{name: name, mode: fs.ModeSymlink | 0o777}
	}
	return info{name: name, mode: 0o644, size: f.sizeOf(at)}
}

func (f *FS) sizeOf(at string) int64 {
	in, key := f.keptIn(at)
	data, _ := in.get(key)
	return int64(len(data))
}

// Paths lists the files and links of the tree, sorted.
func (f *FS) Paths() []string {
	var list []string
	for _, name := range f.tree.sorted {
		if f.tree.entries[name].kind <= link {
			list = append(list, name)
		}
	}
	return list
}

// Name returns how messages name a file of the tree.
func (f *FS) Name(below string) string { return f.tree.name(below) }

// info describes a file or directory.
type info struct {
	name string
	mode fs.FileMode
	size int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

type openFile struct {
	info fs.FileInfo
	*bytes.Reader
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return nil }

type openDir struct {
	info fs.FileInfo
	rest []fs.DirEntry
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openDir) Close() error               { return nil }
func (o *openDir) Read([]byte) (int, error)   { return 0, errors.New("it is a directory") }

func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(o.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(o.rest) {
		n = len(o.rest)
	}
	list := o.rest[:n]
	o.rest = o.rest[n:]
	return list, nil
}

// Sources lists the files at paths below the root that Files reads, without reading them.
func (f *FS) Sources(paths []string) []manifest.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &walker{tree: f.tree, seen: map[string]bool{}}
	for _, name := range paths {
		w.named(name)
	}
	files := make([]manifest.File, len(w.found))
	for i, found := range w.found {
		files[i] = found.File
	}
	return files
}
