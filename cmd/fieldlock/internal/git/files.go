package git

import (
	"cmp"
	"fmt"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Files reads the objects at paths below the root: files, and directories with all YAML and JSON files below them, but
// for directories whose name starts with a dot. Links inside of the tree are followed.
func (t *Tree) Files(paths []string) ([]manifest.File, error) {
	w := &walker{tree: t, seen: map[string]bool{}}
	for _, name := range paths {
		w.path(name, name, false, 0)
	}
	var names []string
	for i := range w.files {
		if w.files[i].Err == nil {
			names = append(names, w.targets[i])
		}
	}
	contents, errs, err := t.reader.read(names)
	if err != nil {
		return nil, err
	}
	next := 0
	data := make([][]byte, len(w.files))
	for i := range w.files {
		if w.files[i].Err != nil {
			continue
		}
		data[i] = contents[next]
		if errs[next] != nil {
			w.files[i].Err = fmt.Errorf("%s: it cannot be read: %w", w.files[i].Name, errs[next])
		}
		next++
	}
	manifest.ParseAll(w.files, data, &t.repo.shared)
	return w.files, nil
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
