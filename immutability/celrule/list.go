package celrule

import (
	"cmp"
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

// element is what a key or item can be, seen from one object.
type element int

const (
	alone   element = iota // the other object does not have the key
	kept                   // the other object has the key with an equal value
	changed                // the other object has the key with a different value
)

// elements are the keys of a field on one side.
type elements struct {
	term
	kind keyKind
}

func (el elements) other() term { return term{el.side.other(), el.at, nil} }

// match reads the body of other.exists(w, w.key == v.key && …) and other.all(w, w.key != v.key || …): how it finds the
// partner w of the element v.
type match struct {
	of   elements
	v, w string
	all  bool // the body belongs to all(): a disjunction of negations

	keys  map[string]bool // key fields that w and v have to have in common
	whole bool            // w has to equal v
}

// body returns whether the body holds for the partner of an element of kind k; for all, whether its negation does. ok is
// false if the body compares anything else.
func (m *match) body(x ast.Expr, k element) (result outcome, ok bool) {
	operator := operators.LogicalAnd
	if m.all {
		operator = operators.LogicalOr
	}
	result = yes
	for _, part := range operands(x, operator) {
		key, whole, equals, ok := m.comparison(part)
		switch {
		case !ok:
			return opaque, false
		case !whole && equals != m.all:
			m.keys[key] = true
		case whole && equals != m.all:
			m.whole = true
			if k == changed {
				result = no
			}
		case whole && m.all: // all(w, w.key != v.key || w == v): the partner has to be equal
			if k == kept {
				result = no
			}
		default:
			return opaque, false
		}
	}
	return result, true
}

// comparison reads w.key == v.key, w == v and their negations.
func (m *match) comparison(x ast.Expr) (key string, whole, equals, ok bool) {
	if x.Kind() != ast.CallKind {
		return "", false, false, false
	}
	equals = x.AsCall().FunctionName() == operators.Equals
	if !equals && x.AsCall().FunctionName() != operators.NotEquals {
		return "", false, false, false
	}
	a, b := x.AsCall().Args()[0], x.AsCall().Args()[1]
	if isIdent(a, m.v) || a.Kind() == ast.SelectKind && isIdent(a.AsSelect().Operand(), m.v) {
		a, b = b, a
	}
	if isIdent(a, m.w) && isIdent(b, m.v) {
		return "", true, equals, true
	}
	if a.Kind() != ast.SelectKind || b.Kind() != ast.SelectKind || m.of.kind != listKeys {
		return "", false, false, false
	}
	keyA, keyB := a.AsSelect(), b.AsSelect()
	if !isIdent(keyA.Operand(), m.w) || !isIdent(keyB.Operand(), m.v) || keyA.FieldName() != keyB.FieldName() {
		return "", false, false, false
	}
	isKey := slices.ContainsFunc(m.of.at.Marks.ListMapKeys, func(key string) bool { return escape(key) == keyA.FieldName() })
	return keyA.FieldName(), false, equals, isKey
}

// complete reports whether the body leaves at most one partner.
func (m *match) complete() bool {
	switch m.of.kind {
	case listKeys:
		return m.whole || len(m.keys) == len(m.of.at.Marks.ListMapKeys)
	case setItems:
		return m.whole
	}
	return false
}

// orders tells for each comparison operator which signs of the difference satisfy it.
var orders = map[string]func(sign int) bool{
	operators.Less:          func(sign int) bool { return sign < 0 },
	operators.LessEquals:    func(sign int) bool { return sign <= 0 },
	operators.Greater:       func(sign int) bool { return sign > 0 },
	operators.GreaterEquals: func(sign int) bool { return sign >= 0 },
}

func equalSign(sign int) bool { return sign == 0 }

// ordered evaluates a comparison of x with y, both numbers or sizes; holds tells which signs of their difference satisfy
// it.
func ordered(f *fields, x, y ast.Expr, holds func(sign int) bool) outcome {
	a, sizeA := sizeOf(f, x)
	b, sizeB := sizeOf(f, y)
	v, isLiteral := literalOf(y)
	n, isInt := v.(int64)
	switch {
	case sizeA && sizeB:
		return compareSizes(f, a, b, holds)
	case sizeA && isLiteral && isInt:
		return compareSize(f, a, n, holds)
	case sizeB && x.Kind() == ast.LiteralKind:
		return ordered(f, y, x, func(sign int) bool { return holds(-sign) })
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

// compareSizes compares the sizes of one list or map in the new and the old object.
func compareSizes(f *fields, a, b term, holds func(sign int) bool) outcome {
	if there := strict(f.value(a), f.value(b)); there != yes {
		return there
	}
	if a.at != b.at || a.side == b.side || keysOf(a.at) == noKeys {
		return f.because("it compares sizes")
	}
	added, removed := f.added(a.at), f.removed(a.at)
	if known := strict(added, removed); known != yes {
		return known
	}
	sign := 0
	switch {
	case added == yes && removed == yes:
		return f.because("it compares sizes")
	case added == yes:
		sign = 1
	case removed == yes:
		sign = -1
	}
	if a.side == oldSide {
		sign = -sign
	}
	return of(holds(sign))
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

func numberOf(f *fields, x ast.Expr) (int64, outcome) {
	if v, ok := literalOf(x); ok {
		if n, ok := v.(int64); ok {
			return n, yes
		}
	}
	t, ok := f.term(x)
	if !ok {
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
