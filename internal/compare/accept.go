package compare

import (
	"time"

	"github.com/fieldlock/fieldlock/internal/accept"
)

// accept marks the violations that somebody has accepted. They stay in the report.
func (r *Report) accept(in *Input, now time.Time) {
	for i := range r.Violations {
		v := &r.Violations[i]
		entry := in.Accepted.Match(accept.Finding{Object: v.Object, Kind: v.Kind, Path: v.Path, Rule: v.Lock, Text: v.Rule, Change: v.Change}, now)
		if entry == nil {
			continue
		}
		v.Accepted, v.AcceptedReason = true, entry.Reason
		v.AcceptedNew = in.KnownOld && !in.OldAccepted.Has(entry)
	}
	for i := range r.Replacements {
		replacement := &r.Replacements[i]
		replacement.Accepted = true
		for j := range r.Violations {
			if v := &r.Violations[j]; v.Same(&replacement.Subject) && !v.Accepted {
				replacement.Accepted = false
			}
		}
	}
	r.Warnings = append(r.Warnings, in.Accepted.Warnings(now, false)...)
}

// Acceptances returns the entries that accept every violation of the report that is not accepted yet.
func (r *Report) Acceptances(reason string) []accept.Entry {
	var entries []accept.Entry
	for i := range r.Violations {
		if v := &r.Violations[i]; !v.Accepted {
			entries = append(entries, accept.Entry{Object: v.Object, Kind: v.Kind, Path: v.Path, Rule: v.Lock, Change: v.Change, Reason: reason})
		}
	}
	return entries
}
