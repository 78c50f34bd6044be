package rendered

import "fmt"

// Invalid is the error of a unit that its own tool refuses to render: a file that is missing, a cycle, malformed YAML.
type Invalid struct {
	// File and Line are where the mistake is; Line is 0 where it is not known.
	File string
	Line int
	Err  error
}

// Error returns the mistake with its place.
func (e *Invalid) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the mistake without its place.
func (e *Invalid) Unwrap() error { return e.Err }
