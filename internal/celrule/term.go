package celrule

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
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

// term is a field that a rule reads from one object: self.a.b, oldSelf.a.b, self.?a.?b.
type term struct {
	side side
	at   *schema.Location
	// optional is the first field on the way that is selected with .?, nil for none: from there on a missing field
	// makes an empty optional, not an error.
	optional *schema.Location
}

// termOf reads x, an expression of rule r, as a field selected from self or oldSelf.
func termOf(r *Rule, x ast.Expr) (t term, ok bool) {
	s, ok := celexpr.Selected(x)
	if !ok {
		return term{}, false
	}
	t.at = r.at
	switch s.Variable {
	case "self":
	case "oldSelf":
		t.side = oldSide
		if r.OptionalOldSelf {
			t.optional = r.at
		}
	default:
		return term{}, false
	}
	for _, step := range s.Steps {
		if !t.follow(step) {
			return term{}, false
		}
	}
	return t, true
}

// follow selects one step more from t: .field, .?field, or value() of an optional. It reports false for another step.
func (t *term) follow(step celexpr.Step) bool {
	if step.Kind == celexpr.Call {
		unwraps := step.Name == "value" && t.optional != nil
		t.optional = nil
		return unwraps
	}
	name, ok := step.Property()
	if step.Kind != celexpr.Field || !ok {
		return false
	}
	if t.at = t.at.Property(name); t.at == nil {
		return false
	}
	if step.Optional && t.optional == nil {
		t.optional = t.at
	}
	return true
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

// literalOf returns the string, integer or boolean that x spells; ok is false for everything else.
func literalOf(x ast.Expr) (v any, ok bool) {
	if x.Kind() != ast.LiteralKind {
		return nil, false
	}
	switch v := x.AsLiteral().(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return int64(v), true
	case types.Bool:
		return bool(v), true
	}
	return nil, false
}

// integral turns whole numbers, which a schema decodes to float64, into integers.
func integral(v any) any {
	if f, ok := v.(float64); ok && float64(int64(f)) == f {
		return int64(f)
	}
	return v
}

// admits reports whether a valid object can have v, a literal, at s. In doubt it says yes.
func admits(s *spec.Schema, v any) bool {
	if len(s.Enum) > 0 {
		return slices.ContainsFunc(s.Enum, func(e any) bool { return integral(e) == v })
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
