package rawschema

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Error is a mistake in a schema.
type Error struct {
	Steps   []any // from the mistake out to the schema that was read
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// wrong is the error for a value that is not what a keyword takes.
func wrong(value any, right string) *Error {
	return &Error{Message: fmt.Sprintf("it is %s; it must be %s", yamldoc.Describe(value), right)}
}
