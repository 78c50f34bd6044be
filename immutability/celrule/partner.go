package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

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
