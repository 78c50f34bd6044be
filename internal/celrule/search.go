package celrule

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// condition tells whether a scenario satisfies a wish of a search: yes, no or fails, or open if that is not decided yet.
type condition func(*scenario) outcome

// verdict is the result of a search.
type verdict int

const (
	refuted   verdict = iota // no scenario satisfies the conditions
	found                    // the scenario satisfies them
	undecided                // the search was given up, or the audit has no steps left
)

// possible reports whether m can satisfy all conditions. It is sure of a yes unless the search was given up, or m had to
// assume the truth of an expression that is not understood.
func possible(m *scenario, conditions []condition) (sure, possible bool) {
	result := search(m, conditions)
	return result == found && m.sure(), result != refuted
}

// search completes m until all conditions are satisfied. It answers one question after the other, the first one that a
// condition asks, and goes back when a condition fails. For "f is in object 0, not in 1, and in 2 with another value"
// and the rule self == oldSelf on f, the conditions ask for the values of f in objects 0 and 2, and no more.
func search(m *scenario, conditions []condition) verdict {
	budget := maxSteps
	return solve(m, conditions, &budget)
}

// maxSteps bounds a search.
const maxSteps = 1000

func solve(m *scenario, conditions []condition, budget *int) verdict {
	if *budget--; *budget < 0 || m.effort.over() {
		return undecided
	}
	var next *question
	var choices []any
	var left []condition // a satisfied condition stays satisfied, whatever else is answered
	m.effort.spend(len(conditions))
	for _, holds := range conditions {
		m.pending, m.choices = nil, nil
		switch holds(m) {
		case no, fails:
			return refuted
		case yes:
		default:
			left = append(left, holds)
			if next == nil && m.pending != nil {
				next, choices = m.pending, m.choices
			}
		}
	}
	if next == nil {
		return found
	}
	for _, choice := range choices {
		m.answers[*next] = choice
		if result := solve(m, left, budget); result != refuted {
			return result
		}
		delete(m.answers, *next)
	}
	return refuted
}

// detour returns the scenario of a first, a second and a third object of which the second one lacks gone. As with the
// status subresource, an update changes the status or everything else.
func detour(rules []*readRule, gone *schema.Location) *scenario {
	m := newScenario(rules)
	m.track(gone)
	m.fix(!inStatus(gone))
	for object, there := range []bool{true, false, true} {
		for up := gone.Parent(); up.In != nil; up = up.Parent() {
			m.set(object, askPresence, up, true)
		}
		m.set(object, askPresence, gone, there)
	}
	return m
}

// fix makes the status the same in all objects, or else everything but the status.
func (m *scenario) fix(status bool) {
	known := map[*schema.Location]bool{}
	m.fixed = func(l *schema.Location) bool {
		in, ok := known[l]
		if !ok {
			in = inStatus(l)
			known[l] = in
		}
		return in == status
	}
}

// inStatus reports whether l is the status of the whole object or below it.
func inStatus(l *schema.Location) bool {
	if l.In == nil {
		return false
	}
	for l.Parent().In != nil {
		l = l.Parent()
	}
	return l.Name == "status"
}

// refusedBy wants a rule to refuse a step.
func refusedBy(r *readRule, s step) condition {
	return func(*scenario) outcome { return refused(s.judge(r.Rule)) }
}

// refused tells whether a verdict is that a rule refuses.
func refused(verdict outcome) outcome {
	switch {
	case verdict.refuses():
		return yes
	case verdict == yes:
		return no
	}
	return open
}

// eachAccepted adds conditions that a rule accepts a step, one for each operand of &&: those that are satisfied are not
// evaluated again. A rule without oldSelf judges the new object of the step.
func eachAccepted(conditions []condition, r *readRule, s step) []condition {
	for _, part := range r.operands() {
		conditions = append(conditions, func(*scenario) outcome {
			result, _ := judge(r.Rule, part, s)
			return result
		})
	}
	return conditions
}

// admitted wants rules and locks to accept the steps, and the object that they start from.
func (a *auditor) admitted(rules []*readRule, steps ...step) []condition {
	start := steps[0]
	start.newObj = start.oldObj
	var conditions []condition
	for _, r := range rules {
		if !r.Transition {
			conditions = eachAccepted(conditions, r, start)
		}
		for _, s := range steps {
			conditions = eachAccepted(conditions, r, s)
		}
	}
	return append(conditions, a.fits(steps...)...)
}

