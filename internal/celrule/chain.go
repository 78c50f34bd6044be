package celrule

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/google/cel-go/common/ast"
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
