package celrule

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Suspicions about one rule: that it refuses nothing, that it refuses too much, and that two updates get around it in
// spite of all that it guards.

// DeadRules returns the transition rules of s that can never refuse an update, since the schema has no objects that
// they refuse: has(self.f) == has(oldSelf.f), where f is required.
func (a *Audit) DeadRules(s *spec.Schema) []Suspicion {
	var findings []Suspicion
	for _, r := range a.auditor(s).all {
		*a.auditor(s).steps++
		c := &certainty{rule: r.Rule}
		if !r.Transition || r.OptionalOldSelf || c.of(r.expr) != always {
			continue
		}
		f := r.finding(immutability.SeverityWarning, finding.DeadRule)
		f.Message = fmt.Sprintf("the rule %q can never refuse an update of an object that fits the schema%s: remove "+
			"it, or correct it", r.Text, c.why)
		findings = append(findings, f)
	}
	return findings
}

// finding returns a finding at r.
func (r *readRule) finding(severity immutability.Severity, id string) Suspicion {
	return Suspicion{Of: r.Rule, Finding: crd.Finding{Finding: immutability.Finding{
		Path: r.Path, SchemaPath: r.SchemaPath, Severity: severity, Rule: id,
	}}}
}

// certainty evaluates what the schema alone decides of a rule: a required field is there, and a field of one value is
// equal to its old value.
type certainty struct {
	rule *Rule
	why  string // a reason, for people
}

// truth is what is certain about a condition.
type truth int

const (
	unknown truth = iota
	always
	never
)

func (t truth) negated() truth {
	switch t {
	case always:
		return never
	case never:
		return always
	}
	return unknown
}

// both is && of what is certain of two conditions.
func both(a, b truth) truth {
	switch {
	case a == never || b == never:
		return never
	case a == always && b == always:
		return always
	}
	return unknown
}

func (c *certainty) of(x ast.Expr) truth {
	if v, ok := literalOf(x); ok {
		switch v {
		case true:
			return always
		case false:
			return never
		}
	}
	if t, ok := askedFor(c.rule, x); ok && c.alwaysThere(t.at) {
		c.why = ", because " + displayPath(t.at) + " is always there"
		return always
	}
	if x.Kind() != ast.CallKind {
		return unknown
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return both(c.of(args[0]), c.of(args[1]))
	case operators.LogicalOr:
		return both(c.of(args[0]).negated(), c.of(args[1]).negated()).negated()
	case operators.LogicalNot:
		return c.of(args[0]).negated()
	case operators.Conditional:
		switch c.of(args[0]) {
		case always:
			return c.of(args[1])
		case never:
			return c.of(args[2])
		}
	case operators.Equals:
		return c.equal(x)
	case operators.NotEquals:
		return c.equal(x).negated()
	}
	return unknown
}

// askedFor returns the field that x asks for with has(); false for another expression.
func askedFor(r *Rule, x ast.Expr) (t term, ok bool) {
	if x.Kind() != ast.CallKind || x.AsCall().IsMemberFunction() || x.AsCall().FunctionName() != "has" ||
		len(x.AsCall().Args()) != 1 {
		return t, false
	}
	return termOf(r, x.AsCall().Args()[0])
}

// equal evaluates x, a comparison, as if its operator were ==.
func (c *certainty) equal(x ast.Expr) truth {
	if l := onBothSides(c.rule, x); l != nil {
		one := len(l.Schema.Enum) == 1 || l.IsMapKey()
		if !one || !c.alwaysThere(l) {
			return unknown
		}
		if len(l.Schema.Enum) == 1 {
			c.why = ", because " + displayPath(l) + " has one value only"
		}
		return always
	}
	args := x.AsCall().Args()
	a, b := c.of(args[0]), c.of(args[1])
	switch {
	case a == unknown || b == unknown:
		return unknown
	case a == b:
		return always
	}
	return never
}

