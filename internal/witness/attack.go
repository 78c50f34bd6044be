package witness

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Breach is a way around a lock or transition rule that an attack has found.
type Breach struct {
	Field   string // the guarded field, as a path for people: "spec.nodes[*].zone"
	Through string // what is removed, renamed or swapped; the name of a version; or "random updates"
	Witness
}

// Attack looks for ways around every lock and transition rule of the version of obj, starting from obj: without each
// field above the guarded one, with null and empty values in its place, with its key removed or another one, with other
// unknown fields, through every other served version, and at random from seed. It returns at most one breach for each
// guarded field. Ways through accepted paths, and breaches of accepted fields, are left out. The error is that obj is not
// a valid object.
func (k *Kind) Attack(obj map[string]any, seed uint64, accepted func(path string) bool) ([]Breach, error) {
	v, err := k.versionOf(obj)
	if err != nil {
		return nil, err
	}
	start := newSequence(k.stored(v), []*Version{v}, obj)
	if problems, _ := judge(start); len(problems) > 0 {
		return nil, fmt.Errorf("the object is not valid: %s", problems[0].message)
	}
	var breaches []Breach
	guarded := v.guarded()
	for _, l := range guarded {
		if accepted(l.Path.String()) {
			continue
		}
		for _, w := range k.waysAround(v, obj, l) {
			if accepted(w.through) {
				continue
			}
			if found := w.find(attackEffort); found != nil {
				breaches = append(breaches, Breach{l.Path.String(), w.through, w.shortest(found)})
				break
			}
		}
	}
	return append(breaches, k.randomly(v, obj, guarded, breaches, seed, accepted)...), nil
}

// attackEffort is how many sequences are judged for one way. The object is valid already, so few repairs are needed.
const attackEffort = 60

// guarded lists the locations with locks or transition rules.
func (v *Version) guarded() []*schema.Location {
	ruled := map[string]bool{}
	for r, transition := range v.transition {
		ruled[r.SchemaPath] = ruled[r.SchemaPath] || transition
	}
	var list []*schema.Location
	for _, l := range schema.Read(v.Schema, nil).All {
		if l.Parent() != nil && (l.Marks.Locked() || ruled[l.Path.Pointer()]) {
			list = append(list, l)
		}
	}
	return list
}

// waysAround lists the ways around what guards the location l.
func (k *Kind) waysAround(v *Version, obj map[string]any, l *schema.Location) []*way {
	target := patternOf(l.Path.Pointer())
	var ways []*way
	for at := l; at.Parent() != nil; at = at.Parent() {
		pattern := patternOf(at.Path.Pointer())
		if pattern[0] == "metadata" {
			return nil
		}
		var w *way
		switch at.Role {
		case schema.Property:
			w = detour(v, k.stored(v), obj, func([]string) map[string]any { return obj }, pattern, [][]string{target})
		default:
			w = rekey(v, k.stored(v), obj, pattern[:len(pattern)-1], [][]string{target})
		}
		w.through = at.Path.String()
		ways = append(ways, w)
	}
	if l.PreservesUnknown() {
		w := swap(v, k.stored(v), obj, target)
		w.through = l.Path.String()
		ways = append(ways, w)
	}
	for _, lax := range k.Versions {
		if lax != v && lax.Served && lax.compile() == nil {
			w := otherVersion(v, lax, k.stored(v), obj, [][]string{target})
			w.through = lax.Name
			ways = append(ways, w)
		}
	}
	return ways
}

// manyTries is how many random sequences an attack judges.
const manyTries = 300

// randomly tries random updates and returns the breaches of fields that known does not have.
func (k *Kind) randomly(v *Version, obj map[string]any, guarded []*schema.Location, known []Breach, seed uint64, accepted func(string) bool) []Breach {
	if len(guarded) == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var breaches []Breach
	for range manyTries {
		l := guarded[random.IntN(len(guarded))]
		taken := func(b Breach) bool { return b.Field == l.Path.String() }
		if accepted(l.Path.String()) || slices.ContainsFunc(known, taken) || slices.ContainsFunc(breaches, taken) {
			continue
		}
		s := newSequence(k.stored(v), []*Version{v, v, v}, obj, obj, obj)
		for range 2 + random.IntN(3) {
			if next, ok := s.apply(v.randomEdit(random, s, l)); ok {
				s = next
			}
		}
		target := expand(obj, v.Schema, nil, patternOf(l.Path.Pointer()))[0]
		w := &way{targets: []path{target}}
		if problems, refusals := judge(s); len(problems) == 0 {
			if refusals = slices.DeleteFunc(refusals, func(r Refusal) bool { return !w.concerns(r) || accepted(r.Path) }); len(refusals) > 0 {
				breaches = append(breaches, Breach{l.Path.String(), "random updates", Witness{s.objects, refusals}})
			}
		}
	}
	return breaches
}

// randomEdit changes or removes l or something above it in one of the objects or in the last two.
func (v *Version) randomEdit(random *rand.Rand, s *sequence, l *schema.Location) edit {
	pattern := patternOf(l.Path.Pointer())
	pattern = pattern[:1+random.IntN(len(pattern))]
	at := expand(s.objects[0], v.Schema, nil, pattern)[0]
	c := change{path: at, gone: random.IntN(3) == 0}
	if list := values(v.schemaAt(at)); !c.gone {
		c.value = list[random.IntN(len(list))]
	}
	scopes := [][]int{{0}, {1}, {2}, {1, 2}, {0, 2}}
	return edit{objects: scopes[random.IntN(len(scopes))], changes: []change{c}}
}
