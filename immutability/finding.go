package immutability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Severity says how serious a finding is.
type Severity string

const (
	// SeverityError makes a schema unusable: Compile refuses it.
	SeverityError Severity = "error"
	// SeverityWarning names a way around a lock, or a lock that does nothing.
	SeverityWarning Severity = "warning"
	// SeverityNote names a way around a lock that is possible but could not be shown with objects.
	SeverityNote Severity = "note"
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
	// SchemaPath is the JSON pointer of the node that changes.
	SchemaPath string
}

// SchemaError says why a schema does not compile.
type SchemaError struct {
	Findings []Finding // all its errors, sorted by path
}

// Error returns one line for each finding.
func (e *SchemaError) Error() string {
	if e == nil {
		return "the schema has mistakes"
	}
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s", cmp.Or(f.Path, "the root"), f.Message)
	}
	return strings.Join(lines, "\n")
}

// maxFindingSteps bounds the paths of all findings together. A schema 10,000 levels deep can have a finding at each
// level, and the square of that is more than anyone reads.
const maxFindingSteps = 1_000_000

// list collects findings.
type list struct {
	findings []Finding
	seen     map[[3]string]bool // rule, schema path, message
	steps    int
}

// full reports whether no more findings are taken.
func (l *list) full() bool { return l.steps > maxFindingSteps }

// add adds f, unless it is there already, with the paths at and schemaPath.
func (l *list) add(at, schemaPath *schema.Path, f Finding) {
	if l.full() {
		return
	}
	l.steps += at.Depth() + schemaPath.Depth() + 1
	f.Path, f.SchemaPath = at.String(), schemaPath.Pointer()
	// A definition that several $refs lead to is reported for the first one.
	key := [3]string{f.Rule, f.SchemaPath, f.Message}
	if l.seen[key] {
		return
	}
	if l.seen == nil {
		l.seen = map[[3]string]bool{}
	}
	l.seen[key] = true
	l.findings = append(l.findings, f)
}

// mistake adds an error.
func (l *list) mistake(at, schemaPath *schema.Path, id, format string, args ...any) {
	l.add(at, schemaPath, Finding{Severity: SeverityError, Rule: id, Message: fmt.Sprintf(format, args...)})
}

// done returns the findings. The last one says so if there may be more.
func (l *list) done() []Finding {
	if l.full() && len(l.findings) > 0 {
		l.findings[len(l.findings)-1].Message += " (further findings are left out)"
	}
	return l.findings
}

// sorted sorts findings and returns them: errors first, then by path and rule.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message),
		)
	})
	return findings
}
