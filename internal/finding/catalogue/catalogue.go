// Package catalogue is what lint can find: for each rule its severity, one sentence, and a help text that says why,
// shows an example and how to mend it. They are in findings.yaml. Lint, SARIF, the text output and the documentation
// take their words from here; the tests ask for a case in testdata.
package catalogue

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/finding"
)

// Rule is an entry of the catalogue.
type Rule struct {
	ID       string           // in kebab case; IDs never change, as users filter and accept findings by them
	Severity finding.Severity // of the rule's findings; where a rule has two, the graver one
	Hole     bool             // the finding names a way around a lock, so that objects can show it: its witness
	Text     string           // one sentence that says what was found

	// The help: why it matters, a schema or CRD in which the rule finds something, and how to mend it. Markdown, where
	// Example is YAML without a fence.
	Why, Example, Fix string
}

// Help returns the help text as Markdown: why, example, fix.
func (r *Rule) Help() string {
	return r.Why + "\n\n```yaml\n" + strings.TrimSuffix(r.Example, "\n") + "\n```\n\n**Fix**: " + r.Fix + "\n"
}

//go:embed findings.yaml
var text []byte

var catalogue = sync.OnceValue(func() []Rule {
	var all []Rule
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		panic(err) // a mistake in findings.yaml, which the tests find
	}
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
})

// All returns the catalogue, sorted by ID.
func All() []Rule { return slices.Clone(catalogue()) }

// Find returns the rule with an ID.
func Find(id string) (Rule, bool) {
	all := catalogue()
	at, found := slices.BinarySearchFunc(all, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		return Rule{}, false
	}
	return all[at], true
}
