package celrule

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/schema"
)

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
