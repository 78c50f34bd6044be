// Package lint finds the mistakes in the locks of one schema, and the ways around them.
//
// Each kind of finding is one small function: those of mistakes are listed in mistakes, those of ways around locks are
// methods of holes. Its ID and texts come from the catalogue in package rule.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Entry is one finding.
type Entry struct {
	Path, SchemaPath string // the field for people, and its JSON pointer in the schema
	Severity         rule.Severity
	Rule             string
	Message          string
	Fields           []string // the locked fields behind a hole, as paths for people, sorted
	Fix              string   // YAML that closes a hole when it is added at SchemaPath, "" if none is known
}

// maxSteps bounds the paths of all entries together. A schema 10,000 levels deep can have a finding at each level, and
// the square of that is more than anyone reads.
const maxSteps = 1_000_000

// list collects entries.
type list struct {
	entries []Entry
	seen    map[[3]string]bool // rule, schema path, message
	steps   int
}

// full reports whether no more entries are taken.
func (l *list) full() bool { return l.steps > maxSteps }

// add adds an entry without fields and fix.
func (l *list) add(at, schemaPath *schema.Path, severity rule.Severity, id, format string, args ...any) {
	l.addEntry(at, schemaPath, Entry{Severity: severity, Rule: id, Message: fmt.Sprintf(format, args...)})
}

// addEntry adds e with the paths at and schemaPath.
func (l *list) addEntry(at, schemaPath *schema.Path, e Entry) {
	if l.full() {
		return
	}
	l.steps += at.Depth() + schemaPath.Depth() + 1
	e.Path, e.SchemaPath = at.String(), schemaPath.Pointer()
	// A definition that several $refs lead to is reported for the first one.
	key := [3]string{e.Rule, e.SchemaPath, e.Message}
	if l.seen[key] {
		return
	}
	if l.seen == nil {
		l.seen = map[[3]string]bool{}
	}
	l.seen[key] = true
	l.entries = append(l.entries, e)
}

// done returns the entries. The last one says so if there may be more.
func (l *list) done() []Entry {
	if l.full() && len(l.entries) > 0 {
		l.entries[len(l.entries)-1].Message += " (further findings are left out)"
	}
	return l.entries
}

// Sort sorts entries: errors first, then by path and rule.
func Sort(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message),
		)
	})
}

// shownFields is how many fields a message names.
const shownFields = 5

// Enumerate lists fields for a message: the first five, and how many more there are.
func Enumerate(fields []string) string {
	more := len(fields) - shownFields
	switch {
	case more <= 0:
		return strings.Join(fields, ", ")
	case more == 1:
		return strings.Join(fields[:shownFields], ", ") + ", and 1 more field"
	}
	return fmt.Sprintf("%s, and %d more fields", strings.Join(fields[:shownFields], ", "), more)
}
