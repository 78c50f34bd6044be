package rule

import (
	"slices"
	"strings"
)

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
