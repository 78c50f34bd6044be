package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// outcome is what a CEL expression comes to in a state.
type outcome int

const (
	open  outcome = iota // the state does not say
	no                   // false
	yes                  // true
	fails                // an evaluation error
)

func of(b bool) outcome {
	if b {
		return yes
	}
	return no
}

// not, and, or follow CEL: an error gives way to an operand that decides alone.
func not(a outcome) outcome {
	switch a {
	case yes:
		return no
	case no:
		return yes
	}
	return a
}

func and(a, b outcome) outcome {
	switch {
	case a == no || b == no:
		return no
	case a == open || b == open:
		return open
	case a == fails || b == fails:
		return fails
	}
	return yes
}

func or(a, b outcome) outcome { return not(and(not(a), not(b))) }

// evaluation is one run of an expression in one state. why is the first thing that the state did not say.
type evaluation struct {
	c   *chain
	s   *state
	why string
}

// verdict returns what the rule part x comes to in state s: yes accepts the update, no and fails refuse it.
func (c *chain) verdict(x ast.Expr, s *state) (outcome, string) {
	if s.depth[newSide] < c.offset || s.depth[oldSide] < c.offset && !c.rule.OptionalOldSelf {
		return yes, "" // the rule does not run
	}
	if s.depth[oldSide] < c.offset {
		without := *s
		without.noOld = true
		s = &without
	}
	e := &evaluation{c: c, s: s}
	result := e.truth(x)
	if e.why == "" && result == open {
		e.why = "its verdict depends on the values"
	}
	return result, e.why
}

func (e *evaluation) unsaid(why string) outcome {
	if e.why == "" {
		e.why = why
	}
	return open
}

// truth evaluates a boolean expression.
func (e *evaluation) truth(x ast.Expr) outcome {
	switch x.Kind() {
	case ast.LiteralKind:
		if b, ok := x.AsLiteral().(types.Bool); ok {
			return of(bool(b))
		}
	case ast.IdentKind, ast.SelectKind:
		return e.boolean(x)
	case ast.CallKind:
		return e.call(x.AsCall())
	}
	return e.unsaid("it uses an expression that is no comparison")
}

// boolean evaluates a field of type boolean.
func (e *evaluation) boolean(x ast.Expr) outcome {
	t, ok := e.term(x)
	if !ok || t.soft <= t.level {
		return e.unsaid("it reads a value that is no field")
	}
	if !e.there(t) {
		return fails
	}
	if t.level != e.c.last() || !e.c.lastPlace().schema.Type.Contains("boolean") {
		return e.unsaid("it reads a value that is no boolean")
	}
	return of(e.s.literal[t.side] == e.c.literal(types.True))
}

func (e *evaluation) call(call ast.CallExpr) outcome {
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd:
		return and(e.truth(args[0]), e.truth(args[1]))
	case operators.LogicalOr:
		return or(e.truth(args[0]), e.truth(args[1]))
	case operators.LogicalNot:
		return not(e.truth(args[0]))
	case operators.Conditional:
		return e.conditional(args)
	case operators.Equals:
		return e.equal(args[0], args[1])
	case operators.NotEquals:
		return not(e.equal(args[0], args[1]))
	case operators.Less:
		return e.sizes(args[0], args[1], func(c int) bool { return c < 0 })
	case operators.LessEquals:
		return e.sizes(args[0], args[1], func(c int) bool { return c <= 0 })
	case operators.Greater:
		return e.sizes(args[0], args[1], func(c int) bool { return c > 0 })
	case operators.GreaterEquals:
		return e.sizes(args[0], args[1], func(c int) bool { return c >= 0 })
	case "has":
		if !call.IsMemberFunction() && len(args) == 1 && args[0].Kind() == ast.SelectKind {
			return e.has(args[0])
		}
	case "hasValue":
		if call.IsMemberFunction() && len(args) == 0 {
			return e.hasValue(call.Target())
		}
	case "all", "exists", "exists_one":
		if call.IsMemberFunction() && len(args) == 2 && args[0].Kind() == ast.IdentKind {
			return e.quantified(call)
		}
	}
	return e.unsaid("it uses " + nameOf(call.FunctionName()))
}

