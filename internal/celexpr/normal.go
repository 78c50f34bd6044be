package celexpr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Fact is the value of a boolean expression, as far as a caller knows it without its operands.
type Fact int

// The facts. A total expression is never an error.
const (
	Unknown Fact = iota
	Total
	Always // it is true
	Never  // it is false
)

// Conjuncts returns the operands of && of x in a normal form, sorted: two expressions with the same conjuncts have the
// same value, or are both an error, for every input. It knows the laws of Boolean logic that hold for errors too, that
// && and || and == have no order, and that names of variables mean nothing. It does not know all equal expressions.
//
//	has(a.f) ? !(a.f != b.f) : true      (!has(a.f) || ==(a.f, b.f))
//	!has(a.f) || a.f == b.f              (!has(a.f) || ==(a.f, b.f))
//
// The first line needs the fact that has(a.f) is total: otherwise an error of the condition is an error of all.
func Conjuncts(x ast.Expr, facts func(ast.Expr) Fact) []string {
	n := (&normalizer{facts: facts}).formula(x, false)
	if n.op != and {
		return []string{n.String()}
	}
	conjuncts := make([]string, len(n.operands))
	for i, operand := range n.operands {
		conjuncts[i] = operand.String()
	}
	return conjuncts
}

// formula is a formula in normal form: an atom, perhaps negated, or the conjunction or disjunction of others, which are
// sorted and of another kind. True is the empty conjunction, false the empty disjunction.
type formula struct {
	op       operator
	operands []*formula

	text    string // of an atom
	negated bool
	total   bool
}

type operator int

const (
	atom operator = iota
	and
	or
)

func (o operator) dual() operator { return and + or - o }

func (n *formula) String() string {
	switch {
	case n.op == atom && n.negated:
		return "!" + n.text
	case n.op == atom:
		return n.text
	case len(n.operands) == 0:
		return fmt.Sprint(n.op == and)
	}
	texts := make([]string, len(n.operands))
	for i, operand := range n.operands {
		texts[i] = operand.String()
	}
	return "(" + strings.Join(texts, map[operator]string{and: " && ", or: " || "}[n.op]) + ")"
}

func constant(value bool) *formula {
	if value {
		return &formula{op: and}
	}
	return &formula{op: or}
}

// neverFails reports whether n is never an error.
func (n *formula) neverFails() bool {
	return n.op == atom && n.total || n.op != atom && !slices.ContainsFunc(n.operands, func(operand *formula) bool {
		return !operand.neverFails()
	})
}

// contradicts reports whether n and m are an atom and its negation.
func (n *formula) contradicts(m *formula) bool {
	return n.op == atom && m.op == atom && n.text == m.text && n.negated != m.negated
}

// join returns the conjunction or disjunction of operands.
func join(op operator, operands ...*formula) *formula {
	var flat []*formula
	for _, operand := range operands {
		switch {
		case operand.op == op:
			flat = append(flat, operand.operands...)
		case operand.op != atom && len(operand.operands) == 0: // true || x, false && x
			return operand
		default:
			flat = append(flat, operand)
		}
	}
	if shorter, ok := shorten(op, flat); ok {
		return join(op, shorter...)
	}
	slices.SortFunc(flat, func(a, b *formula) int { return strings.Compare(a.String(), b.String()) })
	flat = slices.CompactFunc(flat, func(a, b *formula) bool { return a.String() == b.String() })
	if len(flat) == 1 {
		return flat[0]
	}
	return &formula{op: op, operands: flat}
}

// shorten drops what one of the operands decides: x || (!x && y) is x || y, if x is never an error.
func shorten(op operator, operands []*formula) (shorter []*formula, ok bool) {
	for _, x := range operands {
		if !x.total {
			continue
		}
		for i, other := range operands {
			if other.op != op.dual() || !slices.ContainsFunc(other.operands, x.contradicts) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(other.operands), x.contradicts)
			shorter = slices.Clone(operands)
			shorter[i] = join(other.op, rest...)
			return shorter, true
		}
	}
	return nil, false
}

// normalizer knows the variables that the macros around an expression bind, in order.
type normalizer struct {
	facts func(ast.Expr) Fact
	bound []string
}

