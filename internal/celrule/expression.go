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
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

// operands lists the operands of nested calls of one operator.
func operands(x ast.Expr, operator string) []ast.Expr {
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operator {
		return slices.Concat(operands(x.AsCall().Args()[0], operator), operands(x.AsCall().Args()[1], operator))
	}
	return []ast.Expr{x}
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
		if pattern, err := regexp.Compile(s.Pattern); s.Pattern != "" && err == nil {
			return pattern.MatchString(v)
		}
		return true
	case int64:
		return !s.Type.Contains("string") && !s.Type.Contains("boolean") &&
			(s.Minimum == nil || float64(v) >= *s.Minimum) && (s.Maximum == nil || float64(v) <= *s.Maximum)
	case bool:
		return !s.Type.Contains("string") && !s.Type.Contains("integer")
	}
	return true
}

// allLiterals reports whether every valid value of s is one of literals.
func allLiterals(s *spec.Schema, literals []any) bool {
	if s.Type.Contains("boolean") {
		return true
	}
	return len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return e != nil && !slices.Contains(literals, valueIn(e)) })
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
