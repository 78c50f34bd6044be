package result

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
