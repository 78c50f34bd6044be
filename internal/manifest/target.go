package manifest

import (
	"errors"
	"fmt"
	"syscall"
)

// target is one file to read.
type target struct {
	name  string // "-" for standard input
	below string // as File.Path
	found bool
	err   error // why it cannot be read, where that is known
}

// errArgument is behind every error about a file or directory that cannot be read at all.
var errArgument = errors.New("unreadable")

// argumentError is an error that is errArgument.
type argumentError struct{ error }

func (e *argumentError) Is(target error) bool { return target == errArgument }

func (e *argumentError) Unwrap() error { return e.error }

// unreadable returns the error for a file or directory that cannot be read; nil for nil.
func unreadable(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EISDIR) {
		return &argumentError{fmt.Errorf("%s: it is a directory; give one of its files, or - for standard input", path)}
	}
	return &argumentError{fmt.Errorf("%s: it cannot be read: %w; give a file, a directory, or - for standard input", path, Cause(err))}
}
