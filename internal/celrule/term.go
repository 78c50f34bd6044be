package celrule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
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

// termOf reads x, an expression of rule r, as a field selected from self or oldSelf.
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

// term returns the result of termOf, which it calls once for each expression.
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
	celexpr.Visit(x, func(x ast.Expr) bool {
		t, ok := termOf(r, x)
		if ok {
			terms = append(terms, t)
		}
		return !ok
	})
	return terms
}

// fields reads the fields that a rule names in a world. why is the reason for the first expression that was not understood.
type fields struct {
	world
	rule *Rule
	why  string
}

// because records why an expression is opaque.
func (f *fields) because(why string) outcome {
	if f.why == "" {
		f.why = why
	}
	return opaque
}

// term reads x as a field. A field of oldSelf that may be null, or whose name CEL escapes, is not understood if oldSelf is
// optional: CEL unwraps an optional variable to plain JSON, without its schema. There null is a value, names are as
// written, and sets and keyed lists are lists.
func (f *fields) term(x ast.Expr) (term, bool) {
	t, ok := f.rule.term(x)
	if !ok || t.side == newSide || !f.rule.OptionalOldSelf {
		return t, ok
	}
	for l := t.at; l != f.rule.at; l = l.Parent() {
		if l.Schema.Nullable || celexpr.Escape(l.Name) != l.Name {
			f.because(withoutSchema)
			return term{}, false
		}
	}
	return t, true
}

const withoutSchema = "with optionalOldSelf CEL reads oldSelf without its schema: null is a value, names are not escaped, sets and keyed lists have an order"

// apart returns why CEL's == on the values of l is not the equality of the world, or "".
func (f *fields) apart(l *schema.Location) string {
	if reason := f.world.apart(l); reason != "" || !f.rule.OptionalOldSelf || !typedOnly(l.Schema) {
		return reason
	}
	return withoutSchema
}

// typedOnly reports whether CEL compares values of s in another way when it does not know the schema of one of them.
func typedOnly(s *spec.Schema) bool {
	return anywhere(s, func(s *spec.Schema) bool {
		listType := s.Extensions[schema.KeyListType]
		for name := range s.Properties {
			if celexpr.Escape(name) != name {
				return true
			}
		}
		return s.Nullable || listType == schema.ListSet || listType == schema.ListMap
	})
}

// there tells whether the value of t exists.
func (f *fields) there(t term) outcome { return f.present(t.side, t.at) }

// reachable returns yes if the parent of t exists; if it does not, asking for t is an error, and reachable returns fails.
func (f *fields) reachable(t term) outcome {
	first := t.at
	if t.optional != nil {
		first = t.optional
	}
	if first == f.rule.at {
		return yes
	}
	return orFail(f.present(t.side, first.Parent()))
}

// has is has(t) and t.hasValue().
func (f *fields) has(t term) outcome {
	if reachable := f.reachable(t); reachable != yes {
		return reachable
	}
	return f.there(t)
}

// value returns yes if t has a value and fails if it has none.
func (f *fields) value(t term) outcome {
	if t.optional != nil {
		return f.because("it reads an optional field as a value")
	}
	return orFail(f.there(t))
}

func orFail(there outcome) outcome {
	if there == no {
		return fails
	}
	return there
}

// fail reports whether x certainly reads an absent field. Then x is an error, whatever else it does.
func (f *fields) fail(x ast.Expr) bool {
	failed := false
	celexpr.Visit(x, func(x ast.Expr) bool {
		if t, ok := f.term(x); ok {
			failed = failed || t.optional == nil && f.there(t) == no
			return false
		}
		if x.Kind() != ast.CallKind {
			return true
		}
		switch call := x.AsCall(); call.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.OptSelect, operators.OptIndex, "has", "orValue":
			return false
		case operators.Conditional:
			failed = failed || f.fail(call.Args()[0])
			return false
		case operators.In:
			return !isEmptyList(call.Args()[1])
		default:
			if _, _, ok := macro(call); ok {
				failed = failed || f.fail(call.Target())
				return false
			}
		}
		return true
	})
	return failed
}
