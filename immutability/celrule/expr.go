package celrule

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// celParser reads CEL without expanding macros, so has, all and exists stay calls.
var celParser = sync.OnceValues(func() (*parser.Parser, error) { return parser.NewParser(parser.EnableOptionalSyntax(true)) })

// parse reads a CEL expression. It returns an error that shows the first mistake.
func parse(text string) (ast.Expr, error) {
	p, err := celParser()
	if err != nil {
		return nil, err
	}
	parsed, errs := p.Parse(common.NewTextSource(text))
	if errs != nil && len(errs.GetErrors()) > 0 {
		return nil, fmt.Errorf("the rule does not parse: %s", errs.GetErrors()[0].Message)
	}
	return parsed.Expr(), nil
}

// visit calls enter for x and, where it returns true, for the expressions directly below x.
func visit(x ast.Expr, enter func(ast.Expr) bool) {
	if !enter(x) {
		return
	}
	switch x.Kind() {
	case ast.CallKind:
		call := x.AsCall()
		if call.IsMemberFunction() {
			visit(call.Target(), enter)
		}
		for _, arg := range call.Args() {
			visit(arg, enter)
		}
	case ast.SelectKind:
		visit(x.AsSelect().Operand(), enter)
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			visit(e, enter)
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			visit(e.AsMapEntry().Key(), enter)
			visit(e.AsMapEntry().Value(), enter)
		}
	case ast.StructKind:
		for _, f := range x.AsStruct().Fields() {
			visit(f.AsStructField().Value(), enter)
		}
	}
}

// mentions reports whether the variable name occurs in x.
func mentions(x ast.Expr, name string) bool {
	found := false
	visit(x, func(x ast.Expr) bool {
		found = found || isIdent(x, name)
		return !found
	})
	return found
}

func isIdent(x ast.Expr, name string) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == name }

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
