package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// mutant is one change of a file. Its form replaces a node: # is the number, X and Y in brackets are woven nodes.
type mutant struct {
	id, start, end int
	change, form   string
	nodes          []ast.Node
	file           *source
	reached, died  bool
	late           bool // died as the tests took too long
}

func (m *mutant) String() string {
	note := ""
	switch {
	case !m.reached:
		note = " (no test gets there)"
	case m.late:
		note = " (took too long)"
	}
	return fmt.Sprintf("%d %s:%d: %s%s", m.id, m.file.path, strings.Count(m.file.text[:m.start], "\n")+1, m.change, note)
}

// finder collects the mutants of files.
type finder struct {
	*source
	info  *types.Info
	found []*mutant
}

func (f *finder) add(n ast.Node, change, form string, nodes ...ast.Node) {
	f.found = append(f.found, &mutant{start: f.offset(n.Pos()), end: f.offset(n.End()), change: change, form: form, nodes: nodes, file: f.source})
}

// negate adds the opposite of a condition, once.
func (f *finder) negate(n ast.Expr) {
	if i := len(f.found) - 1; i < 0 || f.found[i].nodes[0] != n || f.found[i].start != f.offset(n.Pos()) {
		f.add(n, "negate "+f.line(n), "(mutantOn(#) != ([X]))", n)
	}
}

// line returns the text of a node in one line, shortened.
func (f *finder) line(n ast.Node) string {
	return fmt.Sprintf("%.120s", strings.Join(strings.Fields(f.text[f.offset(n.Pos()):f.offset(n.End())]), " "))
}

// visit adds the mutants of a node. It reports whether to go on below it.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.Ident)
		return !ok || called.Name != "make" // a capacity changes nothing
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.add(n.Body, "skip the loop", "{ if mutantOn(#) { break }; [X] }", n.Body)
	case *ast.RangeStmt:
		f.add(n.Body, "skip the loop", "{ if mutantOn(#) { break }; [X] }", n.Body)
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			f.negate(n)
		} else if swap, ok := swaps[n.Op]; ok {
			f.add(n, fmt.Sprintf("%s → %s in %s", n.Op, swap.other, f.line(n)), swap.form, n.X, n.Y)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.negate(n)
		}
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			f.negate(n)
		}
	case *ast.BasicLit:
		if t, ok := f.info.TypeOf(n).(*types.Basic); ok && n.Kind == token.INT && t.Info()&types.IsUntyped == 0 {
			f.add(n, n.Value+" → "+n.Value+" + 1", fmt.Sprintf("mutantNext(#, %s([X]))", t), n)
		}
	}
	return true
}

// swaps are the exchanges of operators.
var swaps = map[token.Token]struct {
	other token.Token
	form  string
}{
	token.LAND: {token.LOR, "(mutantOn(#) && (([X]) || ([Y])) || !mutantOn(#) && ([X]) && ([Y]))"},
	token.LOR:  {token.LAND, "(mutantOn(#) && ([X]) && ([Y]) || !mutantOn(#) && (([X]) || ([Y])))"},
	token.LSS:  {token.LEQ, "mutantLess(#, [X], [Y])"},
	token.GTR:  {token.GEQ, "mutantLess(#, [Y], [X])"},
	token.LEQ:  {token.LSS, "(!mutantLess(#, [Y], [X]))"},
	token.GEQ:  {token.GTR, "(!mutantLess(#, [X], [Y]))"},
	token.ADD:  {token.SUB, "mutantSum(#, [X], [Y])"},
	token.SUB:  {token.ADD, "mutantDifference(#, [X], [Y])"},
}

// statements drops statements, and returns the zero value or true for other values.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			for _, result := range s.Results {
				if f.info.Types[result].Value == nil && !strings.HasSuffix(f.line(result), "{}") {
					f.add(result, "return the zero value for "+f.line(result), "mutantZero(#, [X])", result)
					f.add(result, "return true for "+f.line(result), "(mutantOn(#) || ([X]))", result)
				}
			}
		case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.BranchStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.IfStmt:
			f.add(s, "drop "+f.line(s), "if !mutantOn(#) { [X] }", s)
		}
	}
}
