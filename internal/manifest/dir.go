package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// filesBelow lists the YAML and JSON files of a directory tree, sorted, and what cannot be read in it. It follows links.
func filesBelow(dir string) []target {
	var targets []target
	walk(dir, nil, func(path string, err error) {
		below, relErr := filepath.Rel(dir, path)
		if relErr != nil {
			below = path
		}
		targets = append(targets, target{path, filepath.ToSlash(below), true, unreadable(path, err)})
	})
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.name, b.name) })
	return targets
}

// walk calls add for each file below dir that HasObjects, and for what cannot be read. above are the directories that
// lead to dir, as real paths: a link back to one of them is not followed.
func walk(dir string, above []string, add func(path string, err error)) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		add(dir, err)
		return
	}
	if slices.Contains(above, real) {
		return
	}
	above = append(above[:len(above):len(above)], real)
	entries, err := os.ReadDir(dir)
	if err != nil {
		add(dir, err)
		return
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		mode := entry.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			if err != nil {
				add(path, err)
				continue
			}
			mode = info.Mode()
		}
		switch {
		case mode.IsDir() && strings.HasPrefix(entry.Name(), "."):
		case mode.IsDir():
			walk(path, above, add)
		case HasObjects(path) && !mode.IsRegular():
			add(path, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")})
		case HasObjects(path):
			add(path, nil)
		}
	}
}

// AcceptFile is the name of the file with accepted findings. It is never read as a file of objects.
const AcceptFile = ".fieldlock.yaml"

// HasObjects reports whether a file in a directory is read: by its name, as kubectl does.
func HasObjects(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return filepath.Base(path) != AcceptFile
	}
	return false
}
