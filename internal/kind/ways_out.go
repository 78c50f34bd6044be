package kind

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// What replacing an object costs, and the ways to get a refused change through, are data: cost, why and how of the
// kind, and edit, first, then and how of the rows that the update breaks.
//
//	kind  cost: downtime, how: ["{delete} && {apply}"]       to delete and create the object
//	row   {field: spec.clusterIP, edit: "leave {path} out"}  an edit, so that nothing is replaced
//	row   {field: spec.selector, first: "scale to zero"}     a step before the replacement
//
// Words fills in {delete}, {apply} and {target}; the packages of the sources fill in what else their data has.

// Target returns the arguments that name an object for kubectl: such as deployment/web, and its namespace unless it is
// "".
func Target(object, namespace string) string {
	if namespace == "" {
		return shell.Quote(object)
	}
	return shell.Quote(object) + " -n " + shell.Quote(namespace)
}

// Words returns the pairs for strings.NewReplacer that fill in {target}, {delete} and {apply}.
func Words(target string) []string {
	return []string{"{target}", target, "{delete}", "kubectl delete " + target, "{apply}", tool.KubectlApply}
}

// Around is what the rows that an update breaks say about the ways out.
type Around struct {
	Edits       []string // each is enough for its row
	First, Then []string // steps before a replacement, and after one that keeps the pods
	Own         []string // the ways of rows that have some
	ofKind      bool     // a row has none of its own
	rows        int
}

// Add adds what one row says.
func (a *Around) Add(of result.WaysOut) {
	if of.Edit != "" {
		a.Edits = append(a.Edits, of.Edit)
	}
	a.First, a.Then, a.Own = append(a.First, of.First), append(a.Then, of.Then), append(a.Own, of.How...)
	a.ofKind = a.ofKind || len(of.How) == 0
	a.rows++
}

// Replacement returns what it takes to get a refused change through; why is the reason for the cost. It says so where
// each row has an edit, so that no replacement is necessary. fill fills in {delete}, {apply} and the like.
func (s *Source) Replacement(why string, fill *strings.Replacer, around Around) result.Replacement {
	if len(around.Edits) > 0 && len(around.Edits) == around.rows {
		why = "an edit is enough; if the object is replaced nevertheless: " + why
	}
	cost := cmp.Or(result.Cost(s.Cost), result.CostUnknown)
	return result.Replacement{Cost: cost, Message: why, How: s.ways(fill, around)}
}

// ways returns the ways to get a refused change through, each once: edits, then the replacements, the gentlest first,
// with the steps before and after them.
func (s *Source) ways(fill *strings.Replacer, around Around) []string {
	replacements := slices.Clone(around.Own)
	switch ofKind := around.ofKind || len(around.Own) == 0; {
	case ofKind && len(s.How) == 0:
		replacements = append(replacements, "{delete} && {apply}")
	case ofKind:
		replacements = append(replacements, s.How...)
	}
	ways := slices.Clone(around.Edits)
	for _, way := range replacements {
		steps := []string{fill.Replace(way)} // once: what is filled in comes from anywhere
		keepsPods := strings.Contains(way, "--cascade=orphan")
		if strings.HasPrefix(way, "{delete}") {
			first := slices.DeleteFunc(EachOnce(around.First), func(step string) bool {
				return !keepsPods && strings.Contains(step, toKeepPods)
			})
			steps = append(first, steps...)
		}
		if keepsPods {
			steps = append(steps, EachOnce(around.Then)...)
		}
		ways = append(ways, strings.Join(steps, tool.Step))
	}
	return EachOnce(ways)
}

// toKeepPods begins a first step, or its comment, that is wrong before a replacement that deletes the pods.
const toKeepPods = "to keep the pods, "

// EachOnce returns the texts of a list in their order, each once, and none that is empty.
func EachOnce(list []string) []string {
	var once []string
	for _, text := range list {
		if text != "" && !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}