// alwaysThere reports whether each object that has the location of the rule has l.
func (c *certainty) alwaysThere(l *schema.Location) bool {
	for ; l != c.rule.at; l = l.Parent() {
		if l.In == nil || !present(l) {
			return false
		}
	}
	return true
}

// StatusLocks returns the transition rules of s that may refuse every update from an object without a status to one
// with it. With the status subresource, no status can be written then.
func (a *Audit) StatusLocks(s *spec.Schema) []Suspicion {
	of := a.auditor(s)
	status := of.Root.Property("status")
	if status == nil || status.Schema.Default != nil {
		return nil
	}
	var findings []Suspicion
	inStatus := func(l *schema.Location) bool { return within(l, status) }
	for _, r := range of.all {
		*of.steps++
		if !r.Transition || r.OptionalOldSelf || inStatus(r.at) || !slices.ContainsFunc(r.reads, inStatus) {
			continue
		}
		f := r.finding(immutability.SeverityError, finding.StatusLock)
		f.Fields = []string{"status"}
		f.Message = fmt.Sprintf("the rule %q makes the first write of the status impossible: an object is created "+
			"without its status, "+
			"and the rule refuses to set it; begin it with !has(oldSelf.status) ||", r.Text)
		findings = append(findings, f)
	}
	return findings
}

// TwoSteps returns the transition rules of s that two updates may get around while everything that they guard stays
// there: self == oldSelf || self == 'A' || oldSelf == 'A' accepts B to A and A to C, and refuses B to C. Ways around
// that take a guarded field away for a while are Ways. Rules that say what locks say are left out: two updates of which
// a lock accepts each come to one that it accepts. A finding is a note, or a warning if the rule's message says without
// a condition that the field may not change.
func (a *Audit) TwoSteps(s *spec.Schema) []Suspicion {
	of := a.auditor(s)
	if !slices.ContainsFunc(of.all, (*readRule).mayTakeSteps) {
		return nil // reading rules as locks takes longer
	}
	isLock := map[RuleRef]bool{}
	for _, r := range Import(s).Recognized {
		isLock[RuleRef{r.SchemaPath, r.Index}] = true
	}
	var findings []Suspicion
	for _, r := range of.all {
		*of.steps++
		if !r.mayTakeSteps() || isLock[RuleRef{r.SchemaPath, r.Index}] {
			continue
		}
		f := r.finding(immutability.SeverityNote, finding.CELTwoSteps)
		f.Message = fmt.Sprintf("two updates get around the rule %q, which refuses the change at once", r.Text)
		if saysFixed(r.Message()) {
			f.Severity = immutability.SeverityWarning
		}
		for _, g := range r.guards {
			f.Fields = append(f.Fields, displayPath(g))
		}
		slices.Sort(f.Fields)
		f.Fields = slices.Compact(f.Fields)
		findings = append(findings, f)
	}
	return findings
}

// mayTakeSteps reports whether r is a transition rule that says more than that fields equal their old values: what is
// equal to its old value twice is equal to the first.
func (r *readRule) mayTakeSteps() bool {
	equal := func(x ast.Expr) bool {
		return x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Equals &&
			onBothSides(r.Rule, x) != nil
	}
	return r.Transition && slices.ContainsFunc(celexpr.Operands(r.expr, operators.LogicalAnd), func(x ast.Expr) bool {
		return !equal(x)
	})
}

// saysFixed reports whether the message of a rule says that a field may not change, and not under which condition.
func saysFixed(message string) bool {
	return (schema.SaysLocked.MatchString(message) || cannotChange.MatchString(message)) &&
		!conditional.MatchString(message)
}

var (
	cannotChange = regexp.MustCompile(`(?i)\b(can ?not|can't|may not|must not|should not) (change|be (changed|updated|modified|altered))\b` +
		`|\bunchangeable\b|\bread-?only\b`)
	conditional = regexp.MustCompile(`(?i)\b(unless|except|while|when|whenever|until|if|after|other than|only)\b`)
)
