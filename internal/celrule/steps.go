package celrule

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// TwoSteps returns the transition rules of s, of any form, that two updates may get around while everything that they guard
// stays there: self == oldSelf || self == 'A' || oldSelf == 'A' accepts B to A and A to C, and refuses B to C. Ways around
// that take a guarded field away for a while are Holes. A rule is left out if the rules and the schema show that there is no
// such way; for the others only objects can tell. A finding is a note, or a warning if the rule's message says without a
// condition that the field may not change.
func (a *Audit) TwoSteps(s *spec.Schema) []RuleFinding { return a.auditor(s).twoSteps() }

func (a *auditor) twoSteps() []RuleFinding {
	var findings []RuleFinding
	for _, r := range a.all {
		if !r.Transition || a.leave(r.at) || a.oneStep(r) {
			continue
		}
		f := immutability.Finding{
			Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityNote, Rule: rule.CELTwoSteps,
			Message: fmt.Sprintf("two updates get around the rule %q, which refuses the change at once", r.Text),
		}
		if saysFixed(r.Message()) {
			f.Severity = immutability.SeverityWarning
		}
		for _, g := range r.guards {
			if path := displayPath(g); !slices.Contains(f.Fields, path) {
				f.Fields = append(f.Fields, path)
			}
		}
		slices.Sort(f.Fields)
		findings = append(findings, RuleFinding{f, RuleRef{r.SchemaPath, r.Index}})
	}
	return findings
}

// saysFixed reports whether the message of a rule says that a field may not change, and not under which condition.
func saysFixed(message string) bool {
	return (schema.SaysLocked.MatchString(message) || cannotChange.MatchString(message)) && !conditional.MatchString(message)
}

var (
	cannotChange = regexp.MustCompile(`(?i)\b(can ?not|can't|may not|must not|should not) (change|be (changed|updated|modified|altered))\b|\bunchangeable\b|\bread-?only\b`)
	conditional  = regexp.MustCompile(`(?i)\b(unless|except|while|when|whenever|until|if|after|other than|only)\b`)
)

// oneStep reports whether r refuses at once whatever two updates in a row come to, as long as what it guards stays there. With
// the status subresource, both updates and the direct one change the status, or else everything but the status. Of a rule
// with operands of &&, each is asked about alone.
func (a *auditor) oneStep(r *readRule) bool {
	status := slices.ContainsFunc(r.reads, inStatus)
	other := slices.ContainsFunc(r.reads, func(l *schema.Location) bool { return !inStatus(l) && l.In != nil })
	if quantifies(r.expr) && !(status && other) {
		return false // a scenario knows one key only
	}
	var rules []*readRule
	for _, part := range r.operands() {
		if _, operator := onBothSides(r.Rule, part); operator == operators.Equals {
			continue // what is equal to its old value twice is equal to the first
		}
		if rules == nil {
			rules = a.byPlace.relevant(r, nil, a.effort)
		}
		if status && !a.refutesSteps(r, part, rules, true) || (other || !status) && !a.refutesSteps(r, part, rules, false) {
			return false
		}
	}
	return true
}

// refutesSteps reports whether no two updates get around an operand of r. They change the status, or else everything but
// the status.
func (a *auditor) refutesSteps(r *readRule, part ast.Expr, rules []*readRule, status bool) bool {
	m := a.scenario(newScenario(rules))
	m.fix(!status)
	for object := range 3 {
		for l := r.at; l.In != nil; l = l.Parent() {
			m.set(object, askPresence, l, true)
		}
	}
	verdict := func(newObj, oldObj int) outcome {
		result, _ := judge(r.Rule, part, step{scenario: m, newObj: newObj, oldObj: oldObj})
		return result
	}
	conditions := []condition{ // what the operand decides alone comes before all other questions
		func(*scenario) outcome { return refused(verdict(2, 0)) },
		func(*scenario) outcome { return verdict(1, 0) },
		func(*scenario) outcome { return verdict(2, 1) },
	}
	conditions = append(conditions, a.admitted(rules, step{scenario: m, newObj: 1, oldObj: 0}, step{scenario: m, newObj: 2, oldObj: 1})...)
	for _, g := range r.guards {
		conditions = append(conditions, func(m *scenario) outcome {
			return not(and(and(m.present(0, g), m.present(2, g)), not(m.present(1, g))))
		})
	}
	return search(m, conditions) == refuted
}
