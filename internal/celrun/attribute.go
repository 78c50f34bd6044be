package celrun

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// The server's errors do not name their rule. Rules are therefore compiled with a label as their message, which the
// server puts where the message or, without one, the text of the rule would be; attribute puts these back.
//
// Two things hide the label: a messageExpression, whose result replaces the message, and the reason
// FieldValueDuplicate, whose errors have none. If the path fits only one such rule, it is that one. If not, the update
// runs once more with these rules stripped of both: errors with the same path come from one schema node or from a node
// and its ancestors, which the server visits in a fixed order, so the n-th error at a path is the n-th label at that
// path.

// ruleOf returns the rule whose label is in a message.
func (v *Validator) ruleOf(message string) (*Rule, bool) {
	m := labeled.FindStringSubmatch(message)
	if m == nil {
		return nil, false
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i >= len(v.rules) {
		return nil, false
	}
	return &v.rules[i], true
}

// attribute makes violations of the server's errors about an update.
func (v *Validator) attribute(errs field.ErrorList, newObj, oldObj map[string]any) ([]RuleError, error) {
	violations := make([]RuleError, len(errs))
	unnamed := map[string][]int{} // indices of errors without a label, by path
	for i, err := range errs {
		if strings.HasPrefix(err.Detail, "rule compile") {
			return nil, v.compileError(err)
		}
		violations[i] = RuleError{Path: pathOf(err), Message: err.Detail, Type: err.Type}
		r, ok := v.ruleOf(err.Detail)
		switch {
		case ok && err.Detail == label(v.indexOf(r)):
			violations[i].Rule, violations[i].Message = *r, r.Says()
		case ok: // the rule fails with an error, which quotes it
			violations[i].Rule, violations[i].Message = *r, labeled.ReplaceAllLiteralString(err.Detail, r.text())
		case !strings.Contains(err.Detail, "cost budget"):
			unnamed[err.Field] = append(unnamed[err.Field], i)
		}
	}
	for path, indices := range unnamed {
		rules, err := v.hidden(path, len(indices), newObj, oldObj)
		if err != nil {
			return nil, err
		}
		for n, i := range indices {
			if n < len(rules) {
				violations[i].Rule = *rules[n]
			}
			if violations[i].Message == "" { // FieldValueDuplicate
				violations[i].Message = violations[i].Rule.Says()
			}
		}
	}
	return violations, nil
}

// pathOf returns the path of an error, "" for the whole object. Below a map the server prints a fieldPath as ".[key]".
func pathOf(err *field.Error) string {
	return strings.ReplaceAll(strings.TrimPrefix(err.Field, noPath), ".[", "[")
}

func (v *Validator) indexOf(r *Rule) int {
	for i := range v.rules {
		if &v.rules[i] == r {
			return i
		}
	}
	return -1
}

// compileError says which rule does not compile.
func (v *Validator) compileError(err *field.Error) error {
	for i := range v.rules {
		if fits(&v.rules[i], err.Field, false) {
			return fmt.Errorf("a rule at %q does not compile: %s", v.rules[i].SchemaPath, err.Detail)
		}
	}
	return fmt.Errorf("a rule does not compile: %s", err.Detail)
}

// hidden returns the n rules that errors without a label come from, in the order of the errors at path.
func (v *Validator) hidden(path string, n int, newObj, oldObj map[string]any) ([]*Rule, error) {
	var fitting []*Rule
	for i := range v.rules {
		if r := &v.rules[i]; r.hidesName() && fits(r, path, true) {
			fitting = append(fitting, r)
		}
	}
	if len(fitting) <= n {
		return fitting, nil
	}
	p, err := v.naming()
	if err != nil {
		return nil, err
	}
	var found []*Rule
	for _, err := range v.run(p, newObj, oldObj) {
		if r, ok := v.ruleOf(err.Detail); ok && err.Field == path {
			found = append(found, r)
		}
	}
	return found, nil
}

// fits reports whether an error of r can be at a path: the path of its schema node, or where withField is set its
// fieldPath below it.
func fits(r *Rule, path string, withField bool) bool {
	var b strings.Builder
	child := func(name string) {
		if b.Len() > 0 {
			b.WriteString(`\.`)
		}
		b.WriteString(regexp.QuoteMeta(name))
	}
	for steps := pointer.Names(r.SchemaPath); len(steps) > 0; {
		switch steps[0] {
		case "properties":
			child(steps[1])
			steps = steps[2:]
		case "allOf":
			steps = steps[2:]
		default: // items and additionalProperties
			b.WriteString(`\[.*\]`)
			steps = steps[1:]
		}
	}
	if withField && r.FieldPath != "" {
		child(quotes.Replace(strings.TrimPrefix(r.FieldPath, ".")))
	}
	return regexp.MustCompile("(?s)^(" + b.String() + ")$").MatchString(strings.TrimPrefix(path, noPath))
}

// quotes turns the quoted names of a fieldPath into what the server prints for properties.
var quotes = strings.NewReplacer("['", ".", "']", "")

// noPath is how the server prints the path of the whole object.
const noPath = "<nil>"