// fits wants the locks to accept the steps, and the objects of the steps to satisfy the combinations of schemas.
func (a *auditor) fits(steps ...step) []condition {
	m := steps[0].scenario
	var tracked []*schema.Location
	for l := range m.tracked {
		if _, ok := a.constrained[l]; ok {
			tracked = append(tracked, l)
		}
	}
	slices.SortFunc(tracked, func(l, other *schema.Location) int { return cmp.Compare(a.constrained[l], a.constrained[other]) })
	var conditions []condition
	for _, l := range tracked {
		if combines(l.Schema) {
			for object := range steps[len(steps)-1].newObj + 1 {
				conditions = append(conditions, func(*scenario) outcome { return combination(m, object, l) })
			}
		}
		if l.Marks.Locked() {
			for _, s := range steps {
				conditions = append(conditions, func(*scenario) outcome { return s.locks(l) })
			}
		}
	}
	return conditions
}

// combination tells whether an object satisfies the combinations of schemas at l. Those that are not understood count as
// satisfied.
func combination(m *scenario, object int, l *schema.Location) outcome {
	switch there := m.present(object, l); there {
	case no:
		return yes
	case yes:
		if o := demands(m, object, l, l.Schema); o != opaque {
			return o
		}
		return yes
	default:
		return there
	}
}

// combines reports whether s has allOf, anyOf, oneOf or not.
func combines(s *spec.Schema) bool {
	return len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil
}

// demands tells whether an object satisfies the combinations of schemas at l, as far as they are about which fields are
// present and which of an enum's values they have. The rest is opaque.
func demands(m *scenario, object int, l *schema.Location, s *spec.Schema) outcome {
	result := yes
	for i := range s.AllOf {
		result = and(result, satisfies(m, object, l, &s.AllOf[i]))
	}
	if len(s.AnyOf) > 0 {
		some := no
		for i := range s.AnyOf {
			some = or(some, satisfies(m, object, l, &s.AnyOf[i]))
		}
		result = and(result, some)
	}
	if len(s.OneOf) > 0 {
		none, one := yes, no
		for i := range s.OneOf {
			this := satisfies(m, object, l, &s.OneOf[i])
			none, one = and(none, not(this)), or(and(one, not(this)), and(none, this))
		}
		result = and(result, one)
	}
	if s.Not != nil {
		result = and(result, not(satisfies(m, object, l, s.Not)))
	}
	return result
}

// satisfies tells whether an object satisfies s, a part of a combination at l.
func satisfies(m *scenario, object int, l *schema.Location, s *spec.Schema) outcome {
	result := demands(m, object, l, s)
	for _, name := range s.Required {
		result = and(result, hasField(m, object, l.Property(name)))
	}
	for name := range s.Properties {
		property := s.Properties[name]
		there := hasField(m, object, l.Property(name))
		result = and(result, or(not(there), isOneOf(m, object, l.Property(name), there, &property)))
	}
	if s.Type != nil && !s.Type.Contains("object") || s.Items != nil || s.AdditionalProperties != nil ||
		s.MinProperties != nil || s.MaxProperties != nil || len(s.Enum) > 0 ||
		s.Pattern != "" || s.MinItems != nil || s.MaxItems != nil || s.MinLength != nil || s.MaxLength != nil || s.Minimum != nil || s.Maximum != nil {
		result = and(result, opaque)
	}
	return result
}

func hasField(m *scenario, object int, l *schema.Location) outcome {
	if l == nil || !m.tracked[l] {
		return opaque
	}
	return m.present(object, l)
}

// isOneOf tells whether a field has one of the values of the enum of s.
func isOneOf(m *scenario, object int, l *schema.Location, there outcome, s *spec.Schema) outcome {
	if there != yes || len(s.Enum) == 0 || m.composite(l) {
		return opaque
	}
	v, ok := m.value(object, l)
	if !ok {
		return open
	}
	return of(inEnum(s, v))
}

// maxRelevant bounds how many rules a search weighs together. Rules beyond it are taken to accept everything.
const maxRelevant = 40

// ruleIndex finds rules by the fields that they read: a search looks only at rules that can matter to it.
type ruleIndex struct {
	rules []*readRule
	// By location: the positions of the rules that read it, and of those that read something at or below it.
	readers, below map[*schema.Location][]int
}

