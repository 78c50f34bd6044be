package celrule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

// A fix takes conditions out of the author's rule, and puts them or their negations into another:
//
//	rule      self.mode == 'a' || self == oldSelf
//	disjunct  self.mode == 'a'
//	operand   yes: self.mode == 'a'  no: !(self.mode == 'a')

// disjunct is an operand of a condition that is enough to make it true: expr, or its negation.
type disjunct struct {
	expr    ast.Expr
	negated bool
}

// disjuncts returns conditions of which one is enough to make x true, or to make it false if wanted is false.
func disjuncts(x ast.Expr, wanted bool) []disjunct {
	if x.Kind() == ast.CallKind {
		args := x.AsCall().Args()
		switch name := x.AsCall().FunctionName(); {
		case name == operators.LogicalNot:
			return disjuncts(args[0], !wanted)
		case name == operators.LogicalOr && wanted, name == operators.LogicalAnd && !wanted:
			return append(disjuncts(args[0], wanted), disjuncts(args[1], wanted)...)
		case name == operators.Conditional && isLiteral(args[1], wanted): // a ? true : b
			return append(disjuncts(args[0], true), disjuncts(args[2], wanted)...)
		case name == operators.Conditional && isLiteral(args[2], wanted): // a ? b : true
			return append(disjuncts(args[0], false), disjuncts(args[1], wanted)...)
		}
	}
	return []disjunct{{x, !wanted}}
}

// operand spells d.
func (d disjunct) operand() operand {
	text := printed(d.expr)
	o := operand{text, "!" + text}
	if d.expr.Kind() == ast.CallKind && !d.expr.AsCall().IsMemberFunction() && len(d.expr.AsCall().Args()) > 1 {
		o.no = "!(" + text + ")"
		switch d.expr.AsCall().FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.Conditional:
			o.yes = "(" + text + ")"
		}
		if d.negated && d.expr.AsCall().FunctionName() == operators.Equals {
			args := d.expr.AsCall().Args()
			return operand{printed(args[0]) + " != " + printed(args[1]), text}
		}
	}
	if d.negated {
		return o.negated()
	}
	return o
}

func isLiteral(x ast.Expr, value bool) bool {
	v, ok := literalOf(x)
	return ok && v == value
}

// operand is a condition in CEL and its negation, each as an operand of && and ||.
type operand struct{ yes, no string }

func printed(x ast.Expr) string {
	text, err := celexpr.Print(x)
	if err != nil {
		panic(err) // it was parsed
	}
	return text
}

var oldSelfWord = regexp.MustCompile(`\boldSelf\b`)

func (o operand) negated() operand { return operand{o.no, o.yes} }

// of replaces oldSelf in o with a selection.
func (o operand) of(selection string) operand {
	return operand{oldSelfWord.ReplaceAllLiteralString(o.yes, selection),
		oldSelfWord.ReplaceAllLiteralString(o.no, selection)}
}

// conjunction is a list of operands of which all hold.
type conjunction []operand

// and adds the operands that are not in the conjunction yet.
func (c conjunction) and(more ...operand) conjunction {
	for _, o := range more {
		if !slices.Contains(c, o) {
			c = append(c, o)
		}
	}
	return c
}

// operand spells the conjunction as an operand.
func (c conjunction) operand() operand {
	if len(c) == 1 {
		return c[0]
	}
	var texts []string
	for _, part := range c {
		texts = append(texts, part.yes)
	}
	text := "(" + strings.Join(texts, " && ") + ")"
	return operand{text, "!" + text}
}

// refuted returns texts of which one holds where the conjunction does not.
func (c conjunction) refuted() []string {
	var texts []string
	for _, part := range c {
		texts = append(texts, part.no)
	}
	return texts
}
