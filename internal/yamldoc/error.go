package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Error is a mistake in a file, with its place.
type Error struct {
	File     string // "" for objects that come from no file
	Line     int    // from 1; 0 when unknown
	Document int    // number of the document in the file, from 1; 0 when the file as a whole is meant
	Object   string // kind and name of the object, as far as it has them
	Path     string // "spec.versions[0].schema"; "" for the object as a whole
	Message  string // what was found and what would be right

	cause error
}

// ErrNotObject is wrapped by the errors of documents that are well-formed but a list or a scalar.
var ErrNotObject = errors.New("the document is not an object")

// ErrEncrypted is wrapped by the error of a file that is encrypted as a whole.
var ErrEncrypted = errors.New("the file is encrypted")

// IsEncrypted reports whether git-crypt has encrypted a file. Only those who have the key know whether it holds
// objects.
func IsEncrypted(data []byte) bool { return bytes.HasPrefix(data, []byte("\x00GITCRYPT\x00")) }

// Unwrap returns the cause of the error, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Error returns the mistake as one sentence: "crds.yaml:12: document 2, CustomResourceDefinition widgets.example.com:
// spec.versions: …".
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	var subject []string
	if e.Document > 0 {
		subject = append(subject, "document "+strconv.Itoa(e.Document))
	}
	if e.Object != "" {
		subject = append(subject, e.Object)
	}
	if len(subject) > 0 {
		b.WriteString(strings.Join(subject, ", ") + ": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Errors returns the errors that err joins, at any depth, in their order: err itself when it joins none, and nothing
// for nil.
func Errors(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, Errors(err)...)
	}
	return all
}

// Describe names the kind of a decoded value for messages, with the value where it is short.
func Describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", value)
	case string:
		if len(value) > 40 {
			return "a string"
		}
		return fmt.Sprintf("the string %q", value)
	case int64, float64:
		return fmt.Sprintf("the number %v", value)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a Go value of type %T", value)
}

// Repeat is a key that a mapping has more than once, with different values. For kubectl the last one counts.
type Repeat struct {
	File     string
	Line     int // of the later key
	Document int // of the file, from 1
	Key      string
	// Was and Is are the values of the key, before and at this place.
	Was, Is any

	found string // in words
}

// Err returns the error of a reader who allows no repeats.
func (r *Repeat) Err() *Error { return r.says("remove one") }

// String returns the warning of a reader who takes the last value.
func (r *Repeat) String() string { return r.says("the last one counts, as for kubectl").Error() }

func (r *Repeat) says(consequence string) *Error {
	return &Error{File: r.File, Line: r.Line, Document: r.Document, Message: r.found + "; " + consequence}
}

// Same reports whether two repeats have the same key and values, wherever they are.
func (r *Repeat) Same(other *Repeat) bool {
	return r.Key == other.Key && jsonvalue.Equal(r.Was, other.Was) && jsonvalue.Equal(r.Is, other.Is)
}

// repeated is a Repeat in a piece, whose lines it counts from 1.
type repeated struct {
	key         string
	line, first int // first is where the key is before, 0 where that is not known
	was, is     any
}

// repeatsOf lists the repeats in the documents of a file.
func repeatsOf(name string, roots []root) []*Repeat {
	var list []*Repeat
	for i, root := range roots {
		for _, r := range root.repeated {
			found, line := twiceInJSON(r.key), root.source.in().line
			if r.first > 0 {
				found = fmt.Sprintf("the mapping has the key %q twice, with two values, first in line %d",
					r.key, line+r.first)
			}
			list = append(list, &Repeat{name, line + r.line, i + 1, r.key, r.was, r.is, found})
		}
	}
	return list
}

func twiceInJSON(key string) string {
	return fmt.Sprintf("an object has the member %q twice, with two values", key)
}
