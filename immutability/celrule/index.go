package celrule

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// ruleIndex finds rules by the fields that they read, so that a search looks only at rules that have something to do with
// it.
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

// rounds goes through sorted lists of positions as if they were one, round after round. A list that is added in the middle
// of a round counts from there on in this round, and with its beginning in the next.
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
