package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// stdin is how messages name standard input.
const stdin = "stdin"

// file is one file to read.
type file struct {
	path  string // "-" for standard input
	found bool   // in a directory; otherwise it was named on the command line
}

// inputs reads what the command line names. Safe for concurrent use.
type inputs struct {
	in       io.Reader
	used     atomic.Bool // standard input has been read
	progress *progress   // steps with each file that is read
}

// files lists what args name, in that order: a file, a directory with all YAML and JSON files below it, or "-". A file
// that is named twice is listed once. Directories whose name starts with a dot are left out.
func (in *inputs) files(args []string) ([]file, error) {
	var list []file
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-":
			list = append(list, file{path: arg})
		case err != nil:
			return nil, unreadable(arg, err)
		case !info.IsDir():
			list = append(list, file{path: arg})
		default:
			paths, err := filesBelow(arg)
			if err != nil {
				return nil, err
			}
			if len(paths) == 0 {
				return nil, fmt.Errorf("%s: the directory has no file that ends in .yaml, .yml or .json; give a directory of objects, a file, or - for standard input", arg)
			}
			for _, path := range paths {
				list = append(list, file{path: path, found: true})
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(f file) bool {
		key := filepath.Clean(f.path)
		twice := seen[key] && f.path != "-"
		seen[key] = true
		return twice
	}), nil
}

// filesBelow lists the YAML and JSON files of a directory tree, sorted. It follows links.
func filesBelow(dir string) ([]string, error) {
	var paths []string
	var walk func(dir string, above []string) error
	walk = func(dir string, above []string) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return unreadable(dir, err)
		}
		if slices.Contains(above, real) {
			return nil // a link that leads back up
		}
		above = append(above[:len(above):len(above)], real)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return unreadable(dir, err)
		}
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			isDir := entry.IsDir()
			if entry.Type()&fs.ModeSymlink != 0 {
				info, err := os.Stat(path)
				if err != nil {
					return unreadable(path, err)
				}
				isDir = info.IsDir()
			}
			switch {
			case isDir && strings.HasPrefix(entry.Name(), "."):
			case isDir:
				if err := walk(path, above); err != nil {
					return err
				}
			default:
				switch strings.ToLower(filepath.Ext(path)) {
				case ".yaml", ".yml", ".json":
					paths = append(paths, path)
				}
			}
		}
		return nil
	}
	err := walk(dir, nil)
	slices.Sort(paths)
	return paths, err
}

// unreadable is the error for a file or directory that cannot be read.
func unreadable(path string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("%s: it cannot be read: %w; give a file, a directory, or - for standard input", path, err)
}

// documents reads the objects of f.
func (in *inputs) documents(f file) ([]*crd.Document, error) {
	defer in.progress.step()
	if f.path != "-" {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, unreadable(f.path, err)
		}
		return crd.ReadDocuments(filepath.ToSlash(f.path), data)
	}
	if in.used.Swap(true) {
		return nil, errors.New("standard input is named twice; it can be read once, give a file for the other")
	}
	data, err := io.ReadAll(in.in)
	if err != nil {
		return nil, fmt.Errorf("standard input cannot be read: %w", err)
	}
	return crd.ReadDocuments(stdin, data)
}
