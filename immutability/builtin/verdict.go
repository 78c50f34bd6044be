package builtin

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
)

// Verdict is what an API server would say to an apply.
type Verdict struct {
	// Violations are the refused fields, sorted by path.
	Violations []Violation
	// Unknown lists what only the cluster can decide; Notes what is accepted without effect.
	Unknown, Notes []Remark
}

// Violation is a field that the server refuses.
type Violation struct {
	immutability.Violation // Lock is "rule" for a CEL rule

	// Path is the field, a path of the object. It shadows the path of the embedded violation.
	Path string
	// Rule is the CEL rule that is false; "" for a word.
	Rule string
	// Message is the server's text, and Cause the path that it names, which can differ from Path.
	Message, Cause string

	row *Row
}

// Remark is a sentence about a field.
type Remark struct{ Path, Message string }

func (v *Verdict) add(row *Row, found Violation) {
	switch {
	case row.Unknown != "":
		v.Unknown = append(v.Unknown, Remark{found.Path, row.Unknown})
	case row.Note != "":
		v.Notes = append(v.Notes, Remark{found.Path, row.Note})
	default:
		v.Violations = append(v.Violations, found)
	}
}

// withdraw makes unknown what the old manifest did not have: an old version had other defaults.
func (v *Verdict) withdraw(oldObj map[string]any) {
	v.Violations = slices.DeleteFunc(v.Violations, func(found Violation) bool {
		if _, named := at(oldObj, found.Path); named {
			return false
		}
		v.Unknown = append(v.Unknown, Remark{found.Path, "the old manifest is of a version that is gone and leaves the field out; what the server filled in then is not known"})
		return true
	})
}
