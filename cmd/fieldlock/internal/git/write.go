package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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
			return fmt.Errorf("%s: it cannot be read: %w", t.name(name), errs[i])
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
	text, err := t.readLink(name)
	if err != nil {
		return err
	}
	if err := makeParent(root, name); err != nil {
		return err
	}
	return root.Symlink(filepath.FromSlash(text), filepath.FromSlash(name))
}

func makeParent(root *os.Root, name string) error {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return root.MkdirAll(filepath.FromSlash(name[:i]), 0o755)
	}
	return nil
}
