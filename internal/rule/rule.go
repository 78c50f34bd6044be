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

const (
	KeysOnSet       = "keys-on-set"
	KeysWithoutKeys = "keys-without-keys"
	MapKeysMissing  = "map-keys-missing"
	MapKeyMissing   = "map-key-missing"
	MapKeyNotScalar = "map-key-not-scalar"
	UnlockedMapKey  = "unlocked-map-key"
	OptionalMapKey  = "optional-map-key"
)

// listRules are about the keys of lists and maps.
var listRules = []Rule{{
	ID: KeysOnSet, Severity: Error,
	Text: "x-kubernetes-immutable-keys is on a set.",
	Why:  "The items of a set are its keys, so a lock on all keys locks the whole set.",
	Example: `
zones:
  type: array
  x-kubernetes-list-type: set
  items: {type: string}
  x-kubernetes-immutable-keys: true`,
	Fix: "Use `x-kubernetes-immutable`.",
}, {
	ID: KeysWithoutKeys, Severity: Error,
	Text: "A lock on keys is on a field without keys.",
	Why: "Keys are the keys of additionalProperties and of a list-type map (for the `-only` locks, also the items of a set). " +
		"Plain properties, atomic lists and atomic maps have none.",
	Example: `
args:
  type: array
  items: {type: string}
  x-kubernetes-addition-only: true`,
	Fix: "Use `x-kubernetes-immutable`, or give the list the type `map` or `set`.",
}, {
	ID: MapKeysMissing, Severity: Error,
	Text: "A list-type map does not name its keys.",
	Why:  "Without x-kubernetes-list-map-keys, items cannot be told apart.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  items: {type: object, properties: {name: {type: string}}}`,
	Fix: "Add `x-kubernetes-list-map-keys: [name]`.",
}, {
	ID: MapKeyMissing, Severity: Error,
	Text: "The items of a list-type map lack a property that is named as a key.",
	Why:  "An item without the key has no identity.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, properties: {port: {type: integer}}}`,
	Fix: "Declare the property in the items, or correct the name of the key.",
}, {
	ID: MapKeyNotScalar, Severity: Error,
	Text: "A key of a list-type map is an object or a list.",
	Why:  "Items are found by the value of their keys, which has to be a string, integer, number or boolean.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, required: [name], properties: {name: {type: array}}}`,
	Fix: "Use a scalar property as the key.",
}, {
	ID: UnlockedMapKey, Severity: Error,
	Text: "The keys of a list-type map are locked, but the key property is not marked immutable.",
	Why:  "A reader of the items' schema should see that the key property cannot change. The proposal requires the mark.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  x-kubernetes-immutable-keys: true
  items: {type: object, required: [name], properties: {name: {type: string}}}`,
	Fix: "Add `x-kubernetes-immutable: true` to the key property.",
}, {
	ID: OptionalMapKey, Severity: Warning,
	Text: "A key of a list-type map is neither required nor has a default.",
	Why:  "Items without the key cannot be told apart. An API server refuses a v1 CRD like that.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, properties: {name: {type: string}}}`,
	Fix: "Add the key to `required` of the items, or give it a default.",
}}

const (
	UnresolvableRef = "unresolvable-ref"
	NotStructural   = "not-structural"
)

// schemaRules are about schemas that cannot be used.
var schemaRules = []Rule{{
	ID: UnresolvableRef, Severity: Error,
	Text: "A $ref cannot be resolved.",
	Why:  "The schema behind the reference is unknown, and so are its locks.",
	Example: `
address: {$ref: "#/definitions/adress"}`,
	Fix: "Correct the reference, or pass a resolver that knows it. A `$ref` must not lead back to itself.",
}, {
	ID: NotStructural, Severity: Warning,
	Text: "The schema is not structural.",
	Why:  "An API server refuses a v1 CRD whose schema is not structural, and it can neither prune nor default its objects.",
	Example: `
spec:
  type: object
  patternProperties: {"^x-": {type: string}}`,
	Fix: "Remove the keywords that structural schemas do not allow. The message names the first one.",
}}
