package celrule

import (
	"cmp"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// outcome is what a CEL expression evaluates to when only part of its input is known.
type outcome int

const (
	open   outcome = iota // not known yet
	opaque                // the expression is not understood
	no                    // false
	yes                   // true
	fails                 // an evaluation error
)

func of(b bool) outcome {
	if b {
		return yes
	}
	return no
}

// known reports whether o is a result of CEL.
func (o outcome) known() bool { return o >= no }

// refuses reports whether a rule with the outcome o refuses the update.
func (o outcome) refuses() bool { return o == no || o == fails }

// not, and, or follow CEL: an operand that decides alone prevails over an error.
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
	case a == opaque || b == opaque:
		return opaque
	case a == open || b == open:
		return open
	case a == fails || b == fails:
		return fails
	}
	return yes
}

func or(a, b outcome) outcome { return not(and(not(a), not(b))) }

// same is == on booleans. Like every other function of CEL, it fails if an operand does.
func same(a, b outcome) outcome {
	if worst := strict(a, b); worst != yes {
		return worst
	}
	return of(a == b)
}

// strict returns yes if both operands are known and do not fail, otherwise what prevents that.
func strict(a, b outcome) outcome {
	switch {
	case a == fails || b == fails:
		return fails
	case a == opaque || b == opaque:
		return opaque
	case a == open || b == open:
		return open
	}
	return yes
}

// choose is the operator ?:.
func choose(condition outcome, then, otherwise func() outcome) outcome {
	switch condition {
	case yes:
		return then()
	case no:
		return otherwise()
	}
	return condition
}

// judge returns the verdict on an update of x, which is the expression of r or a conjunct of it: yes accepts the update; no
// and fails refuse it. If the outcome is not known, why is the reason.
func judge(r *Rule, x ast.Expr, w world) (result outcome, why string) {
	runs := w.present(newSide, r.at)
	if r.Transition && !r.OptionalOldSelf {
		runs = and(runs, w.present(oldSide, r.at))
	}
	switch runs {
	case no:
		return yes, ""
	case open, opaque:
		return open, "it reads fields that depend on each other"
	}
	e := evaluation{&fields{rule: r, world: w}}
	result = e.truth(x)
	if !result.known() && e.why == "" {
		e.why = "its verdict depends on the values"
	}
	return result, e.why
}

// world has the known facts about the new and the old object of an update. An answer is open if the fact is not known yet,
// and opaque if the world does not keep such facts.
type world interface {
	// present tells whether the location has a value other than null.
	present(s side, l *schema.Location) outcome
	// apart returns why CEL's == on the values of l is not the equality that the world knows, or "".
	apart(l *schema.Location) string
	// equal tells whether the values of l, present on both sides, are equal.
	equal(l *schema.Location) outcome
	// is tells whether the value of l, which is present, is a literal.
	is(s side, l *schema.Location, literal any) outcome
	// number returns the value of l, which is present; the outcome is yes if it is known.
	number(s side, l *schema.Location) (int64, outcome)
	// empty tells whether the value of l, which is present, has the size 0.
	empty(s side, l *schema.Location) outcome
	// added and removed tell whether the new or the old object has keys at l, which is present in both, that the other lacks.
	added(l *schema.Location) outcome
	removed(l *schema.Location) outcome
	// unclear returns the truth of an expression that the evaluation does not understand.
	unclear(r *Rule, x ast.Expr) outcome
}

// evaluation evaluates the expressions of a rule.
type evaluation struct{ *fields }

// truth evaluates a boolean expression.
func (e evaluation) truth(x ast.Expr) outcome {
	if result := e.understood(x); result != opaque {
		return result
	}
	if e.fail(x) {
		return fails
	}
	return e.unclear(e.rule, x)
}

func (e evaluation) comparison() comparison { return comparison{e.fields, e.truth} }

func (e evaluation) understood(x ast.Expr) outcome {
	if v, ok := literalOf(x); ok {
		if b, ok := v.(bool); ok {
			return of(b)
		}
	}
	if t, ok := e.term(x); ok {
		return e.comparison().equalLiteral(t, true)
	}
	if x.Kind() == ast.CallKind {
		return e.call(x.AsCall())
	}
	return e.because("it uses an expression that is not a comparison")
}

