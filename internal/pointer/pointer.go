// Package pointer writes and reads the steps of JSON pointers (RFC 6901), which is what schema paths are.
package pointer

import "strings"

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// Escape returns name as one step of a pointer.
func Escape(name string) string { return escape.Replace(name) }

// Unescape returns the name that a step means.
func Unescape(step string) string { return unescape.Replace(step) }

// Names returns the names of the steps of a pointer from the root: none for "".
func Names(pointer string) []string {
	if pointer == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		steps[i] = Unescape(step)
	}
	return steps
}
