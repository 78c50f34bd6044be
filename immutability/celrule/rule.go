package celrule

import (
	"fmt"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// Rule is one entry of x-kubernetes-validations.
type Rule struct {
	Path            string // of the place it stands at: "spec.nodes[*]", "" for the root
	SchemaPath      string
	Index           int    // among the rules of its place
	Text            string // the CEL expression
	OptionalOldSelf bool
	// Transition reports whether the rule speaks of oldSelf.
	Transition bool

	at   *place
	expr ast.Expr // nil when the text does not parse
	err  error
}

// rulesOf reads the rules at p. Entries that are no rules are skipped: the API server refuses them.
func rulesOf(p *place) []Rule {
	list, _ := p.schema.Extensions[extension.Validations].([]any)
	var rules []Rule
	for i, entry := range list {
		fields, _ := entry.(map[string]any)
		text, ok := fields["rule"].(string)
		if !ok {
			continue
		}
		r := Rule{Path: p.path(), SchemaPath: p.schemaPath(), Index: i, Text: text, at: p}
		r.OptionalOldSelf, _ = fields["optionalOldSelf"].(bool)
		r.expr, r.err = parse(text)
		r.Transition = r.expr != nil && mentions(r.expr, "oldSelf")
		rules = append(rules, r)
	}
	return rules
}

// parse reads a CEL expression without expanding macros, so that has, all and exists stay calls.
func parse(text string) (ast.Expr, error) {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true))
	if err != nil {
		return nil, err
	}
	parsed, errs := p.Parse(common.NewTextSource(text))
	if errs != nil && len(errs.GetErrors()) > 0 {
		return nil, fmt.Errorf("the rule does not parse: %s", errs.GetErrors()[0].Message)
	}
	return parsed.Expr(), nil
}

// mentions reports whether the free variable name stands in x.
func mentions(x ast.Expr, name string) bool {
	found := false
	visit(x, func(x ast.Expr) bool {
		found = found || x.Kind() == ast.IdentKind && x.AsIdent() == name
		return !found
	})
	return found
}

// visit calls enter for x and, where it returns true, for what is below x.
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
