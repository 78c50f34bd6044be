package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// quantifier evaluates self.f.all(variable, body), exists and exists_one where f has keys. truth evaluates what does not
// concern the variable.
type quantifier struct {
	*fields
	truth    func(ast.Expr) outcome
	variable string
}

// over evaluates the macro name over target. The body is evaluated for each kind of element that can occur; the result
// is known if the kinds that occur for certain decide it.
func (q quantifier) over(name string, target, body ast.Expr) outcome {
	t, ok := q.term(target)
	if !ok || t.optional != nil || keysOf(t.at) == noKeys {
		return q.because("it uses " + name + "() on something that has no keys")
	}
	if there := q.value(t); there != yes {
		return there
	}
	empty := q.empty(t.side, t.at)
	if empty == yes {
		return of(name == "all")
	}
	shared := q.present(t.side.other(), t.at)
	lone, modified := yes, no
	if shared == yes {
		if lone, modified = q.added(t.at), q.modified(t.at); t.side == oldSide {
			lone = q.removed(t.at)
		}
	}
	if known := strict(strict(empty, shared), strict(lone, modified)); known != yes {
		return known
	}
	el := elements{t, keysOf(t.at)}
	// every and some are over the elements that can occur, certainlyEvery and certainlySome over those that do.
	every, some := yes, no
	meet := func(k element) {
		result := q.body(el, body, k)
		every, some = and(every, result), or(some, result)
	}
	if lone == yes {
		meet(alone)
	}
	if modified == yes {
		meet(changed)
	}
	certainlyEvery, certainlySome := every, some
	if shared == yes {
		meet(kept)
		if lone == no && modified == no {
			certainlyEvery, certainlySome = every, some
		}
	}
	switch {
	case name == "all" && every == certainlyEvery:
		return every
	case name == "exists" && some == certainlySome:
		return some
	}
	return q.because("it uses " + name + "() in a way that depends on the values")
}

// body evaluates x for an element of kind k.
func (q quantifier) body(el elements, x ast.Expr, k element) outcome {
	if x.Kind() != ast.CallKind {
		return q.rest(x, "a key or item")
	}
	call := x.AsCall()
	args := call.Args()
	below := func(i int) outcome { return q.body(el, args[i], k) }
	switch call.FunctionName() {
	case operators.LogicalAnd:
		return and(below(0), below(1))
	case operators.LogicalOr:
		return or(below(0), below(1))
	case operators.LogicalNot:
		return not(below(0))
	case operators.Conditional:
		return choose(below(0), func() outcome { return below(1) }, func() outcome { return below(2) })
	case operators.In:
		if isIdent(args[0], q.variable) && q.isOther(el, args[1]) {
			return q.in(el, k)
		}
	case operators.Equals:
		return q.equalValues(el, x, k)
	case operators.NotEquals:
		return not(q.equalValues(el, x, k))
	case "exists", "exists_one", "all":
		if w, body, ok := macro(call); ok && q.isOther(el, call.Target()) {
			return q.partner(el, call.FunctionName(), w, body, k)
		}
	}
	return q.rest(x, written(call.FunctionName()))
}

// rest evaluates an expression that does not concern the variable.
func (q quantifier) rest(x ast.Expr, what string) outcome {
	if mentions(x, q.variable) {
		return q.because("it uses " + what + " on the keys or items of a list or map")
	}
	return q.truth(x)
}

// isOther reports whether x is the same field of the other object.
func (q quantifier) isOther(el elements, x ast.Expr) bool {
	t, ok := q.term(x)
	return ok && t == el.other()
}

// in is variable in other: a key of a map, or an item of a list, which an item that has changed is not.
func (q quantifier) in(el elements, k element) outcome {
	if there := q.value(el.other()); there != yes {
		return there
	}
	if el.kind == listKeys {
		if reason := q.apart(el.at.Items); reason != "" {
			return q.because(reason)
		}
		return of(k == kept)
	}
	return of(k != alone)
}

// equalValues is self[variable] == oldSelf[variable].
func (q quantifier) equalValues(el elements, x ast.Expr, k element) outcome {
	args := x.AsCall().Args()
	a, okA := q.indexed(el, args[0])
	b, okB := q.indexed(el, args[1])
	if !okA || !okB || a == b || el.kind != mapKeys {
		return q.rest(x, "==")
	}
	if reason := q.apart(el.at.Values); reason != "" {
		return q.because(reason)
	}
	if k == alone {
		return fails
	}
	return of(k == kept)
}

// indexed returns the side of self[variable] and oldSelf[variable].
func (q quantifier) indexed(el elements, x ast.Expr) (side, bool) {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Index {
		return 0, false
	}
	args := x.AsCall().Args()
	t, ok := q.term(args[0])
	return t.side, ok && t.optional == nil && t.at == el.at && isIdent(args[1], q.variable)
}

// partner evaluates other.exists(w, body) or all for an element of kind k. Only the w that has the element's key matters
// if the body compares all keys, or the items as a whole.
func (q quantifier) partner(el elements, name, w string, body ast.Expr, k element) outcome {
	if w == q.variable {
		return q.because("it uses one name for two variables")
	}
	if there := q.value(el.other()); there != yes {
		return there
	}
	if q.rule.OptionalOldSelf && slices.ContainsFunc(el.at.Marks.ListMapKeys, func(key string) bool { return escape(key) != key }) {
		return q.because(withoutSchema)
	}
	m := match{el, q.variable, w, name == "all", map[string]bool{}, false}
	result, ok := m.body(body, k)
	switch {
	case !ok:
		return q.because("it compares parts of keys or items")
	case !m.complete():
		return q.because("it does not compare all keys of the list")
	case m.whole && el.kind == listKeys && q.apart(el.at.Items) != "":
		return q.because(q.apart(el.at.Items))
	case k == alone:
		result = no
	}
	if m.all {
		return not(result)
	}
	return result
}
