package parameter

import "fmt"

// ReadError says why a document cannot be read.
type ReadError struct {
	Line    int // from 1; 0 where the document as a whole is meant, and in objects that are decoded already
	Message string
}

// Error returns the message, behind its line where that is known.
func (e *ReadError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}
