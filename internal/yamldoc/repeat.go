package yamldoc

import "fmt"

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
	return r.Key == other.Key && same(r.Was, other.Was) && same(r.Is, other.Is)
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
				found = fmt.Sprintf("the mapping has the key %q twice, with two values, first in line %d", r.key, line+r.first)
			}
			list = append(list, &Repeat{name, line + r.line, i + 1, r.key, r.was, r.is, found})
		}
	}
	return list
}

func twiceInJSON(key string) string {
	return fmt.Sprintf("an object has the member %q twice, with two values", key)
}
