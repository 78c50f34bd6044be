package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// One edit can refuse many objects: a component of nine clusters, a label of fifty Deployments. People read each cause once, with the
// objects that it refuses; JSON has each of them.
//
//	✗ 16 PersistentVolumeClaims (components/claim.yaml:16)
//	  default/wiki, home/hass, media/films, media/music, media/photos and 11 more
//	  spec.storageClassName  line 16: Forbidden: spec is immutable after creation …
//	      "block" → "shared"

// refusedObject is an object with its violations.
type refusedObject struct {
	violations  []result.Violation
	replacement *result.Replacement // nil if nothing is known about replacing it
	also        []*result.Violation // the first violation of each other object with the same violations
	others      []*refusedObject    // of the kind, that the same line refuses in the same way
}

// refusedObjects arranges the violations of a report by cause: first by object, of which those of one kind and name that break the
// same locks by the same change in several files or units are one; then by the line that refuses them.
func refusedObjects(r *compare.Report) []*refusedObject {
	var objects []*refusedObject
	known, causes := map[string]*refusedObject{}, map[string]*refusedObject{}
	for rest := r.Violations; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Same(rest[0].Subject) {
			n++
		}
		o := &refusedObject{violations: rest[:n]}
		rest = rest[n:]
		if i := slices.IndexFunc(r.Replacements, func(re result.Replacement) bool { return re.Same(o.violations[0].Subject) }); i >= 0 {
			o.replacement = &r.Replacements[i]
		}
		key, cause := o.key(), o.cause()
		switch {
		case known[key] != nil:
			known[key].also = append(known[key].also, &o.violations[0])
			continue
		case cause != "" && causes[cause] != nil:
			causes[cause].others = append(causes[cause].others, o)
		default:
			objects, causes[cause] = append(objects, o), o
		}
		known[key] = o
	}
	return objects
}

// names lists the objects of a block, at most limit of them.
func (o *refusedObject) names(limit int) string {
	names := []string{o.violations[0].Object}
	for _, other := range o.others {
		names = append(names, other.violations[0].Object)
	}
	return firstOf(names, limit)
}

// title names the object of a block by its kind and name, or counts its objects.
func (o *refusedObject) title() string {
	first := &o.violations[0]
	if len(o.others) == 0 {
		return strings.TrimSpace(first.Kind + " " + first.Object)
	}
	return Count(len(o.others)+1, first.Kind)
}

// differ reports whether the objects of a block have other values than the first one.
func (o *refusedObject) differ() bool {
	return slices.ContainsFunc(o.others, func(other *refusedObject) bool {
		for i := range o.violations {
			if !slices.Equal(changes(&o.violations[i], false), changes(&other.violations[i], false)) {
				return true
			}
		}
		return false
	})
}

// cause is equal for objects that the same lines refuse in the same way; "" where no line is known.
func (o *refusedObject) cause() string {
	var b strings.Builder
	for i := range o.violations {
		v := &o.violations[i]
		if v.Line == 0 || !manifest.IsFile(v.File) {
			return ""
		}
		fmt.Fprintf(&b, "%q %d\n", v.File, v.Line)
		o.write(&b, v)
	}
	o.writeReplacement(&b)
	return b.String()
}

// key is equal for objects of which the same can be said.
func (o *refusedObject) key() string {
	var b strings.Builder
	for i := range o.violations {
		v := &o.violations[i]
		fmt.Fprintf(&b, "%q %q\n", []string{v.Object, v.Change, v.Owners}, changes(v, false))
		o.write(&b, v)
	}
	o.writeReplacement(&b)
	return b.String()
}

// write writes what a block says of a violation, apart from its object, place and values.
func (o *refusedObject) write(b *strings.Builder, v *result.Violation) {
	fmt.Fprintf(b, "%q %t %t %t %t %t\n",
		[]string{v.APIVersion, v.Kind, v.Path, v.Item, v.Lock, v.Rule, v.Version, explain(v), v.AcceptedReason, v.EnforcedBy, v.Source},
		v.Accepted, v.AcceptedNew, v.Replaced, v.OnlyOld, v.Moved)
}

