package heat

import (
	"fmt"
	"strings"
)

// ImmutableParameterModified refuses a stack update that changes parameters which are not updatable. It is the cause of
// a refusal of each of them.
type ImmutableParameterModified struct {
	Names []string // sorted
}

// ParameterUpdateNotAllowed is the name that the proposal's work items give to the same error.
type ParameterUpdateNotAllowed = ImmutableParameterModified

// Error names the parameters, in the words of Heat.
func (e *ImmutableParameterModified) Error() string {
	return fmt.Sprintf("The following parameters are immutable and may not be updated: %s", strings.Join(e.Names, ", "))
}
