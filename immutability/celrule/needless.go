package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// needless reports whether r can refuse no update from one valid object to another, because the schema and plain, rules
// without oldSelf, exclude the objects that it would refuse. In doubt it says no. Example, with the rule
// self.type != 'token' || has(self.token) next to it:
//
//	self.type != 'token' || !has(oldSelf.token) || has(self.token)
//
// It weighs only rules on strings and booleans outside of lists and maps: of those, a search knows every value that
// matters.
func (t *tree) needless(r *Rule, plain []*readRule) bool {
	if r.expr == nil || !r.Transition || r.OptionalOldSelf || !exact(newReadRule(r)) {
		return false
	}
	rules := relevant(plain, newReadRule(r), nil)
	m := newScenario(rules)
	update := step{scenario: m, newObj: 1, oldObj: 0}
	conditions := []condition{refusedBy(rules[0], update)}
	for _, read := range rules[1:] {
		conditions = append(conditions, acceptedBy(read, step{scenario: m}), acceptedBy(read, update))
	}
	return search(m, conditions) == refuted && !m.guessed(r.expr)
}

// exactPlain lists the rules without oldSelf that a scenario knows all values for.
func (t *tree) exactPlain() []*readRule {
	var plain []*readRule
	for _, l := range t.All {
		for _, other := range t.rules[l] {
			if other.expr == nil || other.Transition {
				continue
			}
			if read := newReadRule(other); exact(read) {
				plain = append(plain, read)
			}
		}
	}
	return plain
}

// exact reports whether a scenario knows all values of the fields of r that matter to r.
func exact(r *readRule) bool {
	return len(r.reads) > 0 && !slices.ContainsFunc(r.reads, func(l *schema.Location) bool {
		scalar := l.Type() == "string" || l.Type() == "boolean"
		return !scalar || isIntOrString(l.Schema) || unequal(l.Schema) != "" || !inProperties(l)
	})
}

// inProperties reports whether l and all locations above it are properties.
func inProperties(l *schema.Location) bool {
	for ; l.In != nil; l = l.Parent() {
		if l.Role != schema.Property {
			return false
		}
	}
	return true
}

// guessed reports whether m had to assume the truth of a part of x. Such a part can also be an error, which refuses.
func (m *scenario) guessed(x ast.Expr) bool {
	guessed := false
	visit(x, func(x ast.Expr) bool {
		_, unclear := m.texts[x]
		guessed = guessed || unclear
		return !guessed
	})
	return guessed
}
