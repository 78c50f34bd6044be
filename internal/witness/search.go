package witness

import (
	"container/heap"
	"encoding/json"
	"hash/fnv"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// search looks for a sequence without problems, best first: with the fewest problems, then with the fewest edits.
type search struct {
	budget  int                    // evaluations that are left
	keeps   func(*sequence) bool   // whether an edited sequence still takes the way; nil for any
	refuse  func([]Refusal) bool   // whether the refusals are of the rules that the way gets around; nil for any
	forgive func(problem) bool     // problems that do not count; nil for none
	differ  func(*sequence) []edit // edits that may make the direct update refused; nil for none

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
	if x.budget <= 0 || s.versions[0].effort.over() || x.keeps != nil && !x.keeps(s) {
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

// expand tries edits of c, and returns what has no problem then. After an edit that leaves fewer problems the others wait:
// what is left may be solved in the same way.
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
	h := fnv.New64a()
	s.size = 0
	for _, obj := range s.objects {
		data, err := json.Marshal(obj)
		if err == nil {
			h.Write(data)
			s.size += len(data)
		}
		h.Write([]byte{0})
	}
	s.versions[0].effort.spend(s.size / charactersAStep)
	return h.Sum64()
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

// Allow lets the searches of k take n more steps, whatever is left of those before. A step is about as much work as it is
// to look at one value of an object. Without Allow each search is bounded, but not all of them together.
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
	charactersAStep = 4 // of a rule
	stepsPerBranch  = 10
)

// weight is about how many steps it takes to judge v, which is depth levels below the root: each value with its path, what
// it is compared with, and the rules, whose errors spell out the values that they are on.
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
		n += stepsPerRule + len(s.XValidations[i].Rule)/charactersAStep + values
	}
	return n
}
