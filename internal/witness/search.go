package witness

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// search looks for a sequence without problems, best first: with the fewest problems, then with the fewest edits.
type search struct {
	budget   int                    // evaluations that are left
	keeps    func(*sequence) bool   // whether an edited sequence still takes the way; nil for any
	refuse   func([]Refusal) bool   // whether the refusals are of the rules that the way gets around; nil for any
	forgive  func(problem) bool     // problems that do not count; nil for none
	differ   func(*sequence) []edit // edits that may make the direct update refused; nil for none
	oneSided bool                   // each update changes the status, or everything else

	seen  map[uint64]bool
	queue candidates
	last  *candidate // that was queued
}

// candidate is a sequence with its problems.
type candidate struct {
	*sequence
	problems []problem
	refusals []Refusal
	score    int
	order    int

	expanded int        // how many of the problems have given their edits
	left     []solution // edits that are not tried yet
}

// solution is an edit that may solve a problem.
type solution struct {
	edit    edit
	problem problem
}

// add judges s, unless it was seen before, and returns it when it has no problem.
func (x *search) add(s *sequence, from *candidate, solving problem) *candidate {
	if x.budget <= 0 || s.versions[0].effort.over() || x.keeps != nil && !x.keeps(s) || x.oneSided && !s.oneSided() {
		return nil
	}
	id := s.id()
	if x.seen[id] {
		return nil
	}
	x.seen[id] = true
	x.budget--
	c := &candidate{sequence: s, order: len(x.seen)}
	c.problems, c.refusals = judge(s)
	if x.forgive != nil {
		c.problems = slices.DeleteFunc(c.problems, x.forgive)
	}
	if len(s.objects) > 1 && len(c.refusals) > 0 && x.refuse != nil && !x.refuse(c.refusals) {
		c.problems = append(c.problems, problem{at: len(s.objects) - 1, kind: notRefused})
	}
	if len(c.problems) == 0 {
		return c
	}
	c.score = c.rank(from, solving)
	heap.Push(&x.queue, c)
	x.last = c
	return nil
}

// rank is lower for better candidates: few problems, few edits. An edit that solves its problem and makes others, as a
// field does that was missing and has requirements of its own, is preferred to one that solves nothing.
func (c *candidate) rank(from *candidate, solving problem) int {
	const perProblem, solved = 4, 10
	rank := perProblem*len(c.problems) + c.edits
	if from == nil {
		return rank
	}
	if !slices.ContainsFunc(c.problems, solving.same) {
		rank -= solved
	}
	return rank
}

// same reports whether two problems are one: the same thing refused for the same reason.
func (p problem) same(q problem) bool {
	return p.at == q.at && p.kind == q.kind && p.message == q.message && slices.Equal(p.path, q.path)
}

// run returns the first sequence without problems that it reaches from starts, nil when the budget is used up before.
func (x *search) run(starts []*sequence) *candidate {
	x.seen = map[uint64]bool{}
	for _, s := range starts {
		if found := x.add(s, nil, problem{}); found != nil {
			return found
		}
	}
	for x.queue.Len() > 0 && x.budget > 0 && !starts[0].versions[0].effort.over() {
		c := heap.Pop(&x.queue).(*candidate)
		if found := x.expand(c); found != nil {
			return found
		}
	}
	return nil
}

// expand tries edits of c, and returns what has no problem then. After an edit that leaves fewer problems the others
// wait: what is left may be solved in the same way.
func (x *search) expand(c *candidate) *candidate {
	const waiting = 3
	for x.budget > 0 && !c.versions[0].effort.over() {
		if len(c.left) == 0 {
			if c.expanded == len(c.problems) {
				return nil
			}
			x.solve(c, c.problems[c.expanded])
			c.expanded++
			continue
		}
		s := c.left[0]
		c.left = c.left[1:]
		next, ok := c.apply(s.edit)
		if !ok {
			continue
		}
		before := x.last
		if found := x.add(next, c, s.problem); found != nil {
			return found
		}
		if x.last != before && len(x.last.problems) < len(c.problems) {
			c.score += waiting
			heap.Push(&x.queue, c)
			return nil
		}
	}
	return nil
}

// solve adds the edits that may solve a problem of c.
func (x *search) solve(c *candidate, p problem) {
	edits := c.repairs(p)
	if p.kind == notRefused && x.differ != nil {
		edits = x.differ(c.sequence)
	}
	c.versions[0].effort.spend(stepsPerRule * (1 + len(edits)))
	for _, e := range edits {
		c.left = append(c.left, solution{e, p})
	}
}

// id tells sequences apart.
func (s *sequence) id() uint64 {
	var hash uint64
	s.size = 0
	for _, obj := range s.objects {
		hash = jsonvalue.Mix(hash) ^ obj.hash
		s.size += obj.size
	}
	s.versions[0].effort.spend(s.size / charactersAStep)
	return hash
}

// candidates is a heap.
type candidates []*candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	a, b := c[i], c[j]
	if a.score != b.score {
		return a.score < b.score
	}
	return a.order < b.order
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(*candidate)) }
func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// effort counts the steps of all searches of a kind. A nil effort counts nothing and never ends.
type effort struct{ spent, ceiling int }

func (e *effort) spend(n int) {
	if e != nil {
		e.spent += n
	}
}

// over reports whether no steps are left.
func (e *effort) over() bool { return e != nil && e.spent >= e.ceiling }

// Allow lets the searches of k take n more steps, whatever is left of those before. A step is about as much work as it
// is to look at one value of an object. Without Allow each search is bounded, but not all of them together.
func (k *Kind) Allow(n int) {
	if k.effort == nil {
		k.effort = &effort{}
		for _, v := range k.Versions {
			v.effort = k.effort
		}
	}
	k.effort.ceiling = k.effort.spent + n
}

