package witness

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

// How hard a way is tried. Most ways need a glance at objects made from the schema, as they are. For self.bucket ==
// oldSelf.bucket on a field of the optional object backup, these are
//
//	{backup: {bucket: a}}, {}, {backup: {bucket: b}}
//
// A search repairs objects that are refused, which is worth little where a transition rule refuses the first step
// itself: with the companion !has(oldSelf.backup) || has(self.backup), no other value makes the server accept {} in the
// middle. Such a rule is called a keeper. If it reads nothing else (alone), or many searches against it were in vain,
// there is no search; otherwise there is a short one.

// search returns a sequence that takes w, nil if it finds none within a bounded effort.
func (k *Kind) search(w *way, effort Effort) *candidate {
	budget := plainEffort
	switch effort {
	case Glance:
		budget = glanceEffort
	case Thorough:
		budget = stepsEffort
		if w.loose != nil && w.rule == nil {
			w.keeps = w.loose
		}
		w.starts = w.inSteps()
	}
	keeper := w.keptBy()
	if keeper == nil {
		return w.find(budget)
	}
	if w.alone(keeper) || k.vain[*keeper] >= manyVain {
		return nil
	}
	found := w.find(min(budget, keptEffort))
	if found == nil {
		if k.vain == nil {
			k.vain = map[celrun.Rule]int{}
		}
		k.vain[*keeper]++
	}
	return found
}

// keptBy returns a transition rule that refuses the first step of the likeliest sequences, as the companion of a field
// does that keeps it: !has(oldSelf.f) || has(self.f). It returns nil if there is none, or if w is not about one rule.
func (w *way) keptBy() *celrun.Rule {
	var keeper *celrun.Rule
	for _, s := range w.starts[:min(len(w.starts), manyKept)] {
		begin := *s
		begin.versions, begin.objects = s.versions[:2], s.objects[:2]
		problems, _ := judge(&begin)
		i := slices.IndexFunc(problems, func(p problem) bool {
			return p.at == 1 && p.kind == brokenRule && s.versions[1].transition[*p.rule]
		})
		if i < 0 || w.rule == nil {
			return nil
		}
		keeper = problems[i].rule
	}
	return keeper
}

// alone reports whether a rule reads nothing but what w is without meanwhile, and what is around it, and compares none
// of it with a constant. What such a rule refuses once, it refuses whatever the rest of the objects is.
func (w *way) alone(keeper *celrun.Rule) bool {
	v := w.starts[0].versions[1]
	reads := v.reads[keeper.Text]
	if w.gone == nil || reads == nil || len(reads.literals) > 0 {
		return false
	}
	node := patternOf(keeper.SchemaPath)
	return !slices.ContainsFunc(reads.patterns, func(pattern []string) bool {
		return len(node)+len(pattern) > len(w.gone) || !meets(slices.Concat(node, pattern), w.gone)
	})
}

// within returns a search for sequences that take w.
func (w *way) within(budget int) *search {
	return &search{
		budget: budget, keeps: w.keeps, differ: w.differences, seen: map[uint64]bool{}, oneSided: w.rule != nil,
		refuse: func(refusals []Refusal) bool { return slices.ContainsFunc(refusals, w.concerns) },
	}
}

// find searches w, and returns nil if it finds nothing.
func (w *way) find(budget int) *candidate {
	if len(w.starts) == 0 {
		return nil
	}
	x := w.within(budget)
	found := x.run(w.starts)
	w.tried += len(x.seen)
	return found
}
