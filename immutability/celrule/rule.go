package celrule

import (
	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Rule is one entry of x-kubernetes-validations.
type Rule struct {
	Path            string // of the field that has the rule: "spec.nodes[*]", "" for the root
	SchemaPath      string
	Index           int    // among the rules of its field
	Text            string // the CEL expression
	OptionalOldSelf bool
	// Transition reports whether the rule reads oldSelf.
	Transition bool

	at   *schema.Location
	expr ast.Expr // nil when the text does not parse

	terms map[ast.Expr]readTerm // what term has found
}

// rulesOf reads the rules at l. Entries that are not rules are skipped: the API server refuses them.
func rulesOf(l *schema.Location) []*Rule {
	list, _ := l.Schema.Extensions[schema.KeyValidations].([]any)
	var rules []*Rule
	for i, entry := range list {
		fields, _ := entry.(map[string]any)
		text, ok := fields["rule"].(string)
		if !ok {
			continue
		}
		r := &Rule{Path: l.Path.String(), SchemaPath: l.Path.Pointer(), Index: i, Text: text, at: l}
		r.OptionalOldSelf, _ = fields["optionalOldSelf"].(bool)
		if x, err := parse(text); err == nil {
			r.expr, r.Transition = x, mentions(x, "oldSelf")
		}
		rules = append(rules, r)
	}
	return rules
}

// entry returns the entry of r in x-kubernetes-validations.
func (r *Rule) entry() map[string]any {
	list, _ := r.at.Schema.Extensions[schema.KeyValidations].([]any)
	entry, _ := list[r.Index].(map[string]any)
	return entry
}

// Message returns the message that the author gave the rule, "" for none; an expression in place of a message as it is.
func (r *Rule) Message() string {
	entry := r.entry()
	for _, key := range []string{"message", "messageExpression"} {
		if text, _ := entry[key].(string); text != "" {
			return text
		}
	}
	return ""
}
