package immutability

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Severity says what a finding means for whoever uses the schema.
type Severity string

const (
	// SeverityError makes a schema unusable: Compile refuses it.
	SeverityError = Severity(rule.Error)
	// SeverityWarning names a way around a lock, or a lock that does nothing.
	SeverityWarning = Severity(rule.Warning)
	// SeverityNote names a way around a lock that is possible but could not be shown with objects.
	SeverityNote = Severity(rule.Note)
)

// Finding is one thing that Lint found in a schema.
type Finding struct {
	// Path is the field for people, such as "spec.nodes[*].zone"; SchemaPath is its JSON pointer in the schema.
	Path, SchemaPath string
	Severity         Severity
	// Rule is the rule's name in kebab case, such as "optional-parent": what to filter by, as Message may be reworded.
	Rule string
	// Message says what was found and what would be right.
	Message string
	// Fields are the locked fields behind a hole, as paths for people, sorted.
	Fields []string
	// Fix is a change of the schema that closes a hole, nil if none is known.
	Fix *Fix
}

// Fix is a change of a schema that makes a finding go away.
type Fix struct {
	// Text is the change as YAML, to be added at SchemaPath; its first line is a comment that names the field.
	Text string
	// Version is the version of the CRD whose schema changes; "" means the version of the finding.
	Version string
	// SchemaPath is the JSON pointer of the node that changes, and AddRules what is appended to its
	// x-kubernetes-validations. A change of locks has no AddRules.
	SchemaPath string
	AddRules   []map[string]any
	// Safe reports whether a tool may add the rules without asking the author: every object that is valid today stays
	// valid. It is false for a change of locks.
	Safe bool
}

// SchemaError says why a schema does not compile.
type SchemaError struct {
	Findings []Finding // all its errors, sorted by path
}

// Error returns one line for each finding.
func (e *SchemaError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s", cmp.Or(f.Path, "the root"), f.Message)
	}
	return strings.Join(lines, "\n")
}

// findings returns entries as findings, sorted.
func findings(entries []lint.Entry) []Finding {
	lint.Sort(entries)
	var found []Finding
	for _, e := range entries {
		f := Finding{
			Path: e.Path, SchemaPath: e.SchemaPath, Severity: Severity(e.Severity), Rule: e.Rule, Message: e.Message, Fields: e.Fields,
		}
		if e.Fix != "" {
			f.Fix = &Fix{Text: "# " + cmp.Or(e.Path, "the root") + "\n" + e.Fix, SchemaPath: e.SchemaPath}
		}
		found = append(found, f)
	}
	return found
}
