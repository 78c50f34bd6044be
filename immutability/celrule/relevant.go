package celrule

import (
	"math"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// readRule is a rule with the fields that it reads.
type readRule struct {
	*Rule
	// reads are the fields; of lists and maps that the rule may ask for keys, their items and values too.
	reads []*schema.Location
	// guards are the fields that a transition rule reads from the old object.
	guards []*schema.Location

	// What is found once it is asked for: the operands of && that the rule is made of, and the literals for a field.
	parts    []ast.Expr
	compared map[*schema.Location][]any
}

// literals lists what r compares l with.
func (r *readRule) literals(l *schema.Location) []any {
	found, ok := r.compared[l]
	if !ok {
		found = literalsIn(r.expr, l.Schema, math.MaxInt)
		if r.compared == nil {
			r.compared = map[*schema.Location][]any{}
		}
		r.compared[l] = found
	}
	return found
}

func newReadRule(r *Rule) *readRule {
	read := &readRule{Rule: r}
	seen := map[*[]*schema.Location]map[*schema.Location]bool{&read.reads: {}, &read.guards: {}}
	add := func(to *[]*schema.Location, l *schema.Location) {
		if !seen[to][l] {
			seen[to][l] = true
			*to = append(*to, l)
		}
	}
	for _, t := range termsIn(r, r.expr) {
		add(&read.reads, t.at)
		if keysOf(t.at) != noKeys {
			add(&read.reads, inside(t.at))
		}
		if t.side == oldSide && r.Transition && !t.at.IsMapKey() {
			add(&read.guards, t.at)
		}
	}
	return read
}

// guardsWithin lists the fields at or below l that r guards.
func (r *readRule) guardsWithin(l *schema.Location) []*schema.Location {
	return slices.DeleteFunc(slices.Clone(r.guards), func(g *schema.Location) bool { return !within(g, l) })
}

// maxRelevant bounds how many rules a search weighs together. Rules beyond it are taken to accept everything.
const maxRelevant = 40

// relevant returns the rules that decide together with r whether a detour without the field gone exists: those that read
// gone from above, and those that read a field that r or another relevant rule reads. r is the first one. A nil gone is
// for an update that removes nothing.
func relevant(all []*readRule, r *readRule, gone *schema.Location) []*readRule {
	return newRuleIndex(all, nil).relevant(r, gone, nil)
}

func (x *ruleIndex) relevant(r *readRule, gone *schema.Location, e *effort) []*readRule {
	return x.related([]*readRule{r}, r.reads, gone, e)
}

// compares reports whether r compares the new and old values of l as a whole.
func compares(r *Rule, l *schema.Location) bool {
	found := false
	visit(r.expr, func(x ast.Expr) bool {
		if x.Kind() != ast.CallKind {
			return true
		}
		call := x.AsCall()
		if name := call.FunctionName(); name == operators.Equals || name == operators.NotEquals {
			a, okA := termOf(r, call.Args()[0])
			b, okB := termOf(r, call.Args()[1])
			found = found || okA && okB && a.at == l && b.at == l && a.side != b.side
		}
		return !found
	})
	return found
}
