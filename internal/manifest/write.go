package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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
		if rel, err := filepath.Rel(realDir, real); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", 0, fmt.Errorf("it is a link that leads out of %s, to %s; name the directory of that file", dir, real)
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
