package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fieldlock/fieldlock/internal/shell"
)

// filesBelow lists the YAML and JSON files of a directory tree, sorted, and what cannot be read in it. It follows
// links.
func filesBelow(dir string) []target {
	w := &walker{root: dir}
	w.dir(dir, nil)
	return w.sorted()
}

// hiddenBelow lists the files that filesBelow leaves out: those below directories whose name starts with a dot. The
// repository of git is not one of them.
func hiddenBelow(dir string) []target {
	w := &walker{root: dir, hidden: true}
	w.dir(dir, nil)
	return slices.DeleteFunc(w.sorted(), func(t target) bool { return t.err != nil || !IsHidden(t.below) })
}

// maxFollowed bounds how many links are followed in all: links to directories with links could make more files than
// there are atoms.
const maxFollowed = 10_000

// walker collects the files of a directory tree that hold objects.
type walker struct {
	root    string
	hidden  bool // also below directories whose name begins with a dot
	targets []target

	followed int // links
}

// sorted returns the files in the order of their names.
func (w *walker) sorted() []target {
	slices.SortFunc(w.targets, func(a, b target) int { return strings.Compare(a.name, b.name) })
	return w.targets
}

func (w *walker) add(path string, err error) {
	below, relErr := filepath.Rel(w.root, path)
	if relErr != nil {
		below = path
	}
	w.targets = append(w.targets, target{path, filepath.ToSlash(below), true, unreadable(path, err)})
}

// dir adds each file below dir that HasObjects, and what cannot be read. above are the directories that lead to dir, as
// real paths: a link back to one of them is not followed.
func (w *walker) dir(dir string, above []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		w.add(dir, err)
		return
	}
	if slices.Contains(above, real) {
		return
	}
	above = append(above[:len(above):len(above)], real)
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.add(dir, err)
		return
	}
	for _, entry := range entries {
		w.entry(filepath.Join(dir, entry.Name()), entry.Type(), above)
	}
}

// entry adds a file, and what is in a directory. A link that leads nowhere, or in a circle, is a mistake if it has the
// name of a file of objects.
func (w *walker) entry(path string, mode fs.FileMode, above []string) {
	if mode&fs.ModeSymlink != 0 {
		if w.followed++; w.followed > maxFollowed {
			if w.followed == maxFollowed+1 {
				w.add(path, fmt.Errorf("it is one of more than %d links", maxFollowed))
			}
			return
		}
		info, err := os.Stat(path)
		if leadsNowhere := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) ||
			errors.Is(err, syscall.ENOTDIR); leadsNowhere && !HasObjects(path) {
			return
		}
		if err != nil {
			w.add(path, err)
			return
		}
		mode = info.Mode()
	}
	name := filepath.Base(path)
	switch {
	case mode.IsDir() && (name == ".git" || strings.HasPrefix(name, ".") && !w.hidden):
	case mode.IsDir():
		w.dir(path, above)
	case HasObjects(path) && !mode.IsRegular():
		w.add(path, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")})
	case HasObjects(path):
		w.add(path, nil)
	}
}

// IsHidden reports whether a path leads through a directory whose name starts with a dot.
func IsHidden(path string) bool {
	steps := strings.Split(filepath.ToSlash(path), "/")
	return slices.ContainsFunc(steps[:len(steps)-1], func(step string) bool {
		return strings.HasPrefix(step, ".") && step != "." && step != ".."
	})
}

// AcceptFile is the name of the file with accepted findings. Where kubectl reads a file of that name, its objects
// count.
const AcceptFile = ".fieldlock.yaml"

// HasObjects reports whether a file in a directory is read: by its name, as kubectl does.
func HasObjects(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// target is one file to read.
type target struct {
	name  string // "-" for standard input
	below string // as File.Path
	found bool
	err   error // why it cannot be read, where that is known
}

// argumentError is every error about a file or directory that cannot be read at all.
type argumentError struct{ error }

func (e *argumentError) Unwrap() error { return e.error }

// unreadable returns the error for a file or directory that cannot be read; nil for nil.
func unreadable(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EISDIR) {
		return &argumentError{fmt.Errorf("%s: it is a directory; give one of its files, or - for standard input", path)}
	}
	return &argumentError{fmt.Errorf("%s: cannot be read: %w; give a file, a directory, or - for standard input",
		path, Cause(err))}
}

// How messages name what is not a file. The output of a command is "$(COMMAND)"; other sources name what they read by a
// URL, such as oci://registry/chart.
const (
	Stdin   = "stdin"
	Cluster = "the cluster"
)

// rendered returns the command whose output a name stands for.
func rendered(name string) (command string, ok bool) {
	command, ok = strings.CutPrefix(name, "$(")
	return strings.TrimSuffix(command, ")"), ok
}

// IsFile reports whether a File.Name names a file that others can open.
func IsFile(name string) bool {
	_, isOutput := rendered(name)
	return name != "" && name != Stdin && name != Cluster && !isOutput && !strings.Contains(name, "://")
}

// Argument returns a File.Name as an argument of a shell command that reads the file.
func Argument(name string) string {
	if name == Stdin {
		return "-"
	}
	if command, ok := rendered(name); ok {
		return "<(" + command + ")" // the user wrote the command
	}
	return shell.Quote(name)
}

// WriteFile replaces what a file holds, or makes the file. The new text takes the place of the old one at once, so that
// a full disk or an interruption leaves the old one intact; the file keeps its mode. A link is followed. Unless dir is
// "", it is an error if the file is not below that directory once links are followed.
func WriteFile(path string, data []byte, dir string) error {
	real, mode, err := writable(path, dir)
	if err == nil {
		err = replace(real, data, mode)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written, it stays as it is: %w", path, Cause(err))
	}
	return nil
}

// writable returns the file that path leads to, and its mode; 0 for a file that is not there.
func writable(path, dir string) (real string, mode fs.FileMode, err error) {
	real, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", 0, errors.New("it is a link to a file that does not exist")
		}
		above, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", 0, err
		}
		real = filepath.Join(above, filepath.Base(path))
	} else if err != nil {
		return "", 0, err
	}
	if dir != "" {
		realDir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", 0, err
		}
		if rel, err := filepath.Rel(realDir, real); err != nil || rel == ".." ||
			strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", 0, fmt.Errorf("it is a link that leads out of %s, to %s; name the directory of that file",
				dir, real)
		}
	}
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return real, 0, nil
	case err != nil:
		return "", 0, err
	case !info.Mode().IsRegular():
		return "", 0, errors.New("it is not a regular file")
	}
	return real, info.Mode().Perm(), nil
}

// replace writes data into a temporary file in the same folder and renames it.
func replace(path string, data []byte, mode fs.FileMode) (err error) {
	file, err := createNextTo(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = file.Write(data)
	if err == nil && mode != 0 {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Cause returns what went wrong, without the operation and the path that errors of files have.
func Cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// createNextTo makes a new file in the folder of path, with the mode of any new file.
func createNextTo(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s.%d-%d.tmp", path, os.Getpid(), i)
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) || i > 100 {
			return file, err
		}
	}
}

// Find lists the files that Read reads for one path, without reading them.
func Find(path string) ([]File, error) {
	targets, err := list([]string{path})
	var files []File
	for _, t := range targets {
		files = append(files, File{Name: filepath.ToSlash(t.name), Path: t.below, Found: t.found, Err: t.err})
	}
	return files, err
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
				return nil, fmt.Errorf("%s: the directory has no file that ends in .yaml, .yml or .json; give a "+
					"directory of objects, a file, or - for standard input", arg)
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
