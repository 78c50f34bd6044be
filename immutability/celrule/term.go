package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apiserver/pkg/cel"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// side is the object that a term reads.
type side int

const (
	newSide side = iota
	oldSide
)

func (s side) other() side { return 1 - s }

// term is a field that a rule reads from one object: self.a.b, oldSelf.a.b, self.?a.?b.
type term struct {
	side side
	at   *schema.Location
	// optional is the first field on the way that is selected with .?, nil for none: from there on a missing field makes
	// an empty optional, not an error.
	optional *schema.Location
}

// termOf reads x as a field selected from self or oldSelf, in a rule that stands at a location.
func termOf(r *Rule, x ast.Expr) (t term, ok bool) {
	switch x.Kind() {
	case ast.IdentKind:
		switch x.AsIdent() {
		case "self":
			return term{newSide, r.at, nil}, true
		case "oldSelf":
			if r.OptionalOldSelf {
				return term{oldSide, r.at, r.at}, true
			}
			return term{oldSide, r.at, nil}, true
		}
	case ast.SelectKind:
		return selectField(r, x.AsSelect().Operand(), x.AsSelect().FieldName(), false)
	case ast.CallKind:
		return optionalTerm(r, x.AsCall())
	}
	return term{}, false
}

// readTerm is what termOf returns.
type readTerm struct {
	term
	ok bool
}

// term is termOf, which it asks once for each expression.
func (r *Rule) term(x ast.Expr) (term, bool) {
	known, ok := r.terms[x]
	if !ok {
		known.term, known.ok = termOf(r, x)
		if r.terms == nil {
			r.terms = map[ast.Expr]readTerm{}
		}
		r.terms[x] = known
	}
	return known.term, known.ok
}

// optionalTerm reads x.?field and x.value().
func optionalTerm(r *Rule, call ast.CallExpr) (t term, ok bool) {
	switch {
	case call.FunctionName() == operators.OptSelect:
		if name, isName := literalOf(call.Args()[1]); isName {
			if name, isString := name.(string); isString {
				return selectField(r, call.Args()[0], name, true)
			}
		}
	case call.FunctionName() == "value" && call.IsMemberFunction() && len(call.Args()) == 0:
		t, ok = termOf(r, call.Target())
		if t.optional == nil {
			return term{}, false
		}
		t.optional = nil
		return t, ok
	}
	return term{}, false
}

func selectField(r *Rule, operand ast.Expr, escaped string, optional bool) (term, bool) {
	t, ok := termOf(r, operand)
	name, unescaped := cel.Unescape(escaped)
	if !ok || !unescaped {
		return term{}, false
	}
	if t.at = t.at.Property(name); t.at == nil {
		return term{}, false
	}
	if optional && t.optional == nil {
		t.optional = t.at
	}
	return t, true
}

// termsIn lists the fields that a rule reads in x, the longest selection of each.
func termsIn(r *Rule, x ast.Expr) []term {
	var terms []term
	visit(x, func(x ast.Expr) bool {
		t, ok := termOf(r, x)
		if ok {
			terms = append(terms, t)
		}
		return !ok
	})
	return terms
}