func (o *refusedObject) writeReplacement(b *strings.Builder) {
	if re := o.replacement; re != nil {
		fmt.Fprintf(b, "%q %q %d %t %t", re.Cost, re.Message, len(re.How), re.Requested, re.RequestedNew)
	}
}

// repeatedRemark is a remark, and where the same is said of an object of its kind and name.
type repeatedRemark struct {
	result.Remark
	places []string
}

func repeatedRemarks(remarks []result.Remark) []repeatedRemark {
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
func NotCovered(list []result.NotCovered) []string {
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

// alsoIn lists the other places of an object: units by their shortest names, and files that no unit reads.
func (o *refusedObject) alsoIn() []string {
	var places []string
	var units []string
	for _, v := range o.also {
		switch {
		case v.Unit == "":
			places = withPlace(places, &v.Subject, v.ObjectLine)
		case v.Unit != o.violations[0].Unit && !slices.Contains(units, v.Unit):
			units = append(units, v.Unit)
		}
	}
	return append(places, shortest(units)...)
}

// unitKind begins the name of a unit.
var unitKind = regexp.MustCompile(`^(Flux Kustomization|kustomization|HelmRelease|chart|Application|ApplicationSet) `)

// shortest returns the shortest ends of the names of units that tell them apart: "prod" for "kustomization apps/overlays/prod".
func shortest(units []string) []string {
	paths, short := make([]string, len(units)), make([]string, len(units))
	for i, unit := range units {
		paths[i] = "/" + unitKind.ReplaceAllString(unit, "")
	}
	for i, path := range paths {
		end := len(path)
		for isUnique := false; !isUnique && end > 0; {
			end = strings.LastIndex(path[:end], "/")
			isUnique = !slices.ContainsFunc(paths, func(other string) bool { return other != path && strings.HasSuffix(other, path[end:]) })
		}
		short[i] = Printable(strings.TrimPrefix(path[end:], "/"))
	}
	return short
}

// withPlace adds a place of an object, unless it is like the last one: the units of two clusters can have one name.
func withPlace(places []string, s *result.Subject, line int) []string {
	text := placeText(s, line)
	if n := len(places); n > 0 && places[n-1] == text {
		return places
	}
	return append(places, text)
}

// placeText names a place: the line of a file, and the unit that it is part of.
func placeText(s *result.Subject, line int) string {
	text := fmt.Sprintf("%s:%d", Printable(s.File), line)
	if s.Unit != "" {
		text += " in " + Printable(s.Unit)
	}
	if s.From != "" && s.From != s.File {
		text += ", from " + Printable(s.From)
	}
	return text
}

// countedKinds lists kinds: "2 Secret, 1 Pod". Kinds of one name in several groups carry their group, and versions of one kind are
// counted together.
func countedKinds(kinds []result.KindCount) string {
	var merged []result.KindCount // APIVersion holds the group
	for _, k := range kinds {
		group, _ := kindindex.GroupVersion(k.APIVersion)
		i := slices.IndexFunc(merged, func(m result.KindCount) bool { return m.Kind == k.Kind && m.APIVersion == group })
		if i < 0 {
			merged = append(merged, result.KindCount{APIVersion: group, Kind: k.Kind})
			i = len(merged) - 1
		}
		merged[i].Objects += k.Objects
	}
	names := make([]string, len(merged))
	for i, k := range merged {
		shared := slices.ContainsFunc(merged, func(m result.KindCount) bool { return m.Kind == k.Kind && m.APIVersion != k.APIVersion })
		name := k.Kind
		if shared && k.APIVersion != "" {
			name += "." + k.APIVersion
		}
		names[i] = fmt.Sprintf("%d %s", k.Objects, Printable(name))
	}
	return compare.Enumerate(names)
}
