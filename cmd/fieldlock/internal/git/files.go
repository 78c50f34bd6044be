package git

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

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
			files[i].Err = fmt.Errorf("%s: it cannot be read: %w", files[i].Name, errs[next])
		}
		next++
	}
	manifest.ParseAll(files, data, &t.repo.shared)
	return files, nil
}

// File returns the content of one file; ok is false where the tree has none.
func (t *Tree) File(below string) (data []byte, ok bool, err error) {
	if e, found := t.entries[below]; !found || e.kind > executable {
		return nil, false, nil
	}
	contents, errs, err := t.reader.read([]string{below})
	if err != nil || errs[0] != nil {
		return nil, true, fmt.Errorf("%s: it cannot be read: %w", t.name(below), cmp.Or(err, errs[0]))
	}
	return contents[0], true, nil
}
