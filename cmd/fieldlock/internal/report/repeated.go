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

// One edit can refuse many objects: a component of nine clusters, a label of fifty Deployments. People read each cause
// once, with the objects that it refuses; JSON has each of them.
//
//	✗ 16 PersistentVolumeClaims (components/claim.yaml:16)
//	  default/wiki, home/hass, media/films, media/music, media/photos and 11 more
//	  spec.storageClassName  line 16: Forbidden: spec is immutable after creation …
//	      "block" → "shared"

// refusedObject is an object with its violations.
type refusedObject struct {
	violations  []result.Violation
	replacement *result.Replacement // nil if nothing is known about replacing it
	also        []*refusedObject    // of the same name in other files or units, with the same violations
	others      []*refusedObject    // of the kind, that the same line refuses in the same way
}

// refusedObjects arranges the violations of a report by cause: first by object, of which those of one kind and name
// that break the same locks by the same change in several files or units are one; then by the line that refuses them.
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
		if i := slices.IndexFunc(r.Replacements,
			func(re result.Replacement) bool { return re.Same(o.violations[0].Subject) }); i >= 0 {
			o.replacement = &r.Replacements[i]
		}
		key, cause := o.key(), o.cause()
		switch {
		case known[key] != nil:
			known[key].also = append(known[key].also, o)
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

// all returns the objects of a block, in all their units.
func (o *refusedObject) all() []*refusedObject {
	var all []*refusedObject
	for _, of := range append([]*refusedObject{o}, o.others...) {
		all = append(append(all, of), of.also...)
	}
	return all
}

// ways returns the ways out of the objects of a block.
func (o *refusedObject) ways(limit int) []waysOut {
	var list []remedy
	for _, of := range o.all() {
		if re := of.replacement; re != nil {
			list = append(list, remedy{&re.Subject, re.How})
		}
	}
	return waysOf(list, limit)
}

// block returns the subjects of a block.
func (o *refusedObject) block() *block {
	b := &block{}
	for _, of := range o.all() {
		b.subjects = append(b.subjects, &of.violations[0].Subject)
	}
	return b
}

// subjectsOf returns the subjects of several blocks.
func subjectsOf(blocks []*refusedObject) *block {
	all := &block{}
	for _, o := range blocks {
		all.subjects = append(all.subjects, o.block().subjects...)
	}
	return all
}

// edits arranges blocks by the lines that refuse them: a label that a kustomization adds to all objects refuses
// Deployments, StatefulSets and Jobs, each kind for its own reason and with its own ways out. A block of which some
// line is not known is alone.
func edits(blocks []*refusedObject) [][]*refusedObject {
	var list [][]*refusedObject
	known := map[string]int{}
	for _, o := range blocks {
		lines := o.lines()
		at, ok := known[lines]
		if !ok || lines == "" {
			at, known[lines] = len(list), len(list)
			list = append(list, nil)
		}
		list[at] = append(list[at], o)
	}
	return list
}

// lines are the lines that refuse an object; "" where one is not known.
func (o *refusedObject) lines() string {
	var lines []string
	for i := range o.violations {
		v := &o.violations[i]
		if v.Line == 0 || !manifest.IsFile(v.File) {
			return ""
		}
		lines = append(lines, fmt.Sprintf("%q %d", v.File, v.Line))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
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
	if o.lines() == "" {
		return ""
	}
	var b strings.Builder
	for i := range o.violations {
		v := &o.violations[i]
		fmt.Fprintf(&b, "%q %d\n", v.File, v.Line)
		o.write(&b, v)
	}
	o.writeReplacement(&b)
	return b.String()
}

// key is equal for objects of which the same can be said, apart from their ways out, which depend on their tools.
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
		[]string{v.APIVersion, v.Kind, v.Path, v.Item, v.Lock, v.Rule, v.Version, explain(v), v.AcceptedReason,
			v.EnforcedBy, v.Source},
		v.Accepted, v.AcceptedNew, v.Replaced, v.OnlyOld, v.Moved)
}

func (o *refusedObject) writeReplacement(b *strings.Builder) {
	if re := o.replacement; re != nil {
		fmt.Fprintf(b, "%q %q %t %t", re.Cost, re.Message, re.Requested, re.RequestedNew)
	}
}

// alsoIn lists the other places of an object: units by their shortest names, and files that no unit reads.
func (o *refusedObject) alsoIn() []string {
	var places []string
	var units []string
	for _, also := range o.also {
		switch v := &also.violations[0]; {
		case v.Unit == "":
			places = append(places, placeText(&v.Subject, v.ObjectLine))
		case v.Unit != o.violations[0].Unit && !slices.Contains(units, v.Unit):
			units = append(units, v.Unit)
		}
	}
	return append(places, shortest(units)...)
}

// unitKind begins the name of a unit.
var unitKind = regexp.MustCompile(`^(Flux Kustomization|kustomization|HelmRelease|chart|Application|ApplicationSet) `)

// shortest returns the shortest ends of the names of units that tell them apart: "prod" for "kustomization
// apps/overlays/prod".
func shortest(units []string) []string {
	paths, short := make([]string, len(units)), make([]string, len(units))
	for i, unit := range units {
		paths[i] = "/" + unitKind.ReplaceAllString(unit, "")
	}
	for i, path := range paths {
		end := len(path)
		for isUnique := false; !isUnique && end > 0; {
			end = strings.LastIndex(path[:end], "/")
			isUnique = !slices.ContainsFunc(paths, func(other string) bool {
				return other != path && strings.HasSuffix(other, path[end:])
			})
		}
		short[i] = Printable(strings.TrimPrefix(path[end:], "/"))
	}
	return short
}

// countedKinds lists kinds: "2 Secrets, 1 Pod". Kinds of one name in several groups carry their group, and versions of
// one kind are counted together.
func countedKinds(kinds []result.KindCount) string {
	var merged []result.KindCount // APIVersion holds the group
	for _, k := range kinds {
		group, _ := kindindex.GroupVersion(k.APIVersion)
		i := slices.IndexFunc(merged, func(m result.KindCount) bool {
			return m.Kind == k.Kind && m.APIVersion == group
		})
		if i < 0 {
			merged = append(merged, result.KindCount{APIVersion: group, Kind: k.Kind})
			i = len(merged) - 1
		}
		merged[i].Objects += k.Objects
	}
	names := make([]string, len(merged))
	for i, k := range merged {
		shared := slices.ContainsFunc(merged, func(m result.KindCount) bool {
			return m.Kind == k.Kind && m.APIVersion != k.APIVersion
		})
		name := k.Kind
		if shared && k.APIVersion != "" {
			name += "." + k.APIVersion
		}
		names[i] = Count(k.Objects, Printable(name))
	}
	return compare.Enumerate(names)
}
