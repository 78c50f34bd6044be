package celrule

import (
	"fmt"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Dropped returns the transition rules of oldSchema that newSchema, the same version after an update of its CRD, lacks or
// has in a weaker form: those that refuse an update which newSchema accepts. A rule in other words or at another place that
// refuses as much is not dropped, nor is one whose fields have gone or are locked now. A rule that is not understood counts
// as dropped when its text is gone; the finding is a warning then, otherwise an error. Cost: that of HolesBetween.
func (a *Audit) Dropped(newSchema, oldSchema *spec.Schema) []immutability.Finding {
	p := newVersionPair("", a.auditor(newSchema), a.auditor(oldSchema))
	var findings []immutability.Finding
	for _, r := range p.strict.all {
		if !r.Transition || p.lax.leave(r.at) || p.missing(r.guards) != nil || p.locked(r) {
			continue
		}
		p.lax.spend(len(r.reads) * stepsToFind)
		sure, found := p.throughUpdate(r)
		if !found || !sure && p.has(r) {
			continue
		}
		f := immutability.Finding{Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityError, Rule: rule.LockDropped}
		if !sure {
			f.Severity = immutability.SeverityWarning
		}
		for _, g := range r.guards {
			f.Fields = append(f.Fields, displayPath(g))
		}
		slices.Sort(f.Fields)
		f.Message = fmt.Sprintf("the update of the CRD drops or weakens the rule %q on %s, so that updates which it refuses are accepted; clients rely on the values to stay",
			r.Text, rule.Enumerate(f.Fields))
		findings = append(findings, f)
	}
	return findings
}

// has reports whether the lax version has a rule with the text of r at the same place.
func (p *versionPair) has(r *readRule) bool {
	return slices.ContainsFunc(p.lax.all, func(other *readRule) bool {
		return other.SchemaPath == r.SchemaPath && other.Text == r.Text && other.OptionalOldSelf == r.OptionalOldSelf
	})
}

// locked reports whether a lock of the lax version, on it or above it, keeps each field that r guards: its value, and if r
// is above the field also that it is there.
func (p *versionPair) locked(r *readRule) bool {
	for _, f := range r.guards {
		l, needed := p.lax.Find(f.Path.Pointer()), schema.Modify
		if f != r.at {
			needed |= schema.Unset
		}
		for l != nil && !l.Marks.Refuses().Has(needed) {
			l, needed = l.Parent(), schema.Modify
		}
		if l == nil {
			return false
		}
	}
	return len(r.guards) > 0
}
