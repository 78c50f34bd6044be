package celrule

import (
	"fmt"

	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// DeadRule is a finding about a transition rule that can never refuse anything.
type DeadRule struct {
	immutability.Finding
	Of RuleRef
}

// dead returns a finding for each transition rule that can refuse no update of one object that fits the schema to
// another, whatever the other rules are. Rules about keys and items are left out: a scenario knows one key only.
func (a *auditor) dead() []DeadRule {
	var findings []DeadRule
	for _, r := range a.all {
		if !r.Transition || quantifies(r.expr) || a.leave(r.at) {
			continue
		}
		m := a.scenario(newScenario([]*readRule{r}))
		if search(m, []condition{refusedBy(r, step{scenario: m, newObj: 1, oldObj: 0})}) != refuted {
			a.leave(r.at)
			continue
		}
		findings = append(findings, DeadRule{Of: RuleRef{r.SchemaPath, r.Index}, Finding: immutability.Finding{
			Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityWarning, Rule: rule.DeadRule,
			Message: fmt.Sprintf("the rule %q can never refuse an update of an object that fits the schema: remove it, or correct it", r.Text),
		}})
	}
	return findings
}

// quantifies reports whether x has a macro such as all or exists.
func quantifies(x ast.Expr) bool {
	found := false
	visit(x, func(x ast.Expr) bool {
		if x.Kind() == ast.CallKind {
			_, _, ok := macro(x.AsCall())
			found = found || ok
		}
		return !found
	})
	return found
}
