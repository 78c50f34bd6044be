package celrule

import (
	"cmp"
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// condition is what a search wants of a scenario: yes if it is satisfied, open if that is not decided.
type condition func(*scenario) outcome

// verdict is the result of a search.
type verdict int

const (
	refuted   verdict = iota // no scenario satisfies the conditions
	found                    // the scenario satisfies them
	undecided                // the search was given up, or the audit has no steps left
)

// maxSteps bounds a search.
const maxSteps = 1000

// possible reports whether m can satisfy all conditions, and whether that is sure: not if the search was given up, or m
// had to assume something of an expression that is not understood.
func possible(m *scenario, conditions []condition) (sure, possible bool) {
	result := search(m, conditions)
	return result == found && m.sure(), result != refuted
}

// search completes m until all conditions are satisfied. It answers one question after the other, the first one that a
// condition asks, and goes back when a condition fails. For "f is in object 0, not in 1, and in 2 with another value"
// and the rule self == oldSelf on f, the conditions ask for the values of f in objects 0 and 2, and no more.
func search(m *scenario, conditions []condition) verdict {
	budget := maxSteps
	return solve(m, conditions, &budget)
}

func solve(m *scenario, conditions []condition, budget *int) verdict {
	if *budget--; *budget < 0 || m.effort.over() {
		return undecided
	}
	var next *question
	var choices []any
	var left []condition // what is satisfied stays so, whatever else is answered
	m.effort.spend(len(conditions))
	for _, holds := range conditions {
		m.pending, m.choices = nil, nil
		switch holds(m) {
		case no, fails:
			return refuted
		case yes:
		default:
			left = append(left, holds)
			if next == nil && m.pending != nil {
				next, choices = m.pending, m.choices
			}
		}
	}
	if next == nil {
		return found
	}
	for _, choice := range choices {
		m.answers[*next] = choice
		if result := solve(m, left, budget); result != refuted {
			return result
		}
		delete(m.answers, *next)
	}
	return refuted
}

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

// Holes returns the ways around the CEL transition rules of s, sorted by path. The API server runs a transition rule only
// where the old and the new object both have the field that it belongs to. So a value that can be absent for a while can
// change: unset and set, its parent removed and added, its key removed and added. Unknown fields can be swapped at once.
// A hole is reported if there can be objects for it: all rules of s, with and without oldSelf, its locks and the schema
// are weighed together. Cost: for each rule and each optional field above it, a search of bounded size.
func (a *Audit) Holes(s *spec.Schema) []Hole { return a.auditor(s).holes() }

// DeadRules returns the transition rules of s that can never refuse an update, where this follows from the rule and the
// schema.
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

// detour returns the scenario of a first, a second and a third object of which the second one lacks gone. As with the
// status subresource, an update changes the status or everything else.
func detour(rules []*readRule, gone *schema.Location) *scenario {
	m := newScenario(rules)
	m.track(gone)
	status, known := inStatus(gone), map[*schema.Location]bool{}
	m.fixed = func(l *schema.Location) bool {
		in, ok := known[l]
		if !ok {
			in = inStatus(l)
			known[l] = in
		}
		return in != status
	}
	for object, there := range []bool{true, false, true} {
		for up := gone.Parent(); up.In != nil; up = up.Parent() {
			m.set(object, askPresence, up, true)
		}
		m.set(object, askPresence, gone, there)
	}
	return m
}

// inStatus reports whether l is the status of the whole object or below it.
func inStatus(l *schema.Location) bool {
	if l.In == nil {
		return false
	}
	for l.Parent().In != nil {
		l = l.Parent()
	}
	return l.Name == "status"
}

// refusedBy wants a rule to refuse a step.
func refusedBy(r *readRule, s step) condition {
	return func(*scenario) outcome {
		switch o := s.judge(r.Rule); {
		case o.refuses():
			return yes
		case o == yes:
			return no
		}
		return open
	}
}

// acceptedBy wants a rule to accept a step. Of a rule without oldSelf it is the new object that counts.
func acceptedBy(r *readRule, s step) condition {
	return func(*scenario) outcome { return s.judge(r.Rule) }
}

// eachAccepted wants a rule to accept a step as acceptedBy does. Each operand of && is a condition of its own, because what
// is satisfied is not evaluated again.
func eachAccepted(conditions []condition, r *readRule, s step) []condition {
	if r.parts == nil {
		r.parts = operands(r.expr, operators.LogicalAnd)
	}
	for _, part := range r.parts {
		conditions = append(conditions, func(*scenario) outcome {
			result, _ := judge(r.Rule, part, s)
			return result
		})
	}
	return conditions
}

// admitted wants rules and locks to accept the steps, and the object that they start from.
func (a *auditor) admitted(rules []*readRule, steps ...step) []condition {
	start := steps[0]
	start.newObj = start.oldObj
	var conditions []condition
	for _, r := range rules {
		if !r.Transition {
			conditions = eachAccepted(conditions, r, start)
		}
		for _, s := range steps {
			conditions = eachAccepted(conditions, r, s)
		}
	}
	return append(conditions, a.fits(steps...)...)
}

// fits wants the locks to accept the steps, and the objects of the steps to satisfy the combinations of schemas.
func (a *auditor) fits(steps ...step) []condition {
	m := steps[0].scenario
	var tracked []*schema.Location
	for l := range m.tracked {
		if _, ok := a.constrained[l]; ok {
			tracked = append(tracked, l)
		}
	}
	slices.SortFunc(tracked, func(l, other *schema.Location) int { return cmp.Compare(a.constrained[l], a.constrained[other]) })
	var conditions []condition
	for _, l := range tracked {
		if combines(l.Schema) {
			for object := range steps[len(steps)-1].newObj + 1 {
				conditions = append(conditions, func(*scenario) outcome { return combination(m, object, l) })
			}
		}
		if l.Marks.Locked() {
			for _, s := range steps {
				conditions = append(conditions, func(*scenario) outcome { return s.locks(l) })
			}
		}
	}
	return conditions
}

// combination tells whether an object satisfies the combinations of schemas at l. What is not understood counts as
// satisfied.
func combination(m *scenario, object int, l *schema.Location) outcome {
	switch there := m.present(object, l); there {
	case no:
		return yes
	case yes:
		if o := demands(m, object, l, l.Schema); o != opaque {
			return o
		}
		return yes
	default:
		return there
	}
}

// combines reports whether s has allOf, anyOf, oneOf or not.
func combines(s *spec.Schema) bool {
	return len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil
}

// demands tells whether an object satisfies the combinations of schemas at l, as far as they are about which fields are
// present and which of an enum's values they have. The rest is opaque.
func demands(m *scenario, object int, l *schema.Location, s *spec.Schema) outcome {
	result := yes
	for i := range s.AllOf {
		result = and(result, satisfies(m, object, l, &s.AllOf[i]))
	}
	if len(s.AnyOf) > 0 {
		some := no
		for i := range s.AnyOf {
			some = or(some, satisfies(m, object, l, &s.AnyOf[i]))
		}
		result = and(result, some)
	}
	if len(s.OneOf) > 0 {
		none, one := yes, no
		for i := range s.OneOf {
			this := satisfies(m, object, l, &s.OneOf[i])
			none, one = and(none, not(this)), or(and(one, not(this)), and(none, this))
		}
		result = and(result, one)
	}
	if s.Not != nil {
		result = and(result, not(satisfies(m, object, l, s.Not)))
	}
	return result
}

// satisfies tells whether an object satisfies s, a part of a combination at l.
func satisfies(m *scenario, object int, l *schema.Location, s *spec.Schema) outcome {
	result := demands(m, object, l, s)
	for _, name := range s.Required {
		result = and(result, hasField(m, object, l.Property(name)))
	}
	for name := range s.Properties {
		property := s.Properties[name]
		there := hasField(m, object, l.Property(name))
		result = and(result, or(not(there), isOneOf(m, object, l.Property(name), there, &property)))
	}
	if s.Type != nil && !s.Type.Contains("object") || s.Items != nil || s.AdditionalProperties != nil || s.MinProperties != nil || s.MaxProperties != nil || len(s.Enum) > 0 ||
		s.Pattern != "" || s.MinItems != nil || s.MaxItems != nil || s.MinLength != nil || s.MaxLength != nil || s.Minimum != nil || s.Maximum != nil {
		result = and(result, opaque)
	}
	return result
}

func hasField(m *scenario, object int, l *schema.Location) outcome {
	if l == nil || !m.tracked[l] {
		return opaque
	}
	return m.present(object, l)
}

// isOneOf tells whether a field has one of the values of the enum of s.
func isOneOf(m *scenario, object int, l *schema.Location, there outcome, s *spec.Schema) outcome {
	if there != yes || len(s.Enum) == 0 || m.composite(l) {
		return opaque
	}
	v, ok := m.value(object, l)
	if !ok {
		return open
	}
	return of(inEnum(s, v))
}