// Over reports whether the searches of k have taken all steps that Allow let them take. Then they find nothing more.
func (k *Kind) Over() bool { return k.effort.over() }

// Steps returns how many steps the searches of k have taken since the first Allow.
func (k *Kind) Steps() int {
	if k.effort == nil {
		return 0
	}
	return k.effort.spent
}

// How many steps it takes to run a rule, and to compare a value with one of an enum or of a combination of schemas.
const (
	stepsPerRule    = 40
	charactersAStep = 4    // of a rule
	longRule        = 4096 // a rule of 1,000 operands takes more than 10 times as long as one of 100
	stepsPerBranch  = 10
)

// weight is about how many steps it takes to judge c.
func (v *Version) weight(c *contents) int {
	if c == nothing {
		return weight(map[string]any(nil), v.structural, 0)
	}
	if c.weight == 0 {
		c.weight = weight(c.value, v.structural, 0)
	}
	return c.weight
}

// weight is about how many steps it takes to judge v, which is depth levels below the root: each value with its path,
// what it is compared with, and the rules, whose errors spell out the values that they are on.
func weight(v any, s *structuralschema.Structural, depth int) int {
	n := 1 + depth
	if s == nil {
		s = &structuralschema.Structural{}
	}
	if of := s.ValueValidation; of != nil {
		n += len(of.Enum) + stepsPerBranch*(len(of.AllOf)+len(of.AnyOf)+len(of.OneOf)) + len(of.Required)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if at, ok := s.Properties[name]; ok {
				n += weight(child, &at, depth+1)
			} else if s.AdditionalProperties != nil {
				n += weight(child, s.AdditionalProperties.Structural, depth+1)
			} else {
				n += weight(child, nil, depth+1)
			}
		}
	case []any:
		for _, item := range v {
			n += weight(item, s.Items, depth+1)
		}
	}
	values := n
	for i := range s.XValidations {
		length := len(s.XValidations[i].Rule)
		n += stepsPerRule + length/charactersAStep + length*length/longRule + values
	}
	return n
}

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
// unknown fields, through every other served version, and at random from seed. It calls counts for each breach that it
// finds; if that returns false, it looks for another way around the same guarded field. It returns how many sequences
// of each sort it has tried. The error is that obj is not a valid object.
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
			w = detour(v, k.stored(v), obj, func([]string) map[string]any { return obj }, pattern,
				[][]string{target}, manyPairs)
			w.sort = Removing
		default:
			w = rekey(v, k.stored(v), obj, pattern[:len(pattern)-1], [][]string{target}, manyPairs)
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
			w := otherVersion(v, lax, k.stored(v), obj, [][]string{target}, manyPairs)
			w.through, w.sort = lax.Name, Between
			ways = append(ways, w)
		}
	}
	return ways
}

// manyTries is how many random sequences an attack judges.
const manyTries = 300

// randomly tries random updates of the guarded fields that are not done, and returns how many it has tried.
func (k *Kind) randomly(v *Version, obj map[string]any, guarded []*schema.Location, done map[string]bool, seed uint64,
	counts func(Breach) bool) int {
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
		target := expand(obj, v.node(), nil, patternOf(l.Path.Pointer()))[0]
		w := &way{targets: []path{target}}
		if problems, refusals := judge(s); len(problems) == 0 {
			refusals = slices.DeleteFunc(refusals, func(r Refusal) bool { return !w.concerns(r) })
			done[l.Path.String()] = len(refusals) > 0 &&
				counts(Breach{l.Path.String(), string(Randomly), Witness{s.values(), refusals}})
		}
	}
	return tried
}

// randomEdit changes or removes l or something above it in one of the objects or in the last two.
func (v *Version) randomEdit(random *rand.Rand, s *sequence, l *schema.Location) edit {
	pattern := patternOf(l.Path.Pointer())
	pattern = pattern[:1+random.IntN(len(pattern))]
	at := expand(s.objects[0].value, v.node(), nil, pattern)[0]
	c := change{path: at, gone: random.IntN(3) == 0}
	if list := values(v.schemaAt(at)); !c.gone {
		c.value = list[random.IntN(len(list))]
	}
	scopes := [][]int{{0}, {1}, {2}, {1, 2}, {0, 2}}
	return edit{objects: scopes[random.IntN(len(scopes))], changes: []change{c}}
}

// RandomUpdate returns an update of small objects of a version that differ at or above the fields at the schema paths
// in targets, which may be refused, or be no valid objects. ok is false if the version has no valid object within a
// bounded effort.
func (k *Kind) RandomUpdate(random *rand.Rand, v *Version, targets []string) (newObj, oldObj map[string]any, ok bool) {
	base, ok := k.with(v, patternOf(targets[random.IntN(len(targets))]))
	if !ok {
		return nil, nil, false
	}
	s := newSequence(k.stored(v), []*Version{v, v}, base, base)
	for range 1 + random.IntN(4) {
		pattern := patternOf(targets[random.IntN(len(targets))])
		if random.IntN(2) == 0 && len(pattern) > 1 {
			pattern = pattern[:1+random.IntN(len(pattern))]
		}
		scope := [][]int{{0}, {1}, {1}, {0, 1}}[random.IntN(4)]
		places := expand(s.objects[scope[0]].value, v.node(), nil, pattern)
		c := change{path: places[random.IntN(len(places))], gone: random.IntN(4) == 0}
		if list := values(v.schemaAt(c.path)); !c.gone {
			c.value = list[random.IntN(len(list))]
		}
		if next, ok := s.apply(edit{objects: scope, changes: []change{c}}); ok {
			s = next
		}
	}
	return s.objects[1].value, s.objects[0].value, true
}
