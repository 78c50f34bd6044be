// Package celexpr parses, prints and walks CEL expressions of custom resource definitions. Macros stay calls: has, all
// and exists are printed as they were written.
package celexpr

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
	"k8s.io/apiserver/pkg/cel"
)

var newParser = sync.OnceValues(func() (*parser.Parser, error) {
	return parser.NewParser(parser.EnableOptionalSyntax(true))
})

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
	for _, child := range children(x) {
		Visit(child, enter)
	}
}

// children lists the expressions directly below x.
func children(x ast.Expr) []ast.Expr {
	var list []ast.Expr
	switch x.Kind() {
	case ast.CallKind:
		call := x.AsCall()
		if !call.IsMemberFunction() {
			return call.Args()
		}
		return append([]ast.Expr{call.Target()}, call.Args()...)
	case ast.SelectKind:
		return []ast.Expr{x.AsSelect().Operand()}
	case ast.ListKind:
		return x.AsList().Elements()
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			list = append(list, e.AsMapEntry().Key(), e.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, f := range x.AsStruct().Fields() {
			list = append(list, f.AsStructField().Value())
		}
	}
	return list
}

// Macro is a call of a macro that binds variables: self.list.all(item, item.a).
type Macro struct {
	Variables []string
	Body      []ast.Expr
	Whole     bool // the variable holds the target itself, not its items
}

// MacroOf returns a call as a macro, and reports false for other calls.
func MacroOf(call ast.CallExpr) (m Macro, ok bool) {
	args, variables := call.Args(), 1
	switch call.FunctionName() {
	case "all", "exists", "exists_one", "existsOne": // one variable or two, and one body
		variables = len(args) - 1
	case "transformList", "transformMap", "transformMapEntry":
		variables = 2
	case "optMap", "optFlatMap":
		m.Whole = true
	case "map", "filter":
	default:
		return Macro{}, false
	}
	if !call.IsMemberFunction() || variables < 1 || variables > 2 || len(args) <= variables {
		return Macro{}, false
	}
	for _, x := range args[:variables] {
		if x.Kind() != ast.IdentKind {
			return Macro{}, false
		}
		m.Variables = append(m.Variables, x.AsIdent())
	}
	m.Body = args[variables:]
	return m, true
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

// IsIdent reports whether x is the variable name, perhaps written as .name, which is the variable whatever the macros
// around bind.
func IsIdent(x ast.Expr, name string) bool {
	return x.Kind() == ast.IdentKind && strings.TrimPrefix(x.AsIdent(), ".") == name
}

// Escape returns a property name the way CEL spells it in a selection: my-field is my__dash__field. It returns "" for a
// name that CEL cannot select.
func Escape(name string) string {
	escaped, ok := cel.Escape(name)
	if !ok {
		return ""
	}
	return escaped
}
