// Package result holds what a check of changes finds, in the form of `fieldlock check -o json`: violations, remarks,
// what a replacement takes, what is lost, and what was not covered. Package changes returns it, and the command prints
// it in every format.
//
//	{"object": "shop/web", "kind": "Deployment", "path": "spec.selector", "lock": "immutable", "message": "field is immutable"}
//
// Fields without a JSON name are for the formats beside JSON. The package is v0: names may still change.
package result

import (
	"errors"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Subject is an object that the report is about.
type Subject struct {
	Object     string `json:"object"` // "namespace/name", or "name"
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	File       string `json:"file,omitempty"`
	// Line is the line of the field, or of its nearest parent in NEW; of a Replacement, the line of the object.
	Line int `json:"line,omitempty"`
	// From is the file that the value came through, if several lines of the change may have made it.
	From string `json:"from,omitempty"`

	// Unit is the unit that the object comes from, "" for an object in a file that no unit reads.
	Unit string `json:"unit,omitempty"`

	// Column belongs to Line; ObjectLine is where the object begins.
	Column, ObjectLine int `json:"-"`

	identity any // equal in all subjects that are one object; nil for a subject that was made by hand
}

// WithIdentity returns the subject with what is equal in all subjects that are one object.
func (s Subject) WithIdentity(identity any) Subject {
	s.identity = identity
	return s
}

// Same reports whether two subjects are one object.
func (s Subject) Same(other Subject) bool {
	if s.identity != nil && other.identity != nil {
		return s.identity == other.identity
	}
	return s.Object == other.Object && s.Kind == other.Kind && s.File == other.File && s.ObjectLine == other.ObjectLine
}

// Violation is one lock or rule that an update breaks.
type Violation struct {
	Subject
	// OldFile and OldLine are where OLD has the field, or its nearest parent; "" and 0 for an object of a cluster.
	OldFile string `json:"oldFile,omitempty"`
	OldLine int    `json:"oldLine,omitempty"`

	Path       string `json:"path"`
	Lock       string `json:"lock"`             // a lock of the contract, "incomparable" or "rule"
	Rule       string `json:"rule,omitempty"`   // text of the CEL rule
	Policy     string `json:"policy,omitempty"` // that refuses: the names of a ValidatingAdmissionPolicy and its binding, "policy/binding"
	SchemaPath string `json:"schemaPath,omitempty"`
	// Old and New are the values at Path; Key is the key that was removed or, of incomparable items, that they share.
	Old             Value        `json:"old,omitzero"`
	New             Value        `json:"new,omitzero"`
	Key             Value        `json:"key,omitzero"`
	Differences     []Difference `json:"differences,omitempty"`
	MoreDifferences int          `json:"moreDifferences,omitempty"` // beyond the limit of a report
	ValuesLeftOut   bool         `json:"valuesLeftOut,omitempty"`   // Old and New, which the report has often enough
	Redacted        bool         `json:"redacted,omitempty"`
	Accepted        bool         `json:"accepted,omitempty"`
	AcceptedNew     bool         `json:"acceptedNew,omitempty"` // the change adds the acceptance
	EnforcedBy      string       `json:"enforcedBy,omitempty"`  // the operator that refuses the update
	Source          string       `json:"source,omitempty"`      // how that is known: the operator's function, or whose CRD
	Message         string       `json:"message"`

	// Steps are those of Path: a string for a field or key, an int for an item of a list.
	Steps []any `json:"-"`
	// Unforced is set where the server answers an update with another error than Invalid, or would refuse a new object
	// too.
	Unforced bool `json:"-"`
	// Moved is set when OLD has the object in another file of its tree.
	Moved bool `json:"-"`
	// Replaced is set when the object asks its tool to replace it, and nothing worse than downtime comes of it.
	Replaced bool `json:"-"`
	// AcceptedReason is the reason of the entry that accepts the violation.
	AcceptedReason string `json:"-"`
	// Change is a digest of the old and new value, for acceptances.
	Change string `json:"-"`
	// Item names the item of a keyed list that Path leads through, by its keys; Owners says who last set the field.
	Item, Owners string `json:"-"`
	// LockFile and LockLine are where the lock is, "" for built-in kinds.
	LockFile string `json:"-"`
	LockLine int    `json:"-"`
	// Version is the version of the CRD that has the lock, where the objects are of two versions.
	Version string `json:"-"`
	// Reason is why the two sides cannot be compared, for the lock "incomparable".
	Reason string `json:"-"`
	// Says is the message of the CEL rules that equal the lock.
	Says string `json:"-"`
	// Cause is the path that the error of the server names, which can differ from Path; "" where that is not known.
	Cause string `json:"-"`
	// Row is the number of the row that refuses the update among the Rows of a builtin.Kind or operators.Kind, from 1;
	// 0 for a lock of a schema, and for what objects of all kinds share.
	Row int `json:"-"`
	// WaysOut are the ways to get the change through that the row knows.
	WaysOut WaysOut `json:"-"`
	// OnlyOld is set for a lock that NEW no longer has.
	OnlyOld bool `json:"-"`
}

// Refused reports whether the violation counts against the change.
func (v Violation) Refused() bool { return !v.Accepted && !v.Replaced }

// Evidence says who refuses the update and how that is known; "" for a lock that one of the files has, and for built-in
// kinds.
func (v Violation) Evidence() string {
	switch {
	case v.Source == "":
		return ""
	case v.EnforcedBy == "":
		return "known from " + v.Source
	}
	return "refused by " + v.EnforcedBy + ": " + v.Source
}

// Difference is one place below a violation at which the two sides differ.
type Difference struct {
	Path string `json:"path"`
	Old  Value  `json:"old,omitzero"`
	New  Value  `json:"new,omitzero"`
}

// Value is a value in one of the two objects, as JSON decodes it. OK is false where it is absent, which differs from
// null: null is JSON for the Value{OK: true}, and the zero Value has no JSON.
type Value struct {
	Data any
	OK   bool
}

// IsZero reports whether the value is absent.
func (v Value) IsZero() bool { return !v.OK }

// String returns the value as JSON, "" for an absent one.
func (v Value) String() string {
	if !v.OK {
		return ""
	}
	text, err := jsonvalue.Encode(v.Data)
	if err != nil {
		return "null" // decoded JSON always encodes
	}
	return string(text)
}

// MarshalJSON returns the value as JSON, null for an absent one.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.OK {
		return []byte("null"), nil
	}
	return jsonvalue.Encode(v.Data)
}

