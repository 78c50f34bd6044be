package compare

import (
	"time"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
)

// Accepted violations. An entry of .fieldlock-accept.yaml accepts one change of one field of one object:
//
//	- object: dev/a
//	  kind: Widget
//	  path: spec.class
//	  rule: immutable
//	  change: 5f1d9a04c0e21b7d
//
// The next change of the field has another digest (internal/kind/digest.go), so the entry does not accept it.

// markAccepted marks the accepted violations. They stay in the report.
func (r *Report) markAccepted(in *Input, now time.Time) {
	for i := range r.Violations {
		v := &r.Violations[i]
		entry := in.Accepted.Match(entryOf(v), v.Rule, now)
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
			if v := &r.Violations[j]; v.Same(replacement.Subject) && !v.Accepted {
				replacement.Accepted = false
			}
		}
	}
	for i := range r.NotCovered {
		n := &r.NotCovered[i]
		entry := in.Accepted.MatchFile(n.Change, now, n.Unit, n.File)
		if entry == nil || !n.Changed {
			continue
		}
		n.Accepted, n.AcceptedReason = true, entry.Reason
		n.AcceptedNew = in.KnownOld && !in.OldAccepted.Has(entry)
	}
	r.Warnings = append(r.Warnings, in.Accepted.Warnings(now, false)...)
}

// Acceptances returns the entries that accept every violation of the report, and everything not covered, that is not
// accepted yet.
func (r *Report) Acceptances(reason string) []accept.Entry {
	var entries []accept.Entry
	for i := range r.Violations {
		if v := &r.Violations[i]; !v.Accepted {
			e := entryOf(v)
			e.Reason = reason
			entries = append(entries, e)
		}
	}
	for _, n := range r.Uncovered() {
		if n.Change != "" {
			entries = append(entries, accept.Entry{Path: n.Unit, Change: n.Change, Reason: reason})
		}
	}
	return entries
}

// entryOf returns the entry that accepts a violation and no other change, without a reason.
func entryOf(v *result.Violation) accept.Entry {
	return accept.Entry{Object: v.Object, Kind: v.Kind, Path: v.Path, Rule: v.Lock, Change: v.Change}
}