// formula returns x, or its negation, as a formula.
func (w *normalizer) formula(x ast.Expr, negated bool) *formula {
	if x.Kind() == ast.LiteralKind && x.AsLiteral().Type() == types.BoolType {
		return constant((x.AsLiteral() == types.True) != negated)
	}
	if x.Kind() == ast.CallKind {
		call := x.AsCall()
		args := call.Args()
		conjunction := and
		if negated {
			conjunction = or
		}
		switch call.FunctionName() {
		case operators.LogicalAnd:
			return join(conjunction, w.formula(args[0], negated), w.formula(args[1], negated))
		case operators.LogicalOr:
			return join(conjunction.dual(), w.formula(args[0], negated), w.formula(args[1], negated))
		case operators.LogicalNot:
			return w.formula(args[0], !negated)
		case operators.NotEquals:
			return w.equality(args[0], args[1], !negated)
		case operators.Equals:
			if fact := w.known(x); fact == Always || fact == Never {
				return constant((fact == Always) != negated)
			}
			return w.equality(args[0], args[1], negated)
		case operators.Conditional:
			if condition := w.formula(args[0], false); condition.neverFails() {
				return join(and, join(or, w.formula(args[0], true), w.formula(args[1], negated)),
					join(or, condition, w.formula(args[2], negated)))
			}
		}
	}
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == "exists" {
		if m, ok := MacroOf(x.AsCall()); ok { // some satisfy it: not all satisfy the opposite
			return &formula{text: w.macro(x.AsCall(), "all", m, true), negated: !negated}
		}
	}
	switch fact := w.known(x); fact {
	case Always, Never:
		return constant((fact == Always) != negated)
	default:
		return &formula{text: w.text(x), negated: negated, total: fact == Total}
	}
}

// known asks for a fact about x. In a macro whose variable hides self or oldSelf, nothing is known.
func (w *normalizer) known(x ast.Expr) Fact {
	if slices.Contains(w.bound, "self") || slices.Contains(w.bound, "oldSelf") {
		return Unknown
	}
	return w.facts(x)
}

func (w *normalizer) equality(x, y ast.Expr, negated bool) *formula {
	a, b := w.formula(x, false), w.formula(y, false)
	if a.op != atom && b.op != atom && len(a.operands)+len(b.operands) == 0 {
		return constant((a.op == b.op) != negated)
	}
	texts := []string{a.String(), b.String()}
	slices.Sort(texts)
	return &formula{text: "==(" + strings.Join(texts, ", ") + ")", negated: negated,
		total: a.neverFails() && b.neverFails()}
}

// text returns the text of an expression that is not a formula, with its operands in normal form.
func (w *normalizer) text(x ast.Expr) string {
	switch x.Kind() {
	case ast.IdentKind:
		if i := lastIndex(w.bound, x.AsIdent()); i >= 0 {
			return fmt.Sprintf("$%d", i)
		}
		return x.AsIdent()
	case ast.SelectKind:
		return w.text(x.AsSelect().Operand()) + "." + x.AsSelect().FieldName()
	case ast.ListKind:
		return "[" + w.texts(x.AsList().Elements(), false) + "]"
	case ast.CallKind:
		call := x.AsCall()
		target := ""
		if m, ok := MacroOf(call); ok {
			return w.macro(call, call.FunctionName(), m, false)
		}
		if call.IsMemberFunction() {
			target = w.text(call.Target()) + "."
		}
		return target + call.FunctionName() + "(" + w.texts(call.Args(), false) + ")"
	}
	text, err := Print(x)
	if err != nil {
		return fmt.Sprintf("expression %d", x.ID())
	}
	return text
}

// macro returns a call of a macro by a name, with its body or the negation of that. Variables have numbers for names.
func (w *normalizer) macro(call ast.CallExpr, name string, m Macro, negated bool) string {
	inner := &normalizer{w.facts, append(slices.Clip(w.bound), m.Variables...)}
	return fmt.Sprintf("%s.%s$%d(%s)", w.text(call.Target()), name, len(m.Variables), inner.texts(m.Body, negated))
}

func (w *normalizer) texts(list []ast.Expr, negated bool) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = w.formula(x, negated).String()
	}
	return strings.Join(texts, ", ")
}

func lastIndex(names []string, name string) int {
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] == name {
			return i
		}
	}
	return -1
}