// UnmarshalJSON reads a value. Numbers become int64 or float64.
func (v *Value) UnmarshalJSON(text []byte) error {
	if v == nil {
		return errors.New("result: a value cannot be read into nil")
	}
	v.OK = true
	return utiljson.Unmarshal(text, &v.Data)
}

// Remark is something to know about a field that is not a violation.
type Remark struct {
	Subject
	Path    string `json:"path"`
	Message string `json:"message"`

	// Row is as in a Violation.
	Row int `json:"-"`
}

// Verdict is the predicted answer of an API server, or of an operator, to one update of an object. Packages builtin and
// operators return it for two manifests, which have no file: its violations and remarks have no Subject. The zero
// Verdict stands for an update that was not checked, which is not allowed.
type Verdict struct {
	// Violations are the refused fields, sorted by path; MoreViolations is how many are not listed.
	Violations     []Violation
	MoreViolations int
	// Unknown lists questions that only the cluster can decide. Notes lists changes that are accepted without effect,
	// or that leave the old resource behind.
	Unknown, Notes []Remark
	// Checked is set for an update that was checked.
	Checked bool
}

// Allowed reports whether the update was checked and nothing is known to refuse it. Unknown may still be refused.
func (v Verdict) Allowed() bool { return v.Checked && !v.Refused() }

// Refused reports whether something is known to refuse the update.
func (v Verdict) Refused() bool { return len(v.Violations)+v.MoreViolations > 0 }

