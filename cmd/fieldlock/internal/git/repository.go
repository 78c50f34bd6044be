package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Repository is a git repository that is only read.
type Repository struct {
	// Root is the work tree; Prefix is the path of the working directory below it, "" or with a slash at its end.
	Root, Prefix string

	shared yamldoc.Shared // what its trees have in common
}

// Open finds the repository of the directory dir.
func Open(dir string) (*Repository, error) {
	out, err := (&Repository{Root: dir}).run(nil, "rev-parse", "--show-toplevel", "--show-prefix")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("--git needs the command git, which is not installed")
	case err != nil:
		return nil, fmt.Errorf("--git: there is no git repository here that can be read: %w", err)
	}
	root, prefix, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	return &Repository{Root: filepath.FromSlash(root), Prefix: prefix}, nil
}

// run runs git without anything that the repository could configure to run.
func (r *Repository) run(stdin io.Reader, args ...string) ([]byte, error) {
	cmd := r.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return nil, errors.New(strings.TrimPrefix(text, "fatal: "))
		}
		return nil, err
	}
	return stdout.Bytes(), nil
}

func (r *Repository) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{
		"--no-pager", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull,
	}, args...)...)
	cmd.Dir = r.Root
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return cmd
}

// Path returns the path of a command line argument below the root of the repository, with slashes; "." for the root.
func (r *Repository) Path(arg string) (string, error) {
	below := filepath.FromSlash(r.Prefix + filepath.ToSlash(arg))
	if filepath.IsAbs(arg) {
		rel, err := filepath.Rel(r.Root, arg)
		if err != nil {
			return "", err
		}
		below = rel
	}
	below = filepath.Clean(below)
	if !filepath.IsLocal(below) {
		return "", fmt.Errorf("%s: it is outside of the repository %s", arg, r.Root)
	}
	return filepath.ToSlash(below), nil
}

// Display returns a path below the root as seen from the working directory.
func (r *Repository) Display(below string) string {
	rel, err := filepath.Rel(filepath.FromSlash("/"+r.Prefix), filepath.FromSlash("/"+below))
	if err != nil {
		return below
	}
	return filepath.ToSlash(rel)
}
