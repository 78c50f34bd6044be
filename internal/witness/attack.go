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

// Attempt is a sort of sequences that an attack tries.
type Attempt string

// The sorts of attempts.
const (
	Removing Attempt = "remove and add"
	Rekeying Attempt = "remove a key and add it"
	Swapping Attempt = "swap unknown fields"
	Between  Attempt = "write through another version"
	Randomly Attempt = "random updates"
)

// Attempts are all sorts, in the order in which they are tried.
func Attempts() []Attempt { return []Attempt{Removing, Rekeying, Swapping, Between, Randomly} }

// Attack looks for ways around every lock and transition rule of the version of obj, starting from obj: without each
// field above the guarded one, with null and empty values in its place, with its key removed or another one, with other
// unknown fields, through every other served version, and at random from seed. It calls counts for each breach that it finds; if
// that returns false, it looks for another way around the same guarded field. It returns how many sequences of each sort it has
// tried. The error is that obj is not a valid object.
func (k *Kind) Attack(obj map[string]any, seed uint64, counts func(Breach) bool) (tried map[Attempt]int, err error) {
	v, err := k.versionOf(obj)
	if err != nil {
		return nil, err
	}
	start := newSequence(k.stored(v), []*Version{v}, obj)
	if problems, _ := judge(start); len(problems) > 0 {
		return nil, fmt.Errorf("the object is not valid: %s", problems[0].message)
	}
	tried = map[Attempt]int{}
	done := map[string]bool{}
	guarded := v.guarded()
	for _, l := range guarded {
		field := l.Path.String()
		for _, w := range k.waysAround(v, obj, l) {
			found := w.find(attackEffort)
			tried[w.sort] += w.tried
			if found != nil && counts(Breach{field, w.through, w.shortest(found)}) {
				done[field] = true
				break
			}
		}
	}
	tried[Randomly] = k.randomly(v, obj, guarded, done, seed, counts)
	return tried, nil
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
			w.sort = Removing
		default:
			w = rekey(v, k.stored(v), obj, pattern[:len(pattern)-1], [][]string{target})
			w.sort = Rekeying
		}
		w.through = at.Path.String()
		ways = append(ways, w)
	}
	if l.PreservesUnknown() {
		w := swap(v, k.stored(v), obj, target)
		w.through, w.sort = l.Path.String(), Swapping
		ways = append(ways, w)
	}
	for _, lax := range k.Versions {
		if lax != v && lax.Served && lax.compile() == nil {
			w := otherVersion(v, lax, k.stored(v), obj, [][]string{target})
			w.through, w.sort = lax.Name, Between
			ways = append(ways, w)
		}
	}
	return ways
}

// manyTries is how many random sequences an attack judges.
const manyTries = 300

// randomly tries random updates of the guarded fields that are not done, and returns how many it has tried.
func (k *Kind) randomly(v *Version, obj map[string]any, guarded []*schema.Location, done map[string]bool, seed uint64, counts func(Breach) bool) int {
	if len(guarded) == 0 {
		return 0
	}
	random := rand.New(rand.NewPCG(seed, 1))
	tried := 0
	for range manyTries {
		l := guarded[random.IntN(len(guarded))]
		if done[l.Path.String()] {
			continue
		}
		s := newSequence(k.stored(v), []*Version{v, v, v}, obj, obj, obj)
		for range 2 + random.IntN(3) {
			if next, ok := s.apply(v.randomEdit(random, s, l)); ok {
				s = next
			}
		}
		tried++
		target := expand(obj, v.Schema, nil, patternOf(l.Path.Pointer()))[0]
		w := &way{targets: []path{target}}
		if problems, refusals := judge(s); len(problems) == 0 {
			refusals = slices.DeleteFunc(refusals, func(r Refusal) bool { return !w.concerns(r) })
			done[l.Path.String()] = len(refusals) > 0 && counts(Breach{l.Path.String(), string(Randomly), Witness{s.objects, refusals}})
		}
	}
	return tried
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
