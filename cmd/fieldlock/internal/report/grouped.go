package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// What a report says of several objects stands there once, with their names and places: unknown verdicts, notes and
// deletions here, refusals in repeated.go.
//
//	! 7 PersistentVolumeClaims (overlays/prod/kustomization.yaml:3)
//	    shop/blobstore, shop/pgsql, shop/prometheus, shop/redis-cache, shop/redis-store and 2 more
//	    deleted (cost: data): the volume and its data are deleted with the claim, if the reclaim policy is Delete

// group is something that is said of one object or of several.
type group[T any] struct {
	*block
	items []*T // one for each object
}

// first is what the group says, with the names and values of its first object.
func (g *group[T]) first() *T { return g.items[0] }

// block is the objects of a group, in the order of the report. One that several units deploy is there once for each.
type block struct{ subjects []*result.Subject }

// grouped returns the items as groups, in the order of their first items. says is equal for items of one group.
func grouped[T any](items []T, subject func(*T) *result.Subject, says func(*T) string) []group[T] {
	var groups []group[T]
	at := map[string]int{}
	for i := range items {
		key := says(&items[i])
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key] = n
			groups = append(groups, group[T]{block: &block{}})
		}
		g := &groups[n]
		g.subjects, g.items = append(g.subjects, subject(&items[i])), append(g.items, &items[i])
	}
	return groups
}

// remarkGroups groups remarks by what they say of objects of a kind.
func remarkGroups(remarks []result.Remark) []group[result.Remark] {
	return grouped(remarks, func(m *result.Remark) *result.Subject { return &m.Subject },
		func(m *result.Remark) string {
			return fmt.Sprintf("%q", []string{m.APIVersion, m.Kind, m.Path, m.Message})
		})
}

// losses returns the deletions that cost something, unless they are refused and printed as violations: those that lose
// most first. What restarts or costs nothing is in the summary's count, and so is what is kept, unless its loss would
// cost most.
func losses(r *compare.Report) []group[result.Deletion] {
	var list []result.Deletion
	for _, d := range r.Deletions {
		most := d.Cost == result.CostData || d.Cost == result.CostCascade
		least := d.Cost == result.CostNone || d.Cost == result.CostRestart
		if !least && (most || !d.Kept) && !d.Refused {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b result.Deletion) int {
		switch {
		case a.Kept && !b.Kept:
			return 1
		case b.Kept && !a.Kept:
			return -1
		}
		return cmp.Compare(slices.Index(result.Costs(), b.Cost), slices.Index(result.Costs(), a.Cost))
	})
	return grouped(list, func(d *result.Deletion) *result.Subject { return &d.Subject },
		func(d *result.Deletion) string {
			kind := ""
			if d.Loses() {
				kind = d.APIVersion + " " + d.Kind
			}
			return fmt.Sprintf("%q %t", []string{kind, string(d.Cost), d.Message}, d.Kept)
		})
}

// kinds counts the objects by kind.
func (b *block) kinds() []result.KindCount {
	var kinds []result.KindCount
	seen := map[string]bool{}
	for _, s := range b.subjects {
		name := fmt.Sprintf("%q", []string{s.APIVersion, s.Kind, s.Object})
		if seen[name] {
			continue
		}
		seen[name] = true
		i := slices.IndexFunc(kinds, func(k result.KindCount) bool {
			return k.APIVersion == s.APIVersion && k.Kind == s.Kind
		})
		if i < 0 {
			i = len(kinds)
			kinds = append(kinds, result.KindCount{APIVersion: s.APIVersion, Kind: s.Kind})
		}
		kinds[i].Objects++
	}
	return kinds
}

// isOne reports whether the objects have one kind and name.
func (b *block) isOne() bool {
	kinds := b.kinds()
	return len(kinds) == 1 && kinds[0].Objects == 1
}

// title names the object, or counts the objects.
func (b *block) title() string {
	if b.isOne() {
		return strings.TrimSpace(b.subjects[0].Kind + " " + b.subjects[0].Object)
	}
	return countedKinds(b.kinds())
}

// names lists at most limit objects; "" where the title names the object.
func (b *block) names(limit int) string {
	if b.isOne() {
		return ""
	}
	return firstOf(b.kindsAndNames(), limit)
}

