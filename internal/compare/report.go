package compare

import "encoding/json"

// Report is the result of a check, with the JSON form that check -o json prints. Fields without a JSON name serve the
// other formats.
type Report struct {
	Allowed        bool          `json:"allowed"`
	Checked        int           `json:"checked"` // objects that some schema covers: updated, created, deleted
	Skipped        int           `json:"skipped"`
	SkippedKinds   []SkippedKind `json:"skippedKinds"`
	Violations     []Violation   `json:"violations"` // by object in the order of NEW, then by path
	Unknown        []Remark      `json:"unknown"`
	Notes          []Remark      `json:"notes"`
	Replacements   []Replacement `json:"replacements"`
	Warnings       []string      `json:"warnings"`
	MoreViolations int           `json:"moreViolations,omitempty"` // beyond the limit of a report
	Errors         []Error       `json:"errors,omitempty"`

	Updated, Created, Deleted int `json:"-"`
	// Others is how many of the skipped documents are not objects.
	Others int `json:"-"`
}

// Subject is an object that the report is about.
type Subject struct {
	Object     string `json:"object"` // "namespace/name", or "name"
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	File       string `json:"file,omitempty"`
	// Line is the line of the field, or of its nearest parent in NEW; of a Replacement, the line of the object.
	Line int `json:"line,omitempty"`

	// Column belongs to Line; ObjectLine is where the object begins.
	Column, ObjectLine int `json:"-"`
}

// Same reports whether two subjects are one object.
func (s *Subject) Same(other *Subject) bool {
	return s.Object == other.Object && s.Kind == other.Kind && s.File == other.File && s.ObjectLine == other.ObjectLine
}

// Violation is one lock or rule that an update breaks.
type Violation struct {
	Subject
	// OldFile and OldLine are where OLD has the field, or its nearest parent; "" and 0 for an object of a cluster.
	OldFile string `json:"oldFile,omitempty"`
	OldLine int    `json:"oldLine,omitempty"`

	Path            string          `json:"path"`
	Lock            string          `json:"lock"`           // a lock of the contract, "incomparable" or "rule"
	Rule            string          `json:"rule,omitempty"` // text of the CEL rule
	SchemaPath      string          `json:"schemaPath,omitempty"`
	Old             json.RawMessage `json:"old,omitempty"`
	New             json.RawMessage `json:"new,omitempty"`
	Key             json.RawMessage `json:"key,omitempty"`
	Differences     []Difference    `json:"differences,omitempty"`
	MoreDifferences int             `json:"moreDifferences,omitempty"` // beyond the limit of a report
	ValuesLeftOut   bool            `json:"valuesLeftOut,omitempty"`   // Old and New, which the report has often enough
	Redacted        bool            `json:"redacted,omitempty"`
	Accepted        bool            `json:"accepted,omitempty"`
	AcceptedNew     bool            `json:"acceptedNew,omitempty"` // the change adds the acceptance
	Message         string          `json:"message"`

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
	// Says is the message of the CEL rules that the lock stands for.
	Says string `json:"-"`
	// OnlyOld is set for a lock that NEW no longer has.
	OnlyOld bool `json:"-"`
}

// Difference is one place below a violation at which the two sides differ.
type Difference struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// Remark is something to know about a field that is not a violation.
type Remark struct {
	Subject
	Path    string `json:"path"`
	Message string `json:"message"`
}

// SkippedKind is a kind that no schema covers.
type SkippedKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Objects    int    `json:"objects"`
}

// Replacement is what it takes to replace a refused object.
type Replacement struct {
	Subject
	Cost      string   `json:"cost"`      // one of the costs below
	Requested bool     `json:"requested"` // the object asks its tool to replace it
	Accepted  bool     `json:"accepted"`  // every violation of the object is accepted
	Message   string   `json:"message"`
	How       []string `json:"how"` // commands or edits, the gentlest way first
}

// The costs of deleting an object and creating it again.
const (
	CostNone     = "none"     // nothing is lost
	CostRestart  = "restart"  // work starts again
	CostDowntime = "downtime" // pods, an address or access are missing meanwhile
	CostData     = "data"     // data can be lost
	CostCascade  = "cascade"  // other objects are deleted with it
	CostUnknown  = "unknown"
)

// Error is an input that could not be used.
type Error struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`

	// Text is the whole error as one text, with file and line.
	Text string `json:"-"`
}

// Refused reports whether the violation counts against the change.
func (v *Violation) Refused() bool { return !v.Accepted && !v.Replaced }
