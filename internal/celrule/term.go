package celrule

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
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

// macro returns the variable and the body of target.all(variable, body) and the like.
func macro(call ast.CallExpr) (variable string, body ast.Expr, ok bool) {
	args := call.Args()
	if !call.IsMemberFunction() || len(args) != 2 || args[0].Kind() != ast.IdentKind {
		return "", nil, false
	}
	return args[0].AsIdent(), args[1], true
}

// sized returns what size(x) and x.size() measure.
func sized(x ast.Expr) (ast.Expr, bool) {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != "size" {
		return nil, false
	}
	switch call := x.AsCall(); {
	case call.IsMemberFunction() && len(call.Args()) == 0:
		return call.Target(), true
	case !call.IsMemberFunction() && len(call.Args()) == 1:
		return call.Args()[0], true
	}
	return nil, false
}

// written returns an operator or function the way a rule spells it.
func written(function string) string {
	if symbol, ok := operators.FindReverse(function); ok && symbol != "" {
		return symbol
	}
	return function + "()"
}

// literalOf returns the string, integer or boolean that x spells; ok is false for everything else.
func literalOf(x ast.Expr) (v any, ok bool) {
	if x.Kind() != ast.LiteralKind {
		return nil, false
	}
	return scalarOf(x.AsLiteral())
}

func scalarOf(v ref.Val) (any, bool) {
	switch v := v.(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return int64(v), true
	case types.Bool:
		return bool(v), true
	}
	return nil, false
}

// emptyValue is a list, map or object of size 0.
type emptyValue struct{}

// composed is a list or object of an enum, spelled out so that two can be compared.
type composed string

// valueIn returns a value of an enum in the form in which values are compared: a whole number as an integer, an empty list
// or object as emptyValue, another one as composed.
func valueIn(enum any) any {
	switch enum.(type) {
	case []any, map[string]any:
		if reflect.ValueOf(enum).Len() == 0 {
			return emptyValue{}
		}
		return composed(fmt.Sprintf("%#v", enum)) // which sorts keys
	}
	return integral(enum)
}

// integral turns whole numbers, which a schema decodes to float64, into integers.
func integral(v any) any {
	if f, ok := v.(float64); ok && float64(int64(f)) == f {
		return int64(f)
	}
	return v
}

// inEnum reports whether the enum of s has v, a value in the form of valueIn.
func inEnum(s *spec.Schema, v any) bool {
	return slices.ContainsFunc(s.Enum, func(e any) bool { return valueIn(e) == v })
}

// admits reports whether a valid object can have v, a literal, at s. In doubt it says yes.
func admits(s *spec.Schema, v any) bool {
	if len(s.Enum) > 0 {
		return inEnum(s, v)
	}
	switch v := v.(type) {
	case string:
		if s.Type.Contains("integer") || s.Type.Contains("boolean") {
			return false
		}
		length := int64(utf8.RuneCountInString(v))
		if s.MinLength != nil && length < *s.MinLength || s.MaxLength != nil && length > *s.MaxLength {
			return false
		}
		if s.Pattern == "" {
			return true
		}
		pattern, err := regexp.Compile(s.Pattern)
		return err != nil || pattern.MatchString(v)
	case int64:
		return !s.Type.Contains("string") && !s.Type.Contains("boolean") &&
			(s.Minimum == nil || float64(v) >= *s.Minimum) && (s.Maximum == nil || float64(v) <= *s.Maximum)
	case bool:
		return !s.Type.Contains("string") && !s.Type.Contains("integer")
	}
	return true
}

// literalsIn collects what x compares fields of schema s with, at most limit literals. It takes every comparison in x for
// one of s that has a literal of its type.
func literalsIn(x ast.Expr, s *spec.Schema, limit int) []any {
	if s.Type.Contains("boolean") {
		return []any{false, true}
	}
	if !isIntOrString(s) && !s.Type.Contains("string") && !s.Type.Contains("integer") {
		return nil
	}
	var literals []any
	celexpr.Visit(x, func(x ast.Expr) bool {
		v, ok := literalOf(x)
		if size, isSize := sized(x); isSize && size != nil && s.Type.Contains("string") {
			v, ok = "", true
		}
		if _, isBool := v.(bool); ok && !isBool && len(literals) < limit && !slices.Contains(literals, v) {
			literals = append(literals, v)
		}
		return true
	})
	return slices.DeleteFunc(literals, func(v any) bool {
		_, isString := v.(string)
		return isString && s.Type.Contains("integer") || !isString && s.Type.Contains("string")
	})
}
