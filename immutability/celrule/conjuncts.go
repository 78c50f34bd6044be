package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

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
