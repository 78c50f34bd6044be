package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// element is one kind of key or item that a quantifier meets.
type element int

const (
	alone   element = iota // the other side has no such key
	kept                   // under a common key, with an equal value
	changed                // under a common key, with another value
)

// quantifier is self.all(v, …) or exists over the keys or items of the last place.
type quantifier struct {
	*evaluation
	over     term
	kind     keyKind
	variable string
}

// quantified evaluates R.all(v, body), exists and exists_one, where R is the last place.
func (e *evaluation) quantified(call ast.CallExpr) outcome {
	over, ok := e.term(call.Target())
	kind := keysOf(e.c.lastPlace())
	if !ok || over.soft <= over.level || over.level != e.c.last() || kind == noKeys {
		return e.unsaid("it uses " + call.FunctionName() + "() on something that has no keys")
	}
	if !e.there(over) {
		return fails
	}
	if e.s.empty[over.side] {
		return of(call.FunctionName() == "all")
	}
	q := &quantifier{e, over, kind, call.Args()[0].AsIdent()}
	body := call.Args()[1]

	// all and any are over every element that there can be, sureEvery and sureSome over those that there are for certain.
	every, some := yes, no
	meets := func(k element) {
		o := q.body(body, k)
		every, some = and(every, o), or(some, o)
	}
	other := term{over.side.other(), over.level, over.soft}
	lone, shared := e.s.added, e.there(other)
	if over.side == oldSide {
		lone = e.s.removed
	}
	if lone || !shared {
		meets(alone)
	}
	if shared && e.s.modified {
		meets(changed)
	}
	sureEvery, sureSome := every, some
	if shared {
		meets(kept)
		if !lone && !e.s.modified {
			sureEvery, sureSome = every, some
		}
	}
	switch call.FunctionName() {
	case "all":
		if every == sureEvery {
			return every
		}
	case "exists":
		if some == sureSome {
			return some
		}
	}
	return e.unsaid("it uses " + call.FunctionName() + "() in a way that depends on the values")
}

// body evaluates x for an element of kind k.
func (q *quantifier) body(x ast.Expr, k element) outcome {
	if x.Kind() != ast.CallKind {
		return q.truth(x)
	}
	call := x.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		return and(q.body(args[0], k), q.body(args[1], k))
	case operators.LogicalOr:
		return or(q.body(args[0], k), q.body(args[1], k))
	case operators.LogicalNot:
		return not(q.body(args[0], k))
	case operators.Conditional:
		switch q.body(args[0], k) {
		case yes:
			return q.body(args[1], k)
		case no:
			return q.body(args[2], k)
		case fails:
			return fails
		}
		return open
	case operators.In:
		if q.isVariable(args[0]) && q.isOther(args[1]) {
			return q.in(k)
		}
	case operators.Equals:
		return q.equalValues(args[0], args[1], k)
	case operators.NotEquals:
		return not(q.equalValues(args[0], args[1], k))
	case "exists", "exists_one", "all":
		if call.IsMemberFunction() && len(args) == 2 && args[0].Kind() == ast.IdentKind && q.isOther(call.Target()) {
			return q.partner(call.FunctionName(), args[0].AsIdent(), args[1], k)
		}
	}
	if mentions(x, q.variable) {
		return q.unsaid("it uses " + nameOf(call.FunctionName()) + " on the keys or items of a list or map")
	}
	return q.truth(x)
}

// in is v in other: a key of a map, or an item of a list, which an item that has changed is not.
func (q *quantifier) in(k element) outcome {
	if !q.otherThere() {
		return fails
	}
	if q.kind == listKeys {
		if reason := q.c.unequal(q.c.lastPlace().items.schema); reason != "" {
			return q.unsaid(reason)
		}
		return of(k == kept)
	}
	return of(k != alone)
}

// equalValues is self[k] == oldSelf[k].
func (q *quantifier) equalValues(x, y ast.Expr, k element) outcome {
	a, okA := q.indexed(x)
	b, okB := q.indexed(y)
	if !okA || !okB || a == b || q.kind != mapKeys {
		if !mentions(x, q.variable) && !mentions(y, q.variable) {
			return q.equal(x, y)
		}
		return q.unsaid("it compares parts of keys or items")
	}
	if reason := q.c.unequal(q.c.lastPlace().values.schema); reason != "" {
		return q.unsaid(reason)
	}
	if k == alone {
		return fails
	}
	return of(k == kept)
}

