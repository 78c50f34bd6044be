package celrule

import (
	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// step is an update from one object of a scenario to another.
type step struct {
	*scenario
	newObj, oldObj int
	// alias maps the locations of another version's rules to the scenario's; nil where the version is the same.
	alias map[*schema.Location]*schema.Location
}

var _ world = step{}

func (s step) object(in side) int {
	if in == oldSide {
		return s.oldObj
	}
	return s.newObj
}

func (s step) known(l *schema.Location) *schema.Location {
	if same := s.alias[l]; same != nil {
		return same
	}
	return l
}

func (s step) present(in side, l *schema.Location) outcome {
	return s.scenario.present(s.object(in), s.known(l))
}

func (s step) apart(*schema.Location) string { return "" }

func (s step) equal(l *schema.Location) outcome {
	return s.scenario.equal(s.newObj, s.oldObj, s.known(l))
}

func (s step) is(in side, l *schema.Location, literal any) outcome {
	if l = s.known(l); s.composite(l) {
		return opaque
	}
	s.effort.spend(1)
	v, ok := s.value(s.object(in), l)
	if !ok {
		return open
	}
	return of(v == literal)
}

func (s step) number(in side, l *schema.Location) (int64, outcome) {
	if l = s.known(l); s.composite(l) {
		return 0, opaque
	}
	v, ok := s.value(s.object(in), l)
	if !ok {
		return 0, open
	}
	n, ok := v.(int64)
	if !ok {
		return 0, opaque
	}
	return n, yes
}

func (s step) empty(in side, l *schema.Location) outcome {
	return s.scenario.empty(s.object(in), s.known(l))
}

// hasKey tells whether one object has the key that l stands for.
func (s step) hasKey(in side, l *schema.Location) outcome {
	key := inside(s.known(l))
	if key == nil || !s.tracked[key] {
		return opaque
	}
	return s.scenario.present(s.object(in), key)
}

func (s step) added(l *schema.Location) outcome {
	return and(s.hasKey(newSide, l), not(s.hasKey(oldSide, l)))
}

func (s step) removed(l *schema.Location) outcome {
	return and(s.hasKey(oldSide, l), not(s.hasKey(newSide, l)))
}

func (s step) modified(l *schema.Location) outcome {
	if both := and(s.hasKey(newSide, l), s.hasKey(oldSide, l)); both != yes || keysOf(l) == setItems {
		if both == yes {
			return no
		}
		return both
	}
	return not(s.scenario.equal(s.newObj, s.oldObj, inside(s.known(l))))
}

func (s step) unclear(r *Rule, x ast.Expr) outcome {
	return s.scenario.unclear(r, x, func(t term) (string, bool) { return s.fingerprint(s.object(t.side), s.known(t.at)) })
}

// judge returns the verdict of a rule on the step.
func (s step) judge(r *Rule) outcome {
	result, _ := judge(r, r.expr, s)
	return result
}

// locks tells whether the locks of l accept the step.
func (s step) locks(l *schema.Location) outcome {
	refused := l.Marks.Refuses()
	if l.In == nil || refused == 0 {
		return yes
	}
	runs := and(s.present(newSide, l.Parent()), s.present(oldSide, l.Parent()))
	hasNew, hasOld := s.present(newSide, l), s.present(oldSide, l)
	broken := no
	add := func(change schema.Change, happens func() outcome) {
		if refused.Has(change) {
			broken = or(broken, happens())
		}
	}
	add(schema.Set, func() outcome { return and(hasNew, not(hasOld)) })
	add(schema.Unset, func() outcome { return and(hasOld, not(hasNew)) })
	if both := and(hasNew, hasOld); both == yes {
		add(schema.Modify, func() outcome { return not(s.equal(l)) })
		add(schema.AddItem, func() outcome { return certainly(s.added(l)) })
		add(schema.RemoveItem, func() outcome { return certainly(s.removed(l)) })
	}
	return not(and(runs, broken))
}

// certainly takes what is not understood for something that does not happen.
func certainly(o outcome) outcome {
	if o == opaque {
		return no
	}
	return o
}
