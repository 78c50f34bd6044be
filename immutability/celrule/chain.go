package celrule

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// maxLiterals bounds how many literals are told apart in the states of a chain.
const maxLiterals = 4

// chain is the one line of properties that a rule reads: at[0] is the location of the rule (or its parent, if the rule
// reads itself only), each other one is a property of the one before.
type chain struct {
	tree *tree
	rule *Rule
	at   []*schema.Location

	literals []any // what the rule compares the last location with
	keyed    bool  // whether the rule asks for keys, items or the size of the last location
	plain    []*Rule
}

// chainOf returns the chain of what x, a conjunct of rule r, reads. If there is none, it returns why.
func chainOf(t *tree, r *Rule, x ast.Expr) (*chain, string) {
	c := &chain{tree: t, rule: r}
	last := r.at
	terms := termsIn(r, x)
	for _, term := range terms {
		if within(term.at, last) {
			last = term.at
		}
	}
	for _, term := range terms {
		if !within(last, term.at) {
			return nil, "it ties fields to each other"
		}
	}
	if reason := unreadable(r, x); reason != "" {
		return nil, reason
	}
	for l := last; l != r.at; l = l.Parent() {
		if ofResource(l) {
			return nil, "a lock is not allowed in " + l.Name
		}
		c.at = append(c.at, l)
	}
	c.at = append(c.at, r.at)
	// A rule on a property runs only where both sides have it. Seen from the parent, it can be weighed together with what
	// other rules say of its presence.
	if last == r.at && r.at.Role == schema.Property {
		c.at = append(c.at, r.at.Parent())
	}
	slices.Reverse(c.at)
	c.findLiterals(x)
	for _, l := range c.at {
		for _, r := range t.rules[l] {
			if r.expr != nil && !r.Transition {
				c.plain = append(c.plain, r)
			}
		}
	}
	return c, ""
}

// unreadable returns why x selects something from self or oldSelf that is not a property of the schema, or "".
func unreadable(r *Rule, x ast.Expr) (reason string) {
	visit(x, func(x ast.Expr) bool {
		if _, ok := termOf(r, x); ok {
			return false
		}
		if x.Kind() == ast.SelectKind {
			if t, ok := termOf(r, x.AsSelect().Operand()); ok && reason == "" {
				reason = "it reads " + x.AsSelect().FieldName() + ", which is not a property of " + displayPath(t.at)
				if t.at.Name == "metadata" {
					reason = "a lock is not allowed in metadata"
				}
			}
		}
		return true
	})
	return reason
}

func (c *chain) last() *schema.Location { return c.at[len(c.at)-1] }

// level returns the index of l in the chain, and whether it is there.
func (c *chain) level(l *schema.Location) (int, bool) {
	i := slices.Index(c.at, l)
	return i, i >= 0
}

// findLiterals collects what the last location is compared with.
func (c *chain) findLiterals(x ast.Expr) {
	c.literals = literalsIn(x, c.last().Schema, maxLiterals)
	visit(x, func(x ast.Expr) bool {
		_, size := sized(x)
		if x.Kind() == ast.CallKind {
			_, _, quantified := macro(x.AsCall())
			c.keyed = c.keyed || quantified
		}
		c.keyed = c.keyed || size && !c.last().Schema.Type.Contains("string")
		return true
	})
}

// classes lists the literals, by index, that a valid value of the last location can be, and -1 for other values.
func (c *chain) classes() []int {
	s := c.last().Schema
	var classes []int
	if !allLiterals(s, c.literals) {
		classes = append(classes, -1)
	}
	for i, v := range c.literals {
		if admits(s, v) {
			classes = append(classes, i)
		}
	}
	return classes
}

// maxConjuncts bounds how far a rule is split: a rule beyond it is read as a whole.
const maxConjuncts = 16

// conjuncts splits x into expressions that are all true exactly when x is: at &&, and at || and ?: whose operands split.
// (a && b) || c becomes a || c and b || c.
func conjuncts(x ast.Expr) []ast.Expr {
	if split := (distributor{ast.NewExprFactory()}).split(x); len(split) <= maxConjuncts {
		return split
	}
	return []ast.Expr{x}
}

// distributor distributes || and ?: over &&.
type distributor struct{ ast.ExprFactory }

func (d distributor) split(x ast.Expr) []ast.Expr {
	if x.Kind() != ast.CallKind {
		return []ast.Expr{x}
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return append(d.split(args[0]), d.split(args[1])...)
	case operators.LogicalOr:
		return d.cross(d.split(args[0]), d.split(args[1]), func(a, b ast.Expr) ast.Expr {
			return d.NewCall(0, operators.LogicalOr, a, b)
		})
	case operators.Conditional:
		return d.cross(d.split(args[1]), d.split(args[2]), func(a, b ast.Expr) ast.Expr {
			return d.NewCall(0, operators.Conditional, args[0], a, b)
		})
	case operators.LogicalNot:
		return d.negated(args[0])
	}
	return []ast.Expr{x}
}

// negated splits !x.
func (d distributor) negated(x ast.Expr) []ast.Expr {
	if x.Kind() == ast.CallKind {
		args := x.AsCall().Args()
		switch x.AsCall().FunctionName() {
		case operators.LogicalOr:
			return append(d.negated(args[0]), d.negated(args[1])...)
		case operators.LogicalAnd:
			return d.cross(d.negated(args[0]), d.negated(args[1]), func(a, b ast.Expr) ast.Expr {
				return d.NewCall(0, operators.LogicalOr, a, b)
			})
		case operators.LogicalNot:
			return d.split(args[0])
		}
	}
	return []ast.Expr{d.NewCall(0, operators.LogicalNot, x)}
}

// cross joins every a with every b, or their conjunctions where that would be too many.
func (d distributor) cross(as, bs []ast.Expr, join func(a, b ast.Expr) ast.Expr) []ast.Expr {
	if len(as)*len(bs) > maxConjuncts {
		return []ast.Expr{join(d.all(as), d.all(bs))}
	}
	var out []ast.Expr
	for _, a := range as {
		for _, b := range bs {
			out = append(out, join(a, b))
		}
	}
	return out
}

func (d distributor) all(xs []ast.Expr) ast.Expr {
	x := xs[0]
	for _, y := range xs[1:] {
		x = d.NewCall(0, operators.LogicalAnd, x, y)
	}
	return x
}

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
