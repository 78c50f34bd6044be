package celrule

import (
	"cmp"
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
}

func newReadRule(r *Rule) *readRule {
	read := &readRule{Rule: r}
	add := func(to *[]*schema.Location, l *schema.Location) {
		if !slices.Contains(*to, l) {
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
	return related(all, []*readRule{r}, r.reads, gone)
}

// about returns the rules that read gone from above, and those that read a field that another one of them reads: the nearest
// first, because a search answers their questions first.
func about(all []*readRule, gone *schema.Location) []*readRule {
	nearest := slices.SortedStableFunc(slices.Values(all), func(a, b *readRule) int { return cmp.Compare(len(way(b.at)), len(way(a.at))) })
	return related(nearest, nil, nil, gone)
}

// related completes rules with those that read gone from above, those that read something below fields, and those that
// read a field that another one of them reads.
func related(all, rules []*readRule, below []*schema.Location, gone *schema.Location) []*readRule {
	fields := slices.Clone(below)
	connected := func(other *readRule) bool {
		above := gone != nil && other.at != gone && within(gone, other.at)
		return slices.ContainsFunc(other.reads, func(l *schema.Location) bool {
			return above && (within(l, gone) || within(gone, l)) ||
				slices.ContainsFunc(fields, func(f *schema.Location) bool { return within(f, l) }) ||
				slices.ContainsFunc(below, func(f *schema.Location) bool { return within(l, f) })
		})
	}
	for again := true; again; {
		again = false
		for _, other := range all {
			if len(rules) < maxRelevant && !slices.Contains(rules, other) && connected(other) {
				rules, again = append(rules, other), true
				fields = append(fields, other.reads...)
			}
		}
	}
	return rules
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