func (e evaluation) call(call ast.CallExpr) outcome {
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd:
		return and(e.truth(args[0]), e.truth(args[1]))
	case operators.LogicalOr:
		return or(e.truth(args[0]), e.truth(args[1]))
	case operators.LogicalNot:
		return not(e.truth(args[0]))
	case operators.Conditional:
		return choose(e.truth(args[0]), func() outcome { return e.truth(args[1]) }, func() outcome { return e.truth(args[2]) })
	case operators.Equals:
		return e.comparison().equal(args[0], args[1])
	case operators.NotEquals:
		return not(e.comparison().equal(args[0], args[1]))
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return ordered(e.fields, args[0], args[1], orders[name])
	case operators.In:
		return e.comparison().in(args[0], args[1])
	case "has":
		if call.IsMemberFunction() || len(args) != 1 {
			break
		}
		if t, ok := e.term(args[0]); ok {
			return e.has(t)
		}
	case "hasValue":
		if !call.IsMemberFunction() {
			break
		}
		if t, ok := e.term(call.Target()); ok && t.optional != nil {
			return e.has(t)
		}
	case "all", "exists", "exists_one":
		if variable, body, ok := macro(call); ok {
			q := quantifier{e.fields, e.truth, variable}
			return q.over(call.FunctionName(), call.Target(), body)
		}
	}
	return e.because("it uses " + written(call.FunctionName()))
}

// comparison evaluates ==. truth evaluates boolean operands and conditions.
type comparison struct {
	*fields
	truth func(ast.Expr) outcome
}

// operand is a value that is compared: a field or a literal.
type operand struct {
	term
	literal any // nil for a field
}

// equal evaluates x == y.
func (c comparison) equal(x, y ast.Expr) outcome {
	if x.Kind() == ast.LiteralKind {
		x, y = y, x
	}
	a, okA := c.term(x)
	b, okB := c.term(y)
	switch {
	case okA && okB && (a.optional != nil || b.optional != nil):
		return c.equalOptionals(a, b)
	case okA && y.Kind() == ast.LiteralKind && y.AsLiteral() == types.NullValue:
		return not(c.value(a)) // a field that exists is not null
	}
	_, size := sized(x)
	_, otherSize := sized(y)
	if size && (otherSize || y.Kind() == ast.LiteralKind) {
		return ordered(c.fields, x, y, equalSign)
	}
	if isBoolean(x, a) || isBoolean(y, b) {
		return same(c.truth(x), c.truth(y))
	}
	left, known := c.operand(x)
	right, knownToo := c.operand(y)
	if there := strict(known, knownToo); there != yes {
		return there
	}
	return c.equalOperands(left, right)
}

// isBoolean reports whether x, which reads t if it is a field, is a boolean.
func isBoolean(x ast.Expr, t term) bool {
	if t.at != nil {
		return t.at.Schema.Type.Contains("boolean")
	}
	if x.Kind() == ast.CallKind {
		switch x.AsCall().FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Equals, operators.NotEquals, operators.In,
			operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, "has", "hasValue", "all", "exists", "exists_one":
			return true
		}
	}
	return false
}

// operand returns the value of x; the outcome is yes if it is known.
func (c comparison) operand(x ast.Expr) (operand, outcome) {
	if v, ok := literalOf(x); ok {
		return operand{literal: v}, yes
	}
	if t, ok := c.term(x); ok {
		return operand{term: t}, c.value(t)
	}
	if x.Kind() == ast.CallKind {
		call := x.AsCall()
		switch call.FunctionName() {
		case operators.Conditional:
			args := call.Args()
			var v operand
			known := choose(c.truth(args[0]),
				func() (o outcome) { v, o = c.operand(args[1]); return o },
				func() (o outcome) { v, o = c.operand(args[2]); return o })
			return v, known
		case "orValue":
			return c.orValue(call)
		}
	}
	return operand{}, c.because("it compares with an expression")
}

// orValue returns the value of self.?field.orValue(literal).
func (c comparison) orValue(call ast.CallExpr) (operand, outcome) {
	if !call.IsMemberFunction() || len(call.Args()) != 1 {
		return operand{}, c.because("it uses orValue()")
	}
	t, ok := c.term(call.Target())
	if !ok || t.optional == nil {
		return operand{}, c.because("it uses orValue() on something that is not an optional field")
	}
	return c.otherwise(t, call.Args()[0])
}

// otherwise returns the value of the optional field t, or the value of x if t is absent.
func (c comparison) otherwise(t term, x ast.Expr) (operand, outcome) {
	switch there := c.has(t); there {
	case yes:
		t.optional = nil
		return operand{term: t}, yes
	case no:
		return c.operand(x)
	default:
		return operand{}, there
	}
}

func (c comparison) equalOperands(a, b operand) outcome {
	switch {
	case a.literal != nil && b.literal != nil:
		return of(a.literal == b.literal)
	case a.literal != nil:
		return c.equalLiteral(b.term, a.literal)
	case b.literal != nil:
		return c.equalLiteral(a.term, b.literal)
	}
	return c.equalFields(a.term, b.term)
}

