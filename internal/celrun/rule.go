package celrun

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Rule is one entry of x-kubernetes-validations.
type Rule struct {
	SchemaPath string // of its schema node, a JSON pointer
	Index      int    // among the rules of its node
	Text       string // the CEL expression

	Message           string
	MessageExpression string
	FieldPath         string
	Reason            string
	OptionalOldSelf   bool
}

// Rules lists the rules of s that an API server runs: those of properties, additionalProperties and items, and those
// inside allOf. Parents come before children, properties in the order of their names. Entries that are not rules are
// skipped; an API server refuses the CRD. Nil s has none.
func Rules(s *spec.Schema) []Rule {
	var rules []Rule
	for path, node := range schema.Nodes(s) {
		entries, _ := node.Extensions[schema.KeyValidations].([]any)
		for i, entry := range entries {
			fields, _ := entry.(map[string]any)
			r := Rule{SchemaPath: path, Index: i}
			var ok bool
			if r.Text, ok = fields["rule"].(string); !ok {
				continue
			}
			r.Message, _ = fields["message"].(string)
			r.MessageExpression, _ = fields["messageExpression"].(string)
			r.FieldPath, _ = fields["fieldPath"].(string)
			r.Reason, _ = fields["reason"].(string)
			r.OptionalOldSelf, _ = fields["optionalOldSelf"].(bool)
			rules = append(rules, r)
		}
	}
	return rules
}

// Transition reports whether r is a transition rule: one that reads oldSelf. A rule that does not parse is one if its
// text has the word, so that a check of updates runs it, and reports that it cannot.
func Transition(r Rule) bool {
	if !strings.Contains(r.Text, "oldSelf") {
		return false
	}
	x, err := celexpr.Parse(r.Text)
	return err != nil || celexpr.Mentions(x, "oldSelf")
}

// Reads lists what r reads; nothing if it does not parse.
func (r *Rule) Reads() []celexpr.Read {
	x, err := celexpr.Parse(r.Text)
	if err != nil {
		return nil
	}
	return celexpr.Reads(x)
}

// text is how the server's messages quote r.
func (r *Rule) text() string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Text)
}

// Says returns what the server says when r is false and has no messageExpression.
func (r *Rule) Says() string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return "failed rule: " + r.text()
}

// hidesName reports whether an error of r may lack its label.
func (r *Rule) hidesName() bool {
	return r.MessageExpression != "" || r.Reason == string(field.ErrorTypeDuplicate)
}

// inAllOf reports whether some of rules are inside allOf. The server runs these only beside others, so then all stay
// together.
func inAllOf(rules []Rule) bool {
	return slices.ContainsFunc(rules,
		func(r Rule) bool { return slices.Contains(pointer.Names(r.SchemaPath), "allOf") })
}
