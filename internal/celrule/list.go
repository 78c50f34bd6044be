package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

// quantifier evaluates self.f.all(variable, body) and self.f.exists(variable, body), where f is a map, a set or a keyed
// list. It understands bodies about the keys that the two objects have, such as those that Export writes:
//
//	oldSelf.all(key, key in self)
//	oldSelf.all(key, self.exists(other, other.name == key.name))
type quantifier struct {
	*fields
	truth    func(ast.Expr) outcome // evaluates what does not use the variable
	variable string
}

// over evaluates the macro name over target. It evaluates the body for both sorts of keys that can occur: those that the
// other object has too, and those that it lacks. The result is known if the sorts that certainly occur decide it.
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
	otherHas, lone := q.present(t.side.other(), t.at), yes
	if otherHas == yes {
		if lone = q.added(t.at); t.side == oldSide {
			lone = q.removed(t.at)
		}
	}
	if known := strict(strict(empty, otherHas), lone); known != yes {
		return known
	}
	// every and some are over the keys that can occur, certainlyEvery and certainlySome over those that do.
	every, some := yes, no
	meet := func(shared bool) {
		result := q.body(keyOf{t, shared}, body)
		every, some = and(every, result), or(some, result)
	}
	if lone == yes {
		meet(false)
	}
	certainlyEvery, certainlySome := every, some
	if otherHas == yes {
		meet(true)
		if lone == no {
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

// keyOf is a key of a map or keyed list, or an item of a set, in one object.
type keyOf struct {
	term
	shared bool // whether the other object has the key too
}

// other is the same map or list of the other object.
func (k keyOf) other() term { return term{k.side.other(), k.at, nil} }

// body evaluates x, where the variable is k.
func (q quantifier) body(k keyOf, x ast.Expr) outcome {
	if x.Kind() != ast.CallKind {
		return q.rest(x, "a key or item")
	}
	call := x.AsCall()
	args := call.Args()
	below := func(i int) outcome { return q.body(k, args[i]) }
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
		if celexpr.IsIdent(args[0], q.variable) && q.isOther(k, args[1]) && keysOf(k.at) != listKeys {
			return q.otherHas(k)
		}
	case "exists", "exists_one":
		if partner, body, ok := macro(call); ok && q.isOther(k, call.Target()) && keysOf(k.at) == listKeys {
			return q.partner(k, partner, body)
		}
	}
	return q.rest(x, written(call.FunctionName()))
}

// rest evaluates an expression that does not use the variable.
func (q quantifier) rest(x ast.Expr, what string) outcome {
	if celexpr.Mentions(x, q.variable) {
		return q.because("it uses " + what + " on the keys or items of a list or map")
	}
	return q.truth(x)
}

// isOther reports whether x is the map or list of k in the other object.
func (q quantifier) isOther(k keyOf, x ast.Expr) bool {
	t, ok := q.term(x)
	return ok && t == k.other()
}

// otherHas tells whether the other object has k. It fails if the other object does not have the map or list.
func (q quantifier) otherHas(k keyOf) outcome {
	if there := q.value(k.other()); there != yes {
		return there
	}
	return of(k.shared)
}

// partner evaluates other.exists(partner, body), where body compares all list-map keys of the two items, and nothing else:
// partner.name == variable.name && partner.port == variable.port.
func (q quantifier) partner(k keyOf, partner string, body ast.Expr) outcome {
	keys := k.at.Marks.ListMapKeys
	if q.rule.OptionalOldSelf && slices.ContainsFunc(keys, func(key string) bool { return celexpr.Escape(key) != key }) {
		return q.because(withoutSchema)
	}
	var compared []string
	for _, x := range operands(body, operators.LogicalAnd) {
		field, ok := sameField(x, partner, q.variable)
		if !ok || !slices.ContainsFunc(keys, func(key string) bool { return celexpr.Escape(key) == field }) {
			return q.because("it compares parts of keys or items")
		}
		if !slices.Contains(compared, field) {
			compared = append(compared, field)
		}
	}
	if len(compared) < len(keys) {
		return q.because("it does not compare all keys of the list")
	}
	return q.otherHas(k)
}

// sameField reads a.field == b.field, in either order of two different variables.
func sameField(x ast.Expr, a, b string) (field string, ok bool) {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Equals {
		return "", false
	}
	left, right := x.AsCall().Args()[0], x.AsCall().Args()[1]
	if left.Kind() != ast.SelectKind || right.Kind() != ast.SelectKind || left.AsSelect().FieldName() != right.AsSelect().FieldName() {
		return "", false
	}
	of, other := left.AsSelect().Operand(), right.AsSelect().Operand()
	ok = a != b && (celexpr.IsIdent(of, a) && celexpr.IsIdent(other, b) || celexpr.IsIdent(of, b) && celexpr.IsIdent(other, a))
	return left.AsSelect().FieldName(), ok
}
