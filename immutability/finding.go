package immutability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a finding makes a schema unusable.
type Severity string

// An Error fails Compile. A Warning names a way around a lock, or a lock that does nothing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that Lint found in a schema.
type Finding struct {
	// Path is the place for people, such as "spec.nodes[*].zone"; SchemaPath is its JSON pointer in the schema.
	Path, SchemaPath string
	Severity         Severity
	// Rule is the rule's name in kebab case, such as "optional-parent": what to filter by, as Message may be reworded.
	Rule string
	// Message says what was found and what would be right.
	Message string
	// Fields are the locked fields behind a hole, as paths for people, sorted.
	Fields []string
}

// SchemaError is why a schema does not compile: all its errors, sorted by path.
type SchemaError struct {
	Findings []Finding
}

// Error returns one line per finding.
func (e *SchemaError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s", cmp.Or(f.Path, "the root"), f.Message)
	}
	return strings.Join(lines, "\n")
}

// sortFindings sorts errors first, then by path and rule.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message),
		)
	})
}
