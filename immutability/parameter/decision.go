package parameter

// Decision says what an operation would do. The zero Decision, which is that of an operation nobody decided on, allows nothing.
type Decision struct {
	Refusals Refusals

	// Resulting holds the values to store afterwards, never nil. After a refusal they are the current ones.
	Resulting Values

	// Changes are the parameters whose effective value would differ afterwards, sorted by name, of a refused operation
	// too. An installation changes each parameter that has a value.
	Changes []Change
}

// Allowed reports whether the operation may be done.
func (d Decision) Allowed() bool { return d.Err() == nil }

// Err returns the refusals as an error of type [Refusals], in one line, and nil for an allowed operation.
func (d Decision) Err() error {
	if d.Resulting == nil && len(d.Refusals) == 0 {
		return Refusals{{Message: "the operation was not decided on"}}
	}
	return d.Refusals.Err()
}

// Change is the change of one parameter's effective value: the stored value, otherwise the default.
type Change struct {
	Name           string
	New, Old       Value
	HasNew, HasOld bool
	Hidden         bool // Heat: the values are not for display
}

// Row is one line of a list of parameters.
type Row struct {
	Name      string `json:"name"`
	Default   string `json:"default"` // "" where there is none
	Required  bool   `json:"required"`
	Immutable bool   `json:"immutable"`
}