// WaysOut are the ways to get a change through that the data about one lock knows; the other ones are those of the
// kind. A Replacement joins them.
type WaysOut struct {
	// Edit is a change to the manifest that makes a replacement unnecessary; usually "".
	Edit string `json:"edit"`
	// First is a step before a replacement, and Then one after a replacement that keeps the pods; usually "".
	First string `json:"first"`
	Then  string `json:"then"`
	// How has ways in place of those of the kind; usually nil.
	How []string `json:"how"`
}

// Replacement is what it takes to get a change through that is refused.
type Replacement struct {
	Subject
	Cost      Cost `json:"cost"`      // of deleting the object with the default cascade and creating it again
	Requested bool `json:"requested"` // the object asks its tool to replace it
	// RequestedNew is set where the change itself adds the request.
	RequestedNew bool   `json:"requestedNew,omitempty"`
	Accepted     bool   `json:"accepted"` // every violation of the object is accepted
	Message      string `json:"message"`  // the reason for the cost
	// How lists alternatives: edits, then replacements, the gentlest first. Each is one step, or several in their order,
	// each on a line of its own; then the first line can be a heading, which ends with a colon. A step is a sentence, a
	// command, or a command and a sentence with "   # " between them.
	How []string `json:"how"`

	// Must is set where no edit gets the change through: only a replacement makes it.
	Must bool `json:"-"`
}

// Cost is what deleting an object and creating it again costs.
type Cost string

// The costs, the least first; an unknown one comes before those that lose data. CostUnknown is for custom resources.
const (
	CostNone     Cost = "none"     // nothing is lost
	CostRestart  Cost = "restart"  // work starts again
	CostDowntime Cost = "downtime" // pods, an address or access are missing meanwhile
	CostUnknown  Cost = "unknown"
	CostData     Cost = "data"    // data can be lost
	CostCascade  Cost = "cascade" // other objects are deleted with it
)

// Costs returns the costs in their order.
func Costs() []Cost {
	return []Cost{CostNone, CostRestart, CostDowntime, CostUnknown, CostData, CostCascade}
}

// Deletion is an object of OLD that NEW no longer has.
type Deletion struct {
	Subject        // where OLD has the object
	Cost    Cost   `json:"cost"` // what is lost with it
	Kept    bool   `json:"kept"` // its tool does not delete it
	Message string `json:"message"`
	// How lists ways to keep the object or its data, the gentlest first, for an object that the tool deletes at the
	// cost of data or of other objects.
	How []string `json:"how"`

	// Refused is set where the deletion is a violation, too.
	Refused bool `json:"-"`
}

// Loses reports whether the deletion loses data or other objects.
func (d Deletion) Loses() bool { return !d.Kept && (d.Cost == CostData || d.Cost == CostCascade) }

// Unit is what one tool applies together, such as a kustomization or a chart.
type Unit struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	Objects int    `json:"objects"` // that were rendered; 0 for a unit that is the same on both sides
	Changed bool   `json:"changed"`
}

// NotCovered is a unit or file that could not be read as it is deployed.
type NotCovered struct {
	Unit string `json:"unit"` // name of the unit, or path of the file
	Kind string `json:"kind"` // "file" for a file that belongs to no unit
	// File and Line are where the change touches the unit; otherwise, and for a unit that did not change, where the
	// reason is.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// From is the file where the reason is, if that is another one.
	From    string `json:"from,omitempty"`
	Reason  string `json:"reason"`
	Changed bool   `json:"changed"`
	// Change is a digest of everything of both sides that the unit may read, for acceptances; "" if it cannot be
	// accepted.
	Change      string `json:"change,omitempty"`
	Accepted    bool   `json:"accepted,omitempty"`
	AcceptedNew bool   `json:"acceptedNew,omitempty"` // the change adds the acceptance

	// AcceptedReason is the reason of the entry that accepts it.
	AcceptedReason string `json:"-"`
}

// KindCount is a kind and how many objects of it there are.
type KindCount struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Objects    int    `json:"objects"`
	// Changed is how many of the objects both sides have, with different content.
	Changed int `json:"changed"`
}
