package audit

import (
	"time"

	"github.com/fieldlock/fieldlock/internal/accept"
)

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