// nameOf is an operator or function as it is written.
func nameOf(function string) string {
	if symbol, ok := operators.FindReverse(function); ok && symbol != "" {
		return symbol
	}
	return function + "()"
}

func (e *evaluation) conditional(args []ast.Expr) outcome {
	switch e.truth(args[0]) {
	case yes:
		return e.truth(args[1])
	case no:
		return e.truth(args[2])
	case fails:
		return fails
	}
	return open
}

// term resolves x to the value that it reads.
func (e *evaluation) term(x ast.Expr) (term, bool) {
	switch x.Kind() {
	case ast.IdentKind:
		switch x.AsIdent() {
		case "self":
			return term{newSide, e.c.offset, e.c.last() + 2}, true
		case "oldSelf":
			if e.c.rule.OptionalOldSelf {
				return term{oldSide, e.c.offset, e.c.offset}, true
			}
			return term{oldSide, e.c.offset, e.c.last() + 2}, true
		}
	case ast.SelectKind:
		t, ok := e.term(x.AsSelect().Operand())
		t.level++
		return t, ok && t.level <= e.c.last()
	case ast.CallKind:
		call := x.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect:
			t, ok := e.term(call.Args()[0])
			t.level++
			t.soft = min(t.soft, t.level)
			return t, ok && t.level <= e.c.last()
		case "value":
			if call.IsMemberFunction() && len(call.Args()) == 0 {
				t, ok := e.term(call.Target())
				hard := t.soft <= t.level
				t.soft = e.c.last() + 2
				return t, ok && hard
			}
		}
	}
	return term{}, false
}

// there reports whether the value of t exists.
func (e *evaluation) there(t term) bool {
	return e.s.depth[t.side] >= t.level && !(t.side == oldSide && e.s.noOld)
}

// container reports whether what holds t exists, so that asking for t is no error.
func (e *evaluation) container(t term) bool {
	if t.side == oldSide && e.s.noOld {
		return t.soft <= e.c.offset
	}
	return e.s.depth[t.side] >= min(t.level, t.soft)-1
}

func (e *evaluation) has(x ast.Expr) outcome {
	t, ok := e.term(x)
	switch {
	case !ok:
		return e.unsaid("it asks for something that is no field")
	case !e.container(t):
		return fails
	}
	return of(e.there(t))
}

// hasValue evaluates x.hasValue() on an optional.
func (e *evaluation) hasValue(x ast.Expr) outcome {
	t, ok := e.term(x)
	switch {
	case !ok || t.soft > t.level:
		return e.unsaid("it uses hasValue() on something that is no optional field")
	case !e.container(t):
		return fails
	}
	return of(e.there(t))
}

// equal evaluates x == y.
func (e *evaluation) equal(x, y ast.Expr) outcome {
	if x.Kind() == ast.LiteralKind {
		x, y = y, x
	}
	a, okA := e.term(x)
	if y.Kind() == ast.LiteralKind {
		if okA {
			return e.equalLiteral(a, y.AsLiteral())
		}
		if b, ok := y.AsLiteral().(types.Bool); ok {
			return same(e.truth(x), of(bool(b)))
		}
		if !isSize(x) {
			return e.unsaid("it compares with a constant")
		}
		return e.sizes(x, y, func(c int) bool { return c == 0 })
	}
	b, okB := e.term(y)
	switch {
	case okA && okB:
		return e.equalTerms(a, b)
	case okA != okB:
		return e.unsaid("it compares a field with an expression")
	case isSize(x) && isSize(y):
		return e.sizes(x, y, func(c int) bool { return c == 0 })
	}
	return same(e.truth(x), e.truth(y))
}

