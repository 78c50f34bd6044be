package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// judge returns the verdict of a rule on an update, if x is the rule or a conjunct of it: yes accepts the update; no and fails
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