// kindsAndNames names the objects, each once: with their kinds if these are several, and then the first object of each
// kind before the second of any.
func (b *block) kindsAndNames() []string {
	oneKind := len(b.kinds()) == 1
	ofKind := map[string]int{}
	rank := map[string]int{}
	var names []string
	for _, s := range b.subjects {
		name := s.Object
		if !oneKind {
			name = s.Kind + " " + name
		}
		if _, known := rank[name]; !known {
			names = append(names, name)
			ofKind[s.Kind]++
			rank[name] = ofKind[s.Kind]
		}
	}
	if !oneKind {
		slices.SortStableFunc(names, func(a, b string) int { return rank[a] - rank[b] })
	}
	return names
}

// places names the lines, the first few of them.
func (b *block) places() string {
	var places []string
	alone := b.isOne() && len(b.units()) < 2
	for _, s := range b.subjects {
		text := lineText(s, s.Line)
		if alone {
			text = placeText(s, s.Line)
		}
		if !slices.Contains(places, text) {
			places = append(places, text)
		}
	}
	return fewOf(places)
}

// fewOf lists the first few places, and counts the others.
func fewOf(places []string) string {
	const few = 3
	text := strings.Join(places[:min(few, len(places))], ", ")
	if more := len(places) - few; more > 0 {
		text += " and " + Count(more, "more place")
	}
	return text
}

// units names the units, each once.
func (b *block) units() []string {
	var units []string
	for _, s := range b.subjects {
		if s.Unit != "" && !slices.Contains(units, s.Unit) {
			units = append(units, s.Unit)
		}
	}
	return units
}

// inUnits says which units have the objects, if it is more than one; at most limit of them are named.
func (b *block) inUnits(limit int) string {
	if units := b.units(); len(units) > 1 {
		return "in " + firstOf(shortest(units), limit)
	}
	return ""
}

// placeText names a place: the line of a file, and the unit that it is part of.
func placeText(s *result.Subject, line int) string {
	text := lineText(s, line)
	if s.Unit != "" {
		text += " in " + Printable(s.Unit)
	}
	if s.From != "" && s.From != s.File {
		text += ", from " + Printable(s.From)
	}
	return text
}

// lineText names the line of a file.
func lineText(s *result.Subject, line int) string {
	return fmt.Sprintf("%s:%d", Printable(s.File), line)
}

// NotCovered says what could not be read as it is deployed, one line for each reason.
func NotCovered(list []result.NotCovered) []string {
	const most = 20
	var lines []string
	groups := byReason(list)
	for _, group := range groups[:min(len(groups), most)] {
		n := group[0]
		what := n.Kind + " " + n.Unit
		if len(group) > 1 {
			what = fmt.Sprintf("%s, such as %s", Count(len(group), n.Kind), n.Unit)
		}
		accepted := ""
		if n.Accepted {
			accepted = " (accepted: " + n.AcceptedReason + ")"
		}
		lines = append(lines,
			Printable(fmt.Sprintf("not covered: %s%s: %s%s", what, placesOf(group), n.Reason, accepted)))
	}
	if more := len(groups) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("not covered for %s: -o json lists all", Count(more, "more reason")))
	}
	return lines
}

// placesOf names where the change touches what is not covered, in brackets: the first few lines; "" for files, which
// the text names.
func placesOf(list []result.NotCovered) string {
	var places []string
	for _, n := range list {
		place := n.File
		if n.Line > 0 {
			place += fmt.Sprintf(":%d", n.Line)
		}
		if n.From != "" && len(list) == 1 {
			place += ", from " + n.From
		}
		if !slices.Contains(places, place) && (n.File != n.Unit || n.Line > 0) {
			places = append(places, place)
		}
	}
	if places == nil {
		return ""
	}
	return " (" + fewOf(places) + ")"
}

// byReason groups what is not covered for the same reason, the largest groups first. Reasons are the same if they
// differ only in a name or two: less than a third of their words.
func byReason(list []result.NotCovered) [][]result.NotCovered {
	var groups [][]result.NotCovered
	for _, n := range list {
		i := slices.IndexFunc(groups, func(g []result.NotCovered) bool {
			return g[0].Kind == n.Kind && g[0].Accepted == n.Accepted && alike(g[0].Reason, n.Reason)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	slices.SortStableFunc(groups, func(a, b []result.NotCovered) int { return len(b) - len(a) })
	return groups
}

func alike(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	if len(a) != len(b) {
		return false
	}
	differ := 0
	for i := range a {
		if a[i] != b[i] {
			differ++
		}
	}
	return 3*differ < len(a) || differ == 0
}
