package kindindex

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Catalogue finds kinds in files of data that are part of the program. A file is read when a kind of its groups is
// first looked for: a check of a few objects reads a few of them. It is safe for concurrent use. Nil and the zero
// Catalogue have no kinds.
//
//	project: Widgets
//	kinds:
//	- group: example.com    # where the groups of a file are found, before anything else in it is read
//	  kind: Widget
type Catalogue[K any] struct {
	mu      sync.Mutex
	read    func(text []byte) ([]Entry[K], error)
	files   []*file
	byGroup map[string][]*file // by the API groups of their kinds
	index   Index[K]           // of the files that were read
}

// Entry is a kind of a file, in some versions of its API.
type Entry[K any] struct {
	Of          K
	Group, Kind string
	Versions    []string
}

type file struct {
	name string
	text []byte // nil when the file has been read
}

// NewCatalogue returns the catalogue of the files in the folder data; read returns the kinds of one. Find and All panic
// if it returns an error, or if two entries have a version of a kind: tests read all of the data.
func NewCatalogue[K any](files fs.FS, read func(text []byte) ([]Entry[K], error)) (*Catalogue[K], error) {
	entries, err := fs.ReadDir(files, "data")
	if err != nil {
		return nil, err
	}
	c := &Catalogue[K]{read: read, byGroup: map[string][]*file{}}
	for _, entry := range entries {
		f := &file{name: path.Join("data", entry.Name())}
		if f.text, err = fs.ReadFile(files, f.name); err != nil {
			return nil, err
		}
		c.files = append(c.files, f)
		for line := range bytes.Lines(f.text) {
			line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("- "))
			if group, ok := bytes.CutPrefix(line, []byte("group: ")); ok &&
				!slices.Contains(c.byGroup[string(group)], f) {
				c.byGroup[string(group)] = append(c.byGroup[string(group)], f)
			}
		}
	}
	return c, nil
}

// Find returns the kind of an object in its version; ok is false for one that no file has.
func (c *Catalogue[K]) Find(apiVersion, kind string) (found K, ok bool) {
	if c == nil {
		return found, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	group, _ := GroupVersion(apiVersion)
	c.load(c.byGroup[group])
	return c.index.Find(apiVersion, kind)
}

// All returns every kind, sorted by group and kind.
func (c *Catalogue[K]) All() []K {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load(c.files)
	return c.index.All()
}

// load reads those of files that have not been read.
func (c *Catalogue[K]) load(files []*file) {
	for _, f := range files {
		if f.text == nil {
			continue
		}
		entries, err := c.read(f.text)
		if err != nil {
			panic(fmt.Errorf("%s: %w", f.name, err))
		}
		f.text = nil
		for _, e := range entries {
			c.index.Add(e.Of, e.Group, e.Kind)
			for _, version := range e.Versions {
				gvk := schema.GroupVersionKind{Group: e.Group, Version: version, Kind: e.Kind}
				if !c.index.Serve(gvk, e.Of) {
					panic(fmt.Errorf("%s: there are two entries for %s", f.name, gvk))
				}
			}
		}
	}
}
