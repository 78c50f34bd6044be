package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/kindindex"
)

// Nine clusters that have the same object are refused the same change nine times. People read it once, with the nine places;
// JSON and the formats of code review tools have each of them.

// refusedObject is an object with its violations.
type refusedObject struct {
	violations  []compare.Violation
	replacement *compare.Replacement // nil if nothing is known about replacing it
	also        []*compare.Violation // the first violation of each other object with the same violations
}

// refusedObjects arranges the violations of a report by object. Objects of one kind and name that break the same locks by the
// same change, in several files or units, are one.
func refusedObjects(r *compare.Report) []refusedObject {
	var objects []refusedObject
	at := map[string]int{}
	for rest := r.Violations; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Same(&rest[0].Subject) {
			n++
		}
		o := refusedObject{violations: rest[:n]}
		rest = rest[n:]
		if i := slices.IndexFunc(r.Replacements, func(re compare.Replacement) bool { return re.Same(&o.violations[0].Subject) }); i >= 0 {
			o.replacement = &r.Replacements[i]
		}
		key := o.key()
		if i, ok := at[key]; ok {
			objects[i].also = append(objects[i].also, &o.violations[0])
			continue
		}
		at[key] = len(objects)
		objects = append(objects, o)
	}
	return objects
}

// key is equal for objects of which the same can be said.
func (o *refusedObject) key() string {
	var b strings.Builder
	for i := range o.violations {
		v := &o.violations[i]
		fmt.Fprintf(&b, "%q %q %t %t %t %t %t\n", []string{v.APIVersion, v.Kind, v.Object, v.Path, v.Item, v.Lock, v.Rule, v.Version, explain(v), v.Change, v.AcceptedReason, v.Owners, v.EnforcedBy, v.Source},
			changes(v, false), v.Accepted, v.AcceptedNew, v.Replaced, v.OnlyOld, v.Moved)
	}
	if o.replacement != nil {
		fmt.Fprintf(&b, "%q %q %d %t %t", o.replacement.Cost, o.replacement.Message, len(o.replacement.How), o.replacement.Requested, o.replacement.RequestedNew)
	}
	return b.String()
}

// repeatedRemark is a remark, and where the same is said of an object of its kind and name.
type repeatedRemark struct {
	compare.Remark
	places []string
}

func repeatedRemarks(remarks []compare.Remark) []repeatedRemark {
	var list []repeatedRemark
	at := map[[5]string]int{}
	for _, m := range remarks {
		key := [5]string{m.APIVersion, m.Kind, m.Object, m.Path, m.Message}
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, repeatedRemark{Remark: m})
		}
		list[i].places = withPlace(list[i].places, &m.Subject, m.Line)
	}
	return list
}

// merged makes one remark of those that say the same of more objects of a kind than anybody wants to read.
func merged(list []repeatedRemark) []repeatedRemark {
	const few = 3
	key := func(r *repeatedRemark) [4]string { return [4]string{r.APIVersion, r.Kind, r.Path, r.Message} }
	groups := map[[4]string][]*repeatedRemark{}
	for i := range list {
		groups[key(&list[i])] = append(groups[key(&list[i])], &list[i])
	}
	var all []repeatedRemark
	for i := range list {
		group := groups[key(&list[i])]
		if len(group) > few && group[0] != &list[i] {
			continue
		}
		r := list[i]
		if len(group) > few {
			var names, places []string
			for _, other := range group {
				names, places = append(names, other.Object), append(places, other.places...)
			}
			r.Object, r.places = compare.Enumerate(names), append(places[:few:few], fmt.Sprintf("and %d more places", len(places)-few))
		}
		all = append(all, r)
	}
	return all
}

// NotCovered says what could not be read as it is deployed, one line for each reason.
func NotCovered(list []compare.NotCovered) []string {
	const most = 20
	var lines []string
	groups := byReason(list)
	for _, group := range groups[:min(len(groups), most)] {
		n := group[0]
		where := n.File
		if n.Line > 0 {
			where += fmt.Sprintf(":%d", n.Line)
		}
		if where = " (" + where + ")"; n.File == n.Unit && n.Line == 0 {
			where = "" // a file
		}
		what := n.Kind + " " + n.Unit
		if len(group) > 1 {
			what = fmt.Sprintf("%s, such as %s", Count(len(group), n.Kind), n.Unit)
		}
		accepted := ""
		if n.Accepted {
			accepted = " (accepted: " + n.AcceptedReason + ")"
		}
		lines = append(lines, Printable(fmt.Sprintf("not covered: %s%s: %s%s", what, where, n.Reason, accepted)))
	}
	if more := len(groups) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("not covered for %s: -o json lists all", Count(more, "more reason")))
	}
	return lines
}

// byReason groups what is not covered for the same reason, the largest groups first. Reasons are the same if they differ only in a
// name or two: less than a third of their words.
func byReason(list []compare.NotCovered) [][]compare.NotCovered {
	var groups [][]compare.NotCovered
	for _, n := range list {
		i := slices.IndexFunc(groups, func(g []compare.NotCovered) bool {
			return g[0].Kind == n.Kind && g[0].Accepted == n.Accepted && alike(g[0].Reason, n.Reason)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	slices.SortStableFunc(groups, func(a, b []compare.NotCovered) int { return len(b) - len(a) })
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

// alsoIn lists the other places of an object.
func (o *refusedObject) alsoIn() []string {
	places := withPlace(nil, &o.violations[0].Subject, o.violations[0].ObjectLine)
	for _, v := range o.also {
		places = withPlace(places, &v.Subject, v.ObjectLine)
	}
	return places[1:]
}

// withPlace adds a place of an object, unless it is like the last one: the units of two clusters can have one name.
func withPlace(places []string, s *compare.Subject, line int) []string {
	text := placeText(s, line)
	if n := len(places); n > 0 && places[n-1] == text {
		return places
	}
	return append(places, text)
}

// placeText names a place: the line of a file, and the unit that it is part of.
func placeText(s *compare.Subject, line int) string {
	text := fmt.Sprintf("%s:%d", Printable(s.File), line)
	if s.Unit != "" {
		text += " in " + Printable(s.Unit)
	}
	return text
}

// countedKinds lists kinds: "2 Secret, 1 Pod". Kinds of one name in several groups carry their group, and versions of one kind are
// counted together.
func countedKinds(kinds []compare.KindCount) string {
	var merged []compare.KindCount // APIVersion holds the group
	for _, k := range kinds {
		group, _ := kindindex.GroupVersion(k.APIVersion)
		i := slices.IndexFunc(merged, func(m compare.KindCount) bool { return m.Kind == k.Kind && m.APIVersion == group })
		if i < 0 {
			merged = append(merged, compare.KindCount{APIVersion: group, Kind: k.Kind})
			i = len(merged) - 1
		}
		merged[i].Objects += k.Objects
	}
	names := make([]string, len(merged))
	for i, k := range merged {
		shared := slices.ContainsFunc(merged, func(m compare.KindCount) bool { return m.Kind == k.Kind && m.APIVersion != k.APIVersion })
		name := k.Kind
		if shared && k.APIVersion != "" {
			name += "." + k.APIVersion
		}
		names[i] = fmt.Sprintf("%d %s", k.Objects, Printable(name))
	}
	return compare.Enumerate(names)
}
