package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Reader reads files, directories and standard input. It is safe for concurrent use.
type Reader struct {
	Stdin io.Reader
	// Step, unless nil, is called after each file that is read.
	Step func()

	used   atomic.Bool // standard input has been read
	shared yamldoc.Shared
}

// Read reads what args name, in that order: files, directories with all YAML and JSON files below them, or "-" for
// standard input. A file that is named twice is read once. Directories whose name starts with a dot are skipped, links
// are followed.
//
// The error is about an argument that cannot be used; what is wrong with the content of a file is in File.Err.
func (r *Reader) Read(args ...string) ([]File, error) {
	targets, err := list(args)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(targets))
	Each(len(files), func(i int) {
		files[i] = r.file(targets[i])
		if r.Step != nil {
			r.Step()
		}
	})
	for _, f := range files {
		if !f.Found && errors.Is(f.Err, errArgument) {
			return nil, f.Err
		}
	}
	return files, nil
}

// Hidden reads what Read leaves out of a directory: the files below directories whose name starts with a dot, as far as
// they have one of names in them. What cannot be read is left out.
func (r *Reader) Hidden(arg string, names []string) []File {
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return nil
	}
	var files []File
	for _, t := range hiddenBelow(arg) {
		data, err := os.ReadFile(t.name)
		has := func(name string) bool { return bytes.Contains(data, []byte(name)) }
		if err == nil && slices.ContainsFunc(names, has) {
			f := File{Name: filepath.ToSlash(t.name), Path: t.below, Found: true}
			f.ParseShared(data, &r.shared)
			files = append(files, f)
		}
	}
	return files
}

// Bytes reads one file, or standard input for "-", and returns its name for messages.
func (r *Reader) Bytes(path string) (name string, data []byte, err error) {
	if path != "-" {
		data, err = os.ReadFile(path)
		return filepath.ToSlash(path), data, unreadable(path, err)
	}
	if r.used.Swap(true) {
		return Stdin, nil, &argumentError{errors.New("standard input is named twice; it can be read once, give a file for the other")}
	}
	if data, err = io.ReadAll(r.Stdin); err != nil {
		err = &argumentError{fmt.Errorf("standard input cannot be read: %w", err)}
	}
	return Stdin, data, err
}

// file reads and parses one file.
func (r *Reader) file(t target) File {
	f := File{Name: filepath.ToSlash(t.name), Path: t.below, Found: t.found, Err: t.err}
	if f.Err != nil {
		return f
	}
	var data []byte
	if f.Name, data, f.Err = r.Bytes(t.name); f.Err == nil {
		f.ParseShared(data, &r.shared)
	}
	return f
}

// List lists the files that a path names, as Read would read them.
func List(path string) ([]string, error) {
	targets, err := list([]string{path})
	var names []string
	for _, t := range targets {
		if t.err != nil {
			return nil, t.err
		}
		names = append(names, t.name)
	}
	return names, err
}

// list lists the files that args name.
func list(args []string) ([]target, error) {
	var targets []target
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-":
			targets = append(targets, target{name: arg})
		case err != nil:
			return nil, unreadable(arg, err)
		case !info.IsDir():
			targets = append(targets, target{name: arg})
		default:
			below := filesBelow(arg)
			if len(below) == 0 {
				return nil, fmt.Errorf("%s: the directory has no file that ends in .yaml, .yml or .json; give a directory of objects, a file, or - for standard input", arg)
			}
			targets = append(targets, below...)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(targets, func(t target) bool {
		key := filepath.Clean(t.name)
		twice := seen[key] && t.name != "-"
		seen[key] = true
		return twice
	}), nil
}

// ParseAll parses the contents of files that have no error yet, on all processors.
func ParseAll(files []File, contents [][]byte, shared *yamldoc.Shared) {
	Each(len(files), func(i int) {
		if files[i].Err == nil {
			files[i].ParseShared(contents[i], shared)
		}
	})
}

// Each calls do for 0 to n-1, on all processors.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
