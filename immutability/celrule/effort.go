package celrule

import (
	"cmp"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Ceiling is how many steps an Audit takes unless it says otherwise. A step is about a question to the objects that a
// search makes up, or a location or rule that it looks at.
const Ceiling = 12_000_000

// Audit looks for the ways around the transition rules of one CRD. All its searches together end after a number of steps:
// LeftOut names what it did not look at then. The zero Audit is ready to use.
type Audit struct {
	// Ceiling is how many steps the audit takes, 0 for the constant Ceiling.
	Ceiling int

	effort   effort
	auditors map[*spec.Schema]*auditor
}

// effort counts the steps of an audit. A nil effort counts nothing and never ends.
type effort struct {
	spent   int
	ceiling int
	leftOut []string // paths for people
}

// spend counts n steps.
func (e *effort) spend(n int) {
	if e != nil {
		e.spent += n
	}
}

// over reports whether no steps are left.
func (e *effort) over() bool { return e != nil && e.spent >= e.ceiling }

// leave notes that l is not looked at if no steps are left, and reports whether that is so.
func (e *effort) leave(l *schema.Location) bool {
	if !e.over() {
		return false
	}
	e.leftOut = append(e.leftOut, displayPath(l))
	return true
}

// auditor reads the rules of s, once.
func (a *Audit) auditor(s *spec.Schema) *auditor {
	if a.auditors[s] == nil {
		if a.auditors == nil {
			a.effort.ceiling = cmp.Or(a.Ceiling, Ceiling)
			a.auditors = map[*spec.Schema]*auditor{}
		}
		a.auditors[s] = newAuditor(readTree(s), &a.effort)
	}
	return a.auditors[s]
}

// Holes returns what the function Holes does, as far as the steps of the audit reach.
func (a *Audit) Holes(s *spec.Schema) []Hole { return a.auditor(s).holes() }

// DeadRules returns what the function DeadRules does, as far as the steps of the audit reach.
func (a *Audit) DeadRules(s *spec.Schema) []DeadRule { return a.auditor(s).dead() }

// Transitions reports whether s has a transition rule.
func (a *Audit) Transitions(s *spec.Schema) bool {
	for _, rules := range a.auditor(s).rules {
		if slices.ContainsFunc(rules, func(r *Rule) bool { return r.Transition }) {
			return true
		}
	}
	return false
}

// Steps returns how many steps the audit has taken.
func (a *Audit) Steps() int { return a.effort.spent }

// LeftOut returns the fields and rules, as paths for people, for which ways around rules were not looked for because no
// steps were left. They are sorted.
func (a *Audit) LeftOut() []string {
	return slices.Compact(slices.Sorted(slices.Values(a.effort.leftOut)))
}
