package audit

import (
	"time"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Report is the result of lint, with the JSON form that lint -o json prints.
type Report struct {
	Findings []Finding `json:"findings"` // by CRD; errors first, then in the order of the file
	Errors   []string  `json:"errors,omitempty"`

	// CRDs is how many CRDs were read; Locked is set when one of them has a lock or a transition rule.
	CRDs   int  `json:"-"`
	Locked bool `json:"-"`
	// Explained is set when witnesses were asked for.
	Explained bool `json:"-"`
	// Strict is set when warnings count as errors.
	Strict bool `json:"-"`

	steps int // that were taken, for tests
}

// Finding is one finding about a CRD.
type Finding struct {
	File       string `json:"file"`
	Line       int    `json:"line,omitempty"`
	CRD        string `json:"crd"`
	Version    string `json:"version,omitempty"`
	Path       string `json:"path"`
	SchemaPath string `json:"schemaPath"`
	Severity   string `json:"severity"`
	Rule       string `json:"rule"`
	Message    string `json:"message"`

	// Fix is YAML to paste, "" where only the author knows what to do.
	Fix string `json:"fix,omitempty"`
	// Witness shows a hole, if Options asked for it.
	Witness *Witness `json:"witness,omitempty"`

	Accepted    bool `json:"accepted,omitempty"`
	AcceptedNew bool `json:"acceptedNew,omitempty"` // the change adds the acceptance

	Column int `json:"-"`

	// Change is what Fix says, for tools that make it; nil where Fix is "".
	Change *immutability.Fix `json:"-"`
}

// newFinding makes the finding that reports show.
func newFinding(f crd.Finding) Finding {
	finding := Finding{
		File: f.Position.Filename, Line: f.Position.Line, Column: f.Position.Column, CRD: f.CRD, Version: f.Version, Path: f.Path, SchemaPath: f.SchemaPath,
		Severity: string(f.Severity), Rule: f.Rule, Message: f.Message,
	}
	if f.Fix != nil {
		finding.Fix, finding.Change = f.Fix.Text, f.Fix
	}
	return finding
}

// IsNote reports whether the finding is a hole that is possible and could not be shown. It never fails.
func (f *Finding) IsNote() bool { return f.Severity == string(immutability.SeverityNote) }

// IsError reports whether the finding is an error, whatever Strict says.
func (f *Finding) IsError() bool { return f.Severity == string(immutability.SeverityError) }

// Same reports whether two findings are the same for two versions of one CRD.
func (f *Finding) Same(g *Finding) bool {
	return f.File == g.File && f.CRD == g.CRD && f.Path == g.Path && f.Rule == g.Rule && f.Message == g.Message
}

// Refused reports whether the findings fail the run.
func (r *Report) Refused() bool {
	for i := range r.Findings {
		if f := &r.Findings[i]; !f.Accepted && (f.IsError() || r.Strict && !f.IsNote()) {
			return true
		}
	}
	return false
}

// Witness shows a hole: objects in the order of writing. Each is valid, every lock and rule accepts each step, and going
// from the first to the last directly is refused.
type Witness struct {
	Objects []map[string]any `json:"objects"`

	// Refused says what refuses the direct way.
	Refused []witness.Refusal `json:"-"`
}

// Accept marks the findings that somebody has accepted, and returns warnings about the entries. They stay in the report.
// With knownOld an acceptance that oldList does not have is marked as new.
func (r *Report) Accept(newList, oldList *accept.List, knownOld bool, now time.Time) []string {
	for i := range r.Findings {
		f := &r.Findings[i]
		if entry := newList.Match(accept.Finding{CRD: f.CRD, Path: f.Path, Rule: f.Rule}, now); entry != nil {
			f.Accepted = true
			f.AcceptedNew = knownOld && !oldList.Has(entry)
		}
	}
	return newList.Warnings(now, true)
}

// Acceptances returns the entries that accept every finding that is not accepted yet, each once.
func (r *Report) Acceptances(reason string) []accept.Entry {
	var entries []accept.Entry
	seen := map[accept.Entry]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		e := accept.Entry{CRD: f.CRD, Path: f.Path, Rule: f.Rule, Reason: reason}
		if !f.Accepted && !seen[e] {
			entries = append(entries, e)
		}
		seen[e] = true
	}
	return entries
}
