package celrun

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

// Certain returns the texts of two expressions: one is true only where the boolean expression x is true, the other only
// where x is false, whatever the values are of the conditions for which unknown holds. It takes for granted that these
// have a value, and are no error. Conditions are the operands of !, &&, || and ?:. A text is "false" if no such
// expression is found.
//
//	!has(self.status) || self.a == oldSelf.a       self.a == oldSelf.a
//	self.status.on ? self.a == oldSelf.a : true    self.a == oldSelf.a && true
func Certain(x ast.Expr, unknown func(condition ast.Expr) bool) (isTrue, isFalse string) {
	return bounds{unknown}.of(x)
}

const (
	never = "false"
	// maxCertain is the length of an expression that is not worth its cost: choices within choices repeat their
	// branches.
	maxCertain = 10_000
)

// bounds spells when an expression has a value for sure.
type bounds struct{ unknown func(condition ast.Expr) bool }

func (b bounds) of(x ast.Expr) (isTrue, isFalse string) {
	if x.Kind() == ast.CallKind {
		args := x.AsCall().Args()
		switch x.AsCall().FunctionName() {
		case operators.LogicalNot:
			isFalse, isTrue = b.of(args[0])
			return isTrue, isFalse
		case operators.LogicalAnd, operators.LogicalOr:
			true1, false1 := b.of(args[0])
			true2, false2 := b.of(args[1])
			if x.AsCall().FunctionName() == operators.LogicalAnd {
				return both(true1, true2), either(false1, false2)
			}
			return either(true1, true2), both(false1, false2)
		case operators.Conditional:
			if0, else0 := b.of(args[0])
			true1, false1 := b.of(args[1])
			true2, false2 := b.of(args[2])
			return choice(if0, else0, true1, true2), choice(if0, else0, false1, false2)
		}
	}
	text, err := celexpr.Print(x)
	if err != nil || b.unknown(x) {
		return never, never
	}
	return "(" + text + ")", "!(" + text + ")"
}

// choice is true where a condition chooses what is true, and where both choices are.
func choice(isTrue, isFalse, then, otherwise string) string {
	return either(either(both(isTrue, then), both(isFalse, otherwise)), both(then, otherwise))
}

func both(x, y string) string {
	if x == never || y == never || len(x)+len(y) > maxCertain {
		return never
	}
	return "(" + x + " && " + y + ")"
}

func either(x, y string) string {
	switch {
	case x == never || len(x)+len(y) > maxCertain:
		return y
	case y == never:
		return x
	}
	return "(" + x + " || " + y + ")"
}