func newRuleIndex(rules []*readRule, e *effort) *ruleIndex {
	x := &ruleIndex{rules: rules, readers: map[*schema.Location][]int{}, below: map[*schema.Location][]int{}}
	add := func(to map[*schema.Location][]int, l *schema.Location, i int) {
		if list := to[l]; len(list) == 0 || list[len(list)-1] != i {
			to[l] = append(list, i)
		}
	}
	for i, r := range rules {
		for _, l := range r.reads {
			add(x.readers, l, i)
			for ; l != nil; l = l.Parent() {
				add(x.below, l, i)
				e.spend(1)
			}
		}
	}
	return x
}

// nearestFirst returns the rules by depth, the deepest first.
func nearestFirst(rules []*readRule) []*readRule {
	depth := map[*readRule]int{}
	for _, r := range rules {
		depth[r] = len(way(r.at))
	}
	return slices.SortedStableFunc(slices.Values(rules), func(a, b *readRule) int { return cmp.Compare(depth[b], depth[a]) })
}

// relevant returns the rules that decide together with r whether a detour without the field gone exists: those that read
// gone from above, and those that read a field that r or another relevant rule reads. r is the first one. A nil gone is
// for an update that removes nothing.
func (x *ruleIndex) relevant(r *readRule, gone *schema.Location, e *effort) []*readRule {
	return x.related([]*readRule{r}, r.reads, gone, e)
}

// related completes rules with those that read gone from above, those that read something below fields, and those that
// read a field that another one of them reads. It goes through the rules of the index again and again, in their order,
// until it finds no more: an added rule is found from then on by what it reads.
func (x *ruleIndex) related(rules []*readRule, below []*schema.Location, gone *schema.Location, e *effort) []*readRule {
	w := rounds{round: -1, known: map[*schema.Location]bool{}}
	in := map[*readRule]bool{}
	for _, r := range rules {
		in[r] = true
	}
	read := func(fields []*schema.Location) {
		for _, l := range fields {
			for ; l != nil && !w.known[l]; l = l.Parent() {
				w.known[l] = true
				w.add(span{list: x.readers[l]})
				e.spend(1)
			}
		}
	}
	read(below)
	for _, l := range below {
		w.add(span{list: x.below[l]})
	}
	if gone != nil {
		w.add(span{list: x.below[gone], above: true})
		for l := gone; l != nil; l = l.Parent() {
			w.add(span{list: x.readers[l], above: true})
		}
	}
	for len(rules) < maxRelevant {
		i, above, ok := w.next()
		if !ok {
			break
		}
		e.spend(1)
		r := x.rules[i]
		if in[r] || above && (r.at == gone || !within(gone, r.at)) {
			continue
		}
		in[r], w.found = true, true
		rules = append(rules, r)
		read(r.reads)
	}
	return rules
}

// rounds goes through sorted lists of positions as if they were one list, again and again until a round finds nothing. Of a
// list that is added at position 5, the positions above 5 come in the same round, the others in the next one.
type rounds struct {
	now   spans
	later []span
	round int  // the position that the round has come to
	found bool // in this round
	known map[*schema.Location]bool
}

// span is a list of positions; above marks those that count only for rules above what is gone.
type span struct {
	list  []int
	above bool
}

func (w *rounds) add(s span) {
	from := sort.SearchInts(s.list, w.round+1)
	if from < len(s.list) {
		heap.Push(&w.now, span{s.list[from:], s.above})
	}
	if from > 0 {
		w.later = append(w.later, span{s.list[:from], s.above})
	}
}

// next returns the next position; false when a round has found nothing.
func (w *rounds) next() (i int, above, ok bool) {
	if len(w.now) == 0 {
		if !w.found || len(w.later) == 0 {
			return 0, false, false
		}
		w.now, w.later, w.round, w.found = w.later, nil, -1, false
		heap.Init(&w.now)
	}
	s := &w.now[0]
	i, above = s.list[0], s.above
	w.round = i
	if s.list = s.list[1:]; len(s.list) == 0 {
		heap.Pop(&w.now)
	} else {
		heap.Fix(&w.now, 0)
	}
	return i, above, true
}

// spans is a heap by the first position.
type spans []span

func (s spans) Len() int           { return len(s) }
func (s spans) Less(i, j int) bool { return s[i].list[0] < s[j].list[0] }
func (s spans) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *spans) Push(x any)        { *s = append(*s, x.(span)) }
func (s *spans) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
