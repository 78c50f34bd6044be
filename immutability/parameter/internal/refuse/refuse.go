// Package refuse collects refusals for the evaluators.
package refuse

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Add adds a refusal to refusals. The format continues the sentence that begins with the parameter's name, where there is
// one.
func Add(refusals *parameter.Refusals, name string, rule parameter.Rule, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if name != "" {
		message = fmt.Sprintf("parameter %q ", name) + message
	}
	*refusals = append(*refusals, &parameter.Refusal{Parameter: name, Rule: rule, Message: oneLine(message)})
}

// The rules, in the order in which the refusals of one parameter are reported; parameter.Rule says what each means.
const (
	Unknown    parameter.Rule = "unknown"
	Definition parameter.Rule = "definition"
	Immutable  parameter.Rule = "immutable"
	Required   parameter.Rule = "required"
	Type       parameter.Rule = "type"
	Trigger    parameter.Rule = "trigger"
	Enabling   parameter.Rule = "enabling"
)

var order = []parameter.Rule{Unknown, Definition, Immutable, Required, Type, Trigger, Enabling}

// Sort sorts refusals by parameter, then by rule.
func Sort(refusals parameter.Refusals) {
	slices.SortStableFunc(refusals, func(a, b *parameter.Refusal) int {
		return cmp.Or(cmp.Compare(a.Parameter, b.Parameter),
			cmp.Compare(slices.Index(order, a.Rule), slices.Index(order, b.Rule)))
	})
}

// oneLine escapes what would break the line or control a terminal. Names and values are quoted already; texts that
// templates bring along are not.
func oneLine(message string) string {
	if !strings.ContainsFunc(message, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return message
	}
	var out strings.Builder
	for _, c := range message {
		switch {
		case unicode.IsPrint(c):
			out.WriteRune(c)
		case unicode.IsSpace(c):
			out.WriteByte(' ')
		default:
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		}
	}
	return out.String()
}
