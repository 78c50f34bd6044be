// Package rule is the catalogue of what lint finds: for each rule its ID, its severity, one sentence, and a help text
// that says why, shows an example and how to mend it.
//
// Lint, SARIF, the text output and the documentation take their words from here. A new rule is a constant and an entry in one of
// the lists, in one file; the tests of this package ask for a case in testdata. Nothing else in the project spells the IDs.
package rule

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says what a finding means for whoever uses the schema.
type Severity string

const (
	// Error makes a schema unusable: Compile refuses it, and lint fails.
	Error Severity = "error"
	// Warning names a way around a lock, or a lock without effect.
	Warning Severity = "warning"
	// Note is a hole that is possible but could not be shown with objects, or what lint did not look at. It never fails.
	Note Severity = "note"
)

// Rule is an entry of the catalogue.
type Rule struct {
	ID       string   // in kebab case; IDs never change, as users filter and accept findings by them
	Severity Severity // of the rule's findings; where a rule has two, the graver one
	Hole     bool     // the finding names a way around a lock, so that objects can show it: its witness
	Text     string   // one sentence that says what was found

	// The help: why it matters, a schema or CRD in which the rule finds something, and how to mend it. Markdown, where
	// Example is YAML without a fence.
	Why, Example, Fix string
}

// Help returns the help text as Markdown: why, example, fix.
func (r *Rule) Help() string {
	var b strings.Builder
	b.WriteString(r.Why)
	b.WriteString("\n\n```yaml\n" + strings.Trim(r.Example, "\n") + "\n```\n\n")
	b.WriteString("**Fix**: " + r.Fix + "\n")
	return b.String()
}

// All returns the catalogue, sorted by ID.
func All() []Rule {
	all := slices.Concat(keyRules, placeRules, listRules, schemaRules, holeRules, versionRules, updateRules, celRules)
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Find returns the rule with an ID. Cost: it builds the catalogue, so callers with many findings keep the result of All.
func Find(id string) (Rule, bool) {
	all := All()
	at, found := slices.BinarySearchFunc(all, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		return Rule{}, false
	}
	return all[at], true
}

// Enumerate lists fields for a message: the first five, and how many more there are.
func Enumerate(fields []string) string {
	const shown = 5
	more := len(fields) - shown
	switch {
	case more <= 0:
		return strings.Join(fields, ", ")
	case more == 1:
		return strings.Join(fields[:shown], ", ") + ", and 1 more field"
	}
	return fmt.Sprintf("%s, and %d more fields", strings.Join(fields[:shown], ", "), more)
}