// equalOptionals evaluates x == y where one is an optional field.
func (c comparison) equalOptionals(a, b term) outcome {
	if a.optional == nil || b.optional == nil {
		return c.because("it compares a field with an optional")
	}
	hasA, hasB := c.has(a), c.has(b)
	switch there := strict(hasA, hasB); {
	case there != yes:
		return there
	case hasA == no || hasB == no:
		return of(hasA == hasB)
	}
	return c.equalFields(a, b)
}

// equalFields compares fields that exist.
func (c comparison) equalFields(a, b term) outcome {
	if a.at != b.at {
		return c.because("it compares different fields")
	}
	if a.side == b.side {
		return yes
	}
	if reason := c.apart(a.at); reason != "" {
		return c.because(reason)
	}
	if result := c.fields.equal(a.at); result != opaque {
		return result
	}
	return c.because("it compares fields that depend on each other")
}

// equalLiteral compares a field with a literal.
func (c comparison) equalLiteral(t term, v any) outcome {
	if there := c.value(t); there != yes {
		return there
	}
	if result := c.is(t.side, t.at, v); result != opaque && c.apart(t.at) == "" {
		return result
	}
	return c.because("it compares with a constant")
}

// in evaluates x in [literal, …].
func (c comparison) in(x, list ast.Expr) outcome {
	switch {
	case isEmptyList(list):
		return no
	case list.Kind() != ast.ListKind:
		return c.because("it uses in")
	}
	v, known := c.operand(x)
	if known != yes {
		return known
	}
	result := no
	for _, element := range list.AsList().Elements() {
		literal, ok := literalOf(element)
		if !ok {
			return c.because("it uses in")
		}
		result = or(result, c.equalOperands(v, operand{literal: literal}))
	}
	return result
}

// isEmptyList reports whether x is []. CEL compiles x in [] to false, so an absent x is not an error there.
func isEmptyList(x ast.Expr) bool { return x.Kind() == ast.ListKind && x.AsList().Size() == 0 }

// orders has for each comparison operator the signs of x - y that satisfy x operator y.
var orders = map[string]func(sign int) bool{
	operators.Less:          func(sign int) bool { return sign < 0 },
	operators.LessEquals:    func(sign int) bool { return sign <= 0 },
	operators.Greater:       func(sign int) bool { return sign > 0 },
	operators.GreaterEquals: func(sign int) bool { return sign >= 0 },
}

func equalSign(sign int) bool { return sign == 0 }

// ordered compares x with y: two numbers, or the size of a field and a number. holds tells which signs of x - y satisfy the
// comparison.
func ordered(f *fields, x, y ast.Expr, holds func(sign int) bool) outcome {
	if x.Kind() == ast.LiteralKind && y.Kind() != ast.LiteralKind {
		return ordered(f, y, x, func(sign int) bool { return holds(-sign) })
	}
	literal, _ := literalOf(y)
	n, isInt := literal.(int64)
	if t, ok := sizeOf(f, x); ok && isInt {
		return compareSize(f, t, n, holds)
	}
	m, known := numberOf(f, x)
	if known != yes {
		return known
	}
	n, known = numberOf(f, y)
	if known != yes {
		return known
	}
	return of(holds(cmp.Compare(m, n)))
}

// sizeOf returns the field that x is the size of.
func sizeOf(f *fields, x ast.Expr) (term, bool) {
	of, ok := sized(x)
	if !ok {
		return term{}, false
	}
	t, ok := f.term(of)
	return t, ok && t.optional == nil && hasSize(t.at.Schema)
}

// compareSize compares the size of t with n. Whether a value is empty decides comparisons with 0, and some with 1.
func compareSize(f *fields, t term, n int64, holds func(sign int) bool) outcome {
	if there := f.value(t); there != yes {
		return there
	}
	empty := f.empty(t.side, t.at)
	switch {
	case !empty.known():
		return empty
	case empty == yes:
		return of(holds(cmp.Compare(0, n)))
	case n <= 0:
		return of(holds(1))
	case n == 1 && holds(0) == holds(1):
		return of(holds(0))
	}
	return f.because("it compares a size with a number")
}

// numberOf returns the number that x is; the outcome is yes if it is known.
func numberOf(f *fields, x ast.Expr) (int64, outcome) {
	if v, ok := literalOf(x); ok {
		if n, ok := v.(int64); ok {
			return n, yes
		}
	}
	t, ok := f.term(x)
	if _, size := sized(x); size {
		return 0, f.because("it compares sizes")
	} else if !ok {
		return 0, f.because("it orders values")
	}
	if there := f.value(t); there != yes {
		return 0, there
	}
	n, known := f.number(t.side, t.at)
	if known == opaque {
		f.because("it orders values")
	}
	return n, known
}
