package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"go.yaml.in/yaml/v3"

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
	if errors.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%s: it is a directory; give one of its files, or - for standard input", path)
	}
	return fmt.Errorf("%s: it cannot be read: %w; give a file, a directory, or - for standard input", path, cause(err))
}

// cause is err without the operation and the path.
func cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// documents reads the objects of f.
func (in *inputs) documents(f file) ([]*crd.Document, error) {
	defer in.progress.step()
	if f.path != "-" {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, unreadable(f.path, err)
		}
		return f.parse(filepath.ToSlash(f.path), data)
	}
	if in.used.Swap(true) {
		return nil, errors.New("standard input is named twice; it can be read once, give a file for the other")
	}
	data, err := io.ReadAll(in.in)
	if err != nil {
		return nil, fmt.Errorf("standard input cannot be read: %w", err)
	}
	return f.parse(stdin, data)
}

// parse reads the objects of data. A list in a directory, such as a JSON patch of kustomize, is a document that is no
// Kubernetes object; one that was named is a mistake.
func (f file) parse(name string, data []byte) ([]*crd.Document, error) {
	documents, err := crd.ReadDocuments(name, data)
	switch {
	case err == nil:
		return documents, nil
	case f.found && isList(data):
		return []*crd.Document{{File: name, Number: 1, Object: map[string]any{}}}, nil
	case template.Match(data):
		return nil, fmt.Errorf("%w; it looks like a template: render it first, as helm template does", err)
	}
	return nil, err
}

// template finds an action of a Go template, which Helm charts are made of. "{{" alone is YAML.
var template = regexp.MustCompile(`\{\{-?\s*[.$"/]|\{\{-?\s*(if|else|end|range|with|define|include|template|block|toYaml|tpl)\b`)

// isList reports whether data is one YAML or JSON document, and that a list.
func isList(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	return decoder.Decode(&document) == nil && len(document.Content) == 1 && document.Content[0].Kind == yaml.SequenceNode &&
		errors.Is(decoder.Decode(&next), io.EOF)
}
