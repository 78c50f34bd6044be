package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// judge returns what a rule says of an update, if x is the rule or a conjunct of it: yes accepts the update; no and fails
// refuse it. Where the outcome is not known, why is the reason.
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

func (e evaluation) understood(x ast.Expr) outcome {
	if v, ok := literalOf(x); ok {
		if b, ok := v.(bool); ok {
			return of(b)
		}
	}
	if _, ok := e.term(x); ok {
		return e.equalLiteral(x, true)
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
		return e.equalExprs(args[0], args[1])
	case operators.NotEquals:
		return not(e.equalExprs(args[0], args[1]))
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return ordered(e.fields, args[0], args[1], orders[name])
	case operators.In:
		return e.inList(args[0], args[1])
	case "has":
		if t, ok := e.term(args[0]); ok && !call.IsMemberFunction() {
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

// equalExprs evaluates x == y.
func (e evaluation) equalExprs(x, y ast.Expr) outcome {
	if x.Kind() == ast.LiteralKind {
		x, y = y, x
	}
	a, okA := e.term(x)
	b, okB := e.term(y)
	_, sizeX := sized(x)
	_, sizeY := sized(y)
	v, isLiteral := literalOf(y)
	want, isBool := v.(bool)
	switch {
	case okA && okB:
		return e.equalTerms(a, b)
	case y.Kind() == ast.LiteralKind && okA && !isLiteral:
		return e.equalNull(a, y)
	case okA && isLiteral:
		return e.equalLiteral(x, v)
	case sizeX && (sizeY || isLiteral):
		return ordered(e.fields, x, y, equalSign)
	case isBool:
		return same(e.truth(x), of(want))
	case isLiteral || y.Kind() == ast.LiteralKind:
		return e.because("it compares with a constant")
	case okA != okB && !isBoolean(a) && !isBoolean(b):
		return e.because("it compares a field with an expression")
	}
	return same(e.truth(x), e.truth(y))
}

func isBoolean(t term) bool { return t.at != nil && t.at.Schema.Type.Contains("boolean") }

func (e evaluation) equalTerms(a, b term) outcome {
	switch {
	case a.at != b.at:
		return e.because("it compares different fields")
	case (a.optional != nil) != (b.optional != nil):
		return e.because("it compares a field with an optional")
	case a.optional == nil:
		return e.equalValues(a, b, strict(e.value(a), e.value(b)))
	}
	switch reachable, thereA, thereB := strict(e.reachable(a), e.reachable(b)), e.there(a), e.there(b); {
	case reachable != yes:
		return reachable
	case strict(thereA, thereB) != yes:
		return strict(thereA, thereB)
	case thereA == no || thereB == no:
		return of(thereA == thereB)
	}
	return e.equalValues(a, b, yes)
}

func (e evaluation) equalValues(a, b term, there outcome) outcome {
	if there != yes || a.side == b.side {
		return there
	}
	if reason := e.apart(a.at); reason != "" {
		return e.because(reason)
	}
	if result := e.equal(a.at); result != opaque {
		return result
	}
	return e.because("it compares fields that depend on each other")
}

func (e evaluation) equalNull(t term, y ast.Expr) outcome {
	if y.AsLiteral() != types.NullValue {
		return e.because("it compares with a constant")
	}
	return not(e.value(t)) // a field that exists is not null
}

// equalLiteral evaluates x == v, where x is a field.
func (e evaluation) equalLiteral(x ast.Expr, v any) outcome {
	t, _ := e.term(x)
	if there := e.value(t); there != yes {
		return there
	}
	if result := e.is(t.side, t.at, v); result != opaque && e.apart(t.at) == "" {
		return result
	}
	return e.because("it compares with a constant")
}

// inList evaluates x in [literal, …].
func (e evaluation) inList(x, list ast.Expr) outcome {
	t, ok := e.term(x)
	if !ok || list.Kind() != ast.ListKind {
		return e.because("it uses in")
	}
	if there := e.value(t); there != yes {
		return there
	}
	result := no
	for _, element := range list.AsList().Elements() {
		v, ok := literalOf(element)
		if !ok {
			return e.because("it uses in")
		}
		result = or(result, e.is(t.side, t.at, v))
	}
	if result == opaque || e.apart(t.at) != "" {
		return e.because("it compares with a constant")
	}
	return result
}