// same is == on booleans.
func same(a, b outcome) outcome {
	switch {
	case a == fails || b == fails:
		return fails
	case a == open || b == open:
		return open
	}
	return of(a == b)
}

func (e *evaluation) equalTerms(a, b term) outcome {
	softA, softB := a.soft <= a.level, b.soft <= b.level
	switch {
	case a.level != b.level:
		return e.unsaid("it compares different fields")
	case softA != softB:
		return e.unsaid("it compares a field with an optional")
	case softA && !(e.container(a) && e.container(b)):
		return fails
	case softA && !(e.there(a) && e.there(b)):
		return of(e.there(a) == e.there(b))
	case !(e.there(a) && e.there(b)):
		return fails
	case a.side == b.side:
		return yes
	}
	if reason := e.c.unequal(e.c.places[a.level].schema); reason != "" {
		return e.unsaid(reason)
	}
	return of(e.s.equal <= a.level)
}

func (e *evaluation) equalLiteral(t term, v ref.Val) outcome {
	switch {
	case t.soft <= t.level:
		return e.unsaid("it compares an optional with a constant")
	case !e.there(t):
		return fails
	case v == types.NullValue:
		return no
	case t.level != e.c.last():
		return e.unsaid("it compares an object with a constant")
	}
	i := e.c.literal(v)
	if i < 0 || isIntOrString(e.c.lastPlace().schema) || e.c.unequal(e.c.lastPlace().schema) != "" {
		return e.unsaid("it compares with a constant")
	}
	return of(e.s.literal[t.side] == i)
}

func isSize(x ast.Expr) bool {
	return x.Kind() == ast.CallKind && x.AsCall().FunctionName() == "size"
}

// size resolves size(term) and term.size() of the last place with keys.
func (e *evaluation) size(x ast.Expr) (term, bool) {
	if !isSize(x) {
		return term{}, false
	}
	call := x.AsCall()
	of := call.Target()
	if !call.IsMemberFunction() {
		if len(call.Args()) != 1 {
			return term{}, false
		}
		of = call.Args()[0]
	}
	t, ok := e.term(of)
	return t, ok && t.soft > t.level && t.level == e.c.last() && keysOf(e.c.lastPlace()) != noKeys
}

// sizes evaluates a comparison of size(self) with size(oldSelf) or with a number: holds says whether it is true of the
// sign of their difference.
func (e *evaluation) sizes(x, y ast.Expr, holds func(sign int) bool) outcome {
	a, okA := e.size(x)
	b, okB := e.size(y)
	switch {
	case okA && okB && a.side != b.side:
		if !e.there(a) || !e.there(b) {
			return fails
		}
		sign := 0
		switch {
		case e.s.added && e.s.removed:
			return e.unsaid("it compares sizes")
		case e.s.added:
			sign = 1
		case e.s.removed:
			sign = -1
		}
		if a.side == oldSide {
			sign = -sign
		}
		return of(holds(sign))
	case okA && y.Kind() == ast.LiteralKind:
		return e.sizeIs(a, y.AsLiteral(), holds)
	case okB && x.Kind() == ast.LiteralKind:
		return e.sizeIs(b, x.AsLiteral(), func(sign int) bool { return holds(-sign) })
	}
	return e.unsaid("it orders values")
}

// sizeIs compares the size of t with a number: 0 and 1 can be told apart from it by emptiness alone.
func (e *evaluation) sizeIs(t term, v ref.Val, holds func(sign int) bool) outcome {
	n, ok := v.(types.Int)
	switch {
	case !e.there(t):
		return fails
	case !ok:
		return e.unsaid("it compares a size")
	case e.s.empty[t.side]:
		return of(holds(int(min(max(-n, -1), 1))))
	case n == 0:
		return of(holds(1))
	case n == 1 && holds(0) == holds(1):
		return of(holds(0))
	}
	return e.unsaid("it compares a size with a number")
}
