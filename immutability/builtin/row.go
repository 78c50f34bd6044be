package builtin

import (
	"fmt"
	"slices"
	"strings"
)

// Row is one lock of a kind.
type Row struct {
	// Path is the field, such as "spec.selector" or "spec.drivers[*]", or metadata.annotations[KEY].
	Path string
	// Lock is the word of the lock, such as "immutable" or "NoUnset,NoModify"; "rule" for a CEL rule.
	Lock string
	// Rule is the CEL rule of a row with the lock "rule", or what the row asks for in words where no CEL can say it.
	Rule string
	// When is the CEL condition under which the row applies; "" is always. Except lists what may change below Path.
	When   string
	Except []string
	// Message is what the server says, and Cause the path that it names, which can differ from Path.
	Message, Cause string
	// Unknown is why only the cluster can decide; Note is what happens where the change is accepted without effect. Both
	// are empty for a row that the server enforces.
	Unknown, Note string
	// Edit is a change to the manifest that makes a replacement unnecessary; usually "".
	Edit string
	// First is what has to be done before a replacement; usually "".
	First string

	source     *rowSource
	annotation string
}

func newRow(source *rowSource, path string) Row {
	row := Row{
		Path: path, Lock: source.Lock, Rule: source.Rule, When: source.When, Except: source.Except,
		Message: source.Says, Cause: source.Cause, Unknown: source.Unknown, Note: source.Note, Edit: source.Edit, First: source.First,
		source: source, annotation: source.Annotation,
	}
	switch {
	case source.Rule != "":
		row.Lock = lockRule
	case source.Check != "":
		row.Lock, row.Rule = lockRule, source.Means
	case len(source.Update) > 0:
		row.Lock = strings.Join(source.Update, ",")
	case source.Annotation != "":
		row.Lock = "immutable"
	}
	if row.Message == "" {
		row.Message = defaultText
	}
	if row.Cause == "" {
		row.Cause = path
	}
	if len(source.Named) > 0 {
		row.When = fmt.Sprintf("self.metadata.name in ['%s']", strings.Join(source.Named, "', '"))
	}
	return row
}

// applies reports whether the row is for an object of that name.
func (r *Row) applies(name string) bool {
	return len(r.source.Named) == 0 || slices.Contains(r.source.Named, name)
}

// lockRule is the lock of a row that no word expresses.
const lockRule = "rule"

func errorf(format string, args ...any) error { return fmt.Errorf("builtin: "+format, args...) }
