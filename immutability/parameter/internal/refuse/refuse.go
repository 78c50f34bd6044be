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

// Add adds a refusal to refusals. The format continues the sentence that begins with the parameter's name, where there
// is one.
func Add(refusals *parameter.Refusals, name string, rule parameter.Rule, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if name != "" {
		message = fmt.Sprintf("parameter %q ", name) + message
	}
	*refusals = append(*refusals, &parameter.Refusal{Parameter: name, Rule: rule, Message: oneLine(message)})
}

// The rules by their short names.
const (
	Unknown    = parameter.RuleUnknown
	Definition = parameter.RuleDefinition
	Immutable  = parameter.RuleImmutable
	Required   = parameter.RuleRequired
	Type       = parameter.RuleType
	Trigger    = parameter.RuleTrigger
	Enabling   = parameter.RuleEnabling
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
