// Package analyzer checks immutability markers while Go types are written: in an editor, with go vet, in golangci-lint.
//
//	go vet -vettool=$(which fieldlock) ./api/...
//
// Package markers says which markers there are. See Analyzer for what is reported.
package analyzer

import (
	"cmp"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/fieldlock/fieldlock/internal/markers"
)

// Analyzer reports immutability markers that cannot do what they say (misspelled, above nothing, on a type that cannot
// have them, on a type that is not the type of any field) optional fields with locked fields below them: two updates
// that remove and add such a field change what is locked; and locks on a field that is no pointer and has no
// +normalize, where Go does not tell absent from the zero value and the lock does. An analyzer sees one package, so it
// leaves out what may be meant or closed elsewhere: locked fields of items whose keys can be removed and added again,
// fields below a type with a CEL rule that reads oldSelf, NoModify without NoUnset, and the normalizations that only
// CRDs ask for. The command fieldlock lint judges the whole CRD.
//
// The category of a diagnostic is "marker", "optional-parent" or "zero-value". Most have a suggested fix. Markers in
// other packages are not seen: facts about them would make every run analyze all dependencies.
var Analyzer = &analysis.Analyzer{
	Name: "fieldlock",
	Doc:  doc,
	URL:  "https://pkg.go.dev/github.com/fieldlock/fieldlock/markers/analyzer",
	Run:  run,
}

const doc = `check immutability markers such as +immutable and +k8s:update

The analyzer reports markers that cannot do what they say, locked fields that two updates can change, because their
optional parent can be removed and added again, and locks that tell absent from zero where Go does not.`

func run(pass *analysis.Pass) (any, error) {
	for _, p := range markers.Lint(pass.Fset, pass.Files, pass.Pkg, pass.TypesInfo) {
		report(pass, p)
	}
	return nil, nil
}

// report reports a problem at its comment, or at its declaration.
func report(pass *analysis.Pass, p markers.Problem) {
	for _, file := range pass.Files {
		f := pass.Fset.File(file.FileStart)
		if f == nil || f.Name() != p.File || p.Line < 1 || p.Line > f.LineCount() {
			continue
		}
		d := analysis.Diagnostic{Pos: f.LineStart(p.Line), Category: cmp.Or(p.Rule, "marker"), Message: p.Message}
		node := fieldAt(file, f, p.Line)
		if p.Marker != "" {
			d.Message = p.Marker + ": " + p.Message
			node = commentAt(file, f, p.Line)
		}
		if node != nil {
			d.Pos, d.End = node.Pos(), node.End()
			if edit, ok := edit(pass, f, node, p); ok {
				d.SuggestedFixes = []analysis.SuggestedFix{{Message: titleOf(p), TextEdits: []analysis.TextEdit{edit}}}
			}
		}
		pass.Report(d)
		return
	}
}

// commentAt returns the comment that begins in a line, or nil.
func commentAt(file *ast.File, f *token.File, line int) ast.Node {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if f.PositionFor(c.Pos(), false).Line == line {
				return c
			}
		}
	}
	return nil
}

// fieldAt returns the first struct field whose name is in a line, or nil.
func fieldAt(file *ast.File, f *token.File, line int) (found ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && found == nil && f.PositionFor(field.Pos(), false).Line == line {
			found = field
		}
		return found == nil
	})
	return found
}

// titleOf says what the fix of a problem does.
func titleOf(p markers.Problem) string {
	switch {
	case len(p.Fix) == 0:
		return "Remove the marker"
	case p.Marker != "":
		return "Write " + strings.Join(p.Fix, " and ")
	}
	return "Add " + strings.Join(p.Fix, " and ")
}

// edit returns the change that a fix makes at a comment, or above a field. It returns false if there is no fix, or
// something else on the line.
func edit(pass *analysis.Pass, f *token.File, at ast.Node, p markers.Problem) (analysis.TextEdit, bool) {
	data, err := pass.ReadFile(f.Name())
	start, offset := f.LineStart(p.Line), f.Offset(at.Pos())
	if p.Fix == nil || err != nil || offset > len(data) {
		return analysis.TextEdit{}, false
	}
	indent := string(data[f.Offset(start):offset])
	if strings.TrimSpace(indent) != "" {
		return analysis.TextEdit{}, false
	}
	var text strings.Builder
	for _, line := range p.Fix {
		text.WriteString(indent + "// " + line + "\n")
	}
	end := start
	if p.Marker != "" && p.Line < f.LineCount() {
		end = f.LineStart(p.Line + 1)
	}
	return analysis.TextEdit{Pos: start, End: end, NewText: []byte(text.String())}, true
}
