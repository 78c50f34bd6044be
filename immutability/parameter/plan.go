package parameter

import "strconv"

// Operation is what a plan is for.
type Operation string

// The operations.
const (
	OperationInstall Operation = "install"
	OperationUpdate  Operation = "update"
	OperationUpgrade Operation = "upgrade" // KUDO: to other definitions
)

// Plan says what an operation would do, before it is done.
type Plan struct {
	Operation Operation
	Errors    Errors // every refusal; empty means that the operation is allowed

	// Resulting holds the values to store afterwards. On a refusal they are the stored ones.
	Resulting Values

	// Changes are the parameters whose effective value differs afterwards, of a refused plan too; sorted by name. An
	// install changes each parameter that has a value.
	Changes []Change

	// Restarts names the changed parameters that restart the pods (KEP-27), sorted. It is empty for an install, which
	// has no pods yet, and on a refusal.
	Restarts []string

	// Children says for each given task, in order, whether its instance is there afterwards (KEP-36). It is empty on a
	// refusal.
	Children []Child
}

// Allowed reports whether the operation may be done.
func (p Plan) Allowed() bool { return len(p.Errors) == 0 }

// Err returns the refusals as an error of type [Errors], nil for an allowed plan.
func (p Plan) Err() error { return p.Errors.err() }

// Change is the change of one parameter's effective value.
type Change struct {
	Name           string
	Old, New       Value
	HasOld, HasNew bool
	Hidden         bool // Heat: its values are not for display
}

// Child is the state of a child instance.
type Child struct {
	Task    string
	Present bool
	Because string // the enabling parameter, "" for an unconditional task
}

// valueText shows a value in a message.
func valueText(v Value, ok bool) string {
	if !ok {
		return "no value"
	}
	return strconv.Quote(v.Text)
}
