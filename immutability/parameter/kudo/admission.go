package kudo

import (
	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Admission says what an operation on an Instance would do.
type Admission struct {
	parameter.Decision // Resulting is spec.parameters of the Instance afterwards

	// Restarts names the changed parameters that restart the pods (KEP-27), sorted. It is empty for an installation,
	// which has no pods yet, and after a refusal.
	Restarts []string

	// Children says for each task of the operator, in order, whether its instance is there afterwards (KEP-36). It is
	// empty after a refusal.
	Children []Child
}

// Child is the state of a child instance.
type Child struct {
	Task    string
	Present bool
	Because string // the enabling parameter, "" for an unconditional task
}
