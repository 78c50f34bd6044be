// Package celexpr parses, prints and walks CEL expressions of custom resource definitions. Macros stay calls: has, all and
// exists are printed as they were written.
package celexpr

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
	"k8s.io/apiserver/pkg/cel"
)

var newParser = sync.OnceValues(func() (*parser.Parser, error) { return parser.NewParser(parser.EnableOptionalSyntax(true)) })

// Parse reads a CEL expression. It returns an error that shows the first mistake.
func Parse(text string) (ast.Expr, error) {
	p, err := newParser()
	if err != nil {
		return nil, err
	}
	parsed, errs := p.Parse(common.NewTextSource(text))
	if errs != nil && len(errs.GetErrors()) > 0 {
		return nil, fmt.Errorf("the rule does not parse: %s", errs.GetErrors()[0].Message)
	}
	return parsed.Expr(), nil
}

// Print returns the text of x.
func Print(x ast.Expr) (string, error) { return parser.Unparse(x, nil) }

// Visit calls enter for x and, where it returns true, for the expressions directly below x.
func Visit(x ast.Expr, enter func(ast.Expr) bool) {
	if !enter(x) {
		return
	}
	switch x.Kind() {
	case ast.CallKind:
		call := x.AsCall()
		if call.IsMemberFunction() {
			Visit(call.Target(), enter)
		}
		for _, arg := range call.Args() {
			Visit(arg, enter)
		}
	case ast.SelectKind:
		Visit(x.AsSelect().Operand(), enter)
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			Visit(e, enter)
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			Visit(e.AsMapEntry().Key(), enter)
			Visit(e.AsMapEntry().Value(), enter)
		}
	case ast.StructKind:
		for _, f := range x.AsStruct().Fields() {
			Visit(f.AsStructField().Value(), enter)
		}
	}
}

// Operands lists the operands of nested calls of one operator.
func Operands(x ast.Expr, operator string) []ast.Expr {
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operator {
		return append(Operands(x.AsCall().Args()[0], operator), Operands(x.AsCall().Args()[1], operator)...)
	}
	return []ast.Expr{x}
}

// Mentions reports whether the variable name occurs in x.
func Mentions(x ast.Expr, name string) bool {
	found := false
	Visit(x, func(x ast.Expr) bool {
		found = found || IsIdent(x, name)
		return !found
	})
	return found
}

// IsIdent reports whether x is the variable name.
func IsIdent(x ast.Expr, name string) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == name }

// Escape returns a property name the way CEL spells it in a selection: my-field is my__dash__field. It returns "" for a name
// that CEL cannot select.
func Escape(name string) string {
	escaped, ok := cel.Escape(name)
	if !ok {
		return ""
	}
	return escaped
}

// Unescape returns the property name that a selection spells.
func Unescape(name string) string {
	if plain, ok := cel.Unescape(name); ok {
		return plain
	}
	return name
}
