package parameter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule names what a refused parameter breaks.
type Rule string

// The rules, in the order in which the refusals of one parameter are reported.
const (
	RuleUnknown    Rule = "unknown"    // a value without a definition
	RuleDefinition Rule = "definition" // the definition itself: its default, its enum, an immutable one without a value
	RuleImmutable  Rule = "immutable"  // an immutable value changes, or an upgrade needs it spelled out
	RuleRequired   Rule = "required"   // neither value nor default
	RuleType       Rule = "type"       // a value that is not of its type, its enum or its constraints
	RuleTrigger    Rule = "trigger"    // parameters that change together trigger different plans
	RuleEnabling   Rule = "enabling"   // the parameter that toggles a child instance cannot
)

var ruleOrder = []Rule{RuleUnknown, RuleDefinition, RuleImmutable, RuleRequired, RuleType, RuleTrigger, RuleEnabling}

// Error is one refusal.
type Error struct {
	Parameter string
	Rule      Rule
	Message   string

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the error that Heat raises for the refusal, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Errors are the refusals of one operation, sorted by parameter, then by rule. Empty is none.
type Errors []*Error

// Error joins the messages, each once, by newlines.
func (e Errors) Error() string { return strings.Join(e.Messages(), "\n") }

// Messages returns the messages in order, each once.
func (e Errors) Messages() []string {
	var out []string
	for _, err := range e {
		if !slices.Contains(out, err.Message) {
			out = append(out, err.Message)
		}
	}
	return out
}

// Unwrap returns the refusals, for errors.As and errors.Is.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// err returns the refusals as an error, nil when there are none.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// refuse adds a refusal of the parameter; the format says what it is or has.
func (e *Errors) refuse(name string, rule Rule, format string, args ...any) {
	message := fmt.Sprintf("parameter %q ", name) + fmt.Sprintf(format, args...)
	*e = append(*e, &Error{Parameter: name, Rule: rule, Message: message})
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Parameter, b.Parameter),
			cmp.Compare(slices.Index(ruleOrder, a.Rule), slices.Index(ruleOrder, b.Rule)))
	})
}
