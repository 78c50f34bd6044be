package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// maxParts bounds how far a rule is split: a rule beyond it is read as a whole.
const maxParts = 16

// parts splits x into expressions that are all true exactly when x is: over &&, and over || and ?: whose operands split.
func parts(x ast.Expr) []ast.Expr {
	if split := (splitter{ast.NewExprFactory()}).split(x); len(split) <= maxParts {
		return split
	}
	return []ast.Expr{x}
}

type splitter struct{ ast.ExprFactory }

func (f splitter) split(x ast.Expr) []ast.Expr {
	if x.Kind() != ast.CallKind {
		return []ast.Expr{x}
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return append(f.split(args[0]), f.split(args[1])...)
	case operators.LogicalOr:
		return f.cross(f.split(args[0]), f.split(args[1]), func(a, b ast.Expr) ast.Expr {
			return f.NewCall(0, operators.LogicalOr, a, b)
		})
	case operators.Conditional:
		return f.cross(f.split(args[1]), f.split(args[2]), func(a, b ast.Expr) ast.Expr {
			return f.NewCall(0, operators.Conditional, args[0], a, b)
		})
	case operators.LogicalNot:
		return f.negated(args[0])
	}
	return []ast.Expr{x}
}

// negated splits !x.
func (f splitter) negated(x ast.Expr) []ast.Expr {
	if x.Kind() == ast.CallKind {
		args := x.AsCall().Args()
		switch x.AsCall().FunctionName() {
		case operators.LogicalOr:
			return append(f.negated(args[0]), f.negated(args[1])...)
		case operators.LogicalAnd:
			return f.cross(f.negated(args[0]), f.negated(args[1]), func(a, b ast.Expr) ast.Expr {
				return f.NewCall(0, operators.LogicalOr, a, b)
			})
		case operators.LogicalNot:
			return f.split(args[0])
		}
	}
	return []ast.Expr{f.NewCall(0, operators.LogicalNot, x)}
}

// cross joins every a with every b, or all of them where that would be too many.
func (f splitter) cross(as, bs []ast.Expr, join func(a, b ast.Expr) ast.Expr) []ast.Expr {
	if len(as)*len(bs) > maxParts {
		return []ast.Expr{join(f.all(as), f.all(bs))}
	}
	var out []ast.Expr
	for _, a := range as {
		for _, b := range bs {
			out = append(out, join(a, b))
		}
	}
	return out
}

func (f splitter) all(xs []ast.Expr) ast.Expr {
	x := xs[0]
	for _, y := range xs[1:] {
		x = f.NewCall(0, operators.LogicalAnd, x, y)
	}
	return x
}