func (q *quantifier) otherThere() bool {
	return q.there(term{q.over.side.other(), q.over.level, q.over.soft})
}

// indexed resolves self[k] and oldSelf[k].
func (q *quantifier) indexed(x ast.Expr) (side, bool) {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Index {
		return 0, false
	}
	args := x.AsCall().Args()
	t, ok := q.term(args[0])
	return t.side, ok && t.level == q.c.last() && t.soft > t.level && q.isVariable(args[1])
}

func (q *quantifier) isVariable(x ast.Expr) bool {
	return x.Kind() == ast.IdentKind && x.AsIdent() == q.variable
}

// isOther reports whether x is the same place on the other side.
func (q *quantifier) isOther(x ast.Expr) bool {
	t, ok := q.term(x)
	return ok && t.level == q.over.level && t.soft > t.level && t.side == q.over.side.other()
}

// partner evaluates other.exists(w, body) or all for the element v, of kind k. The w that has v's key is the only one
// that matters where body says so: by a comparison of all keys, or of the whole items.
func (q *quantifier) partner(quantifier, w string, body ast.Expr, k element) outcome {
	if w == q.variable {
		return q.unsaid("it uses one name for two variables")
	}
	universal := quantifier == "all"
	join := operators.LogicalAnd
	if universal {
		join = operators.LogicalOr
	}
	matched := map[string]bool{}
	whole := false
	result := yes // of the joined parts, for the partner; in an all, of their negations
	for _, part := range flatten(body, join) {
		key, isWhole, ok := q.match(part, w, universal)
		switch {
		case ok && !isWhole:
			matched[key] = true
		case ok:
			whole = true
			if k == changed {
				result = no
			}
		default:
			eq, isEqual := q.wholeEqual(part, w)
			if !universal || !isEqual || !eq {
				return q.unsaid("it compares parts of keys or items")
			}
			// all(w, w.key != v.key || w == v): the partner has to be equal.
			if k == kept {
				result = no
			}
		}
	}
	keys := len(matched) == len(q.c.lastPlace().marks.ListMapKeys)
	switch {
	case q.kind == listKeys && (keys || whole), q.kind == setItems && whole:
	default:
		return q.unsaid("it does not compare all keys of the list")
	}
	if whole && q.kind == listKeys {
		if reason := q.c.unequal(q.c.lastPlace().items.schema); reason != "" {
			return q.unsaid(reason)
		}
	}
	switch {
	case !q.otherThere():
		return fails
	case k == alone:
		result = no
	}
	if universal {
		return not(result)
	}
	return result
}

// flatten lists the operands of nested join calls.
func flatten(x ast.Expr, join string) []ast.Expr {
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == join {
		return slices.Concat(flatten(x.AsCall().Args()[0], join), flatten(x.AsCall().Args()[1], join))
	}
	return []ast.Expr{x}
}

// match reads a part of a body: w.key == v.key (with !=, in a negated body), or w == v.
func (q *quantifier) match(x ast.Expr, w string, negated bool) (key string, whole, ok bool) {
	want := operators.Equals
	if negated {
		want = operators.NotEquals
	}
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != want {
		return "", false, false
	}
	args := x.AsCall().Args()
	for range 2 {
		a, b := args[0], args[1]
		if a.Kind() == ast.IdentKind && b.Kind() == ast.IdentKind && a.AsIdent() == w && b.AsIdent() == q.variable {
			return "", true, true
		}
		if a.Kind() == ast.SelectKind && b.Kind() == ast.SelectKind && q.kind == listKeys {
			sa, sb := a.AsSelect(), b.AsSelect()
			if isIdent(sa.Operand(), w) && isIdent(sb.Operand(), q.variable) && sa.FieldName() == sb.FieldName() {
				i := slices.IndexFunc(q.c.lastPlace().marks.ListMapKeys, func(key string) bool { return escape(key) == sa.FieldName() })
				if i >= 0 {
					return sa.FieldName(), false, true
				}
			}
		}
		args = []ast.Expr{args[1], args[0]}
	}
	return "", false, false
}

// wholeEqual reads w == v.
func (q *quantifier) wholeEqual(x ast.Expr, w string) (equal, ok bool) {
	_, whole, ok := q.match(x, w, false)
	return ok && whole, ok && whole
}

func isIdent(x ast.Expr, name string) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == name }
