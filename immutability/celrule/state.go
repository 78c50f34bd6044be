package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// state is one kind of update, seen along a chain: how far each object reaches down the chain, and how the two values at
// its end differ. Every update from one valid object to another is in exactly one state.
//
// For the chain spec → spec.f, where spec is required and f an optional string, the states are: f in neither object; only
// in the new one; only in the old one; in both and equal; in both and different.
type state struct {
	*chain
	depth     [2]int // by side: the last level that exists
	equalFrom int    // the first level that is equal on both sides; len(at) if none is

	// Where both objects reach the end and its keys matter: keys only in new, keys only in old, a value changed under a
	// common key.
	add, remove, modify bool

	isEmpty [2]bool // by side: the value at the end has no keys
	literal [2]int  // by side: which literal the value at the end is, -1 for another value

	noOld bool // an optionalOldSelf rule without an old value
}

// statesOf enumerates the updates that valid objects allow.
func statesOf(c *chain) []*state {
	return slices.DeleteFunc(shapesOf(c), func(s *state) bool { return !s.valid() })
}

// shapesOf enumerates the updates that the schema allows without its rules.
func shapesOf(c *chain) []*state {
	n := len(c.at) - 1
	var all []*state
	for _, newDepth := range depthsOf(c) {
		for _, oldDepth := range depthsOf(c) {
			s := state{chain: c, depth: [2]int{newDepth, oldDepth}, literal: [2]int{-1, -1}, equalFrom: n + 1}
			all = append(all, s.ends()...)
			for s.equalFrom = 0; newDepth == oldDepth && s.equalFrom <= newDepth; s.equalFrom++ {
				all = append(all, s.ends()...)
			}
		}
	}
	return slices.DeleteFunc(all, func(s *state) bool { return !s.consistent() })
}

// depthsOf lists how far down the chain a valid object can reach.
func depthsOf(c *chain) []int {
	var depths []int
	for level := range c.at {
		if level == len(c.at)-1 || !present(c.at[level+1]) {
			depths = append(depths, level)
		}
	}
	return depths
}

// ends completes s with what the values at the end of the chain can be.
func (s state) ends() []*state {
	n := len(s.at) - 1
	all := []*state{&s}
	for _, side := range []side{newSide, oldSide} {
		if s.depth[side] < n {
			continue
		}
		if len(s.literals) > 0 {
			all = branch(all, s.classes(), func(s *state, class int) { s.literal[side] = class })
		}
		if s.keyed && emptyAllowed(s.last().Schema) {
			all = branch(all, []int{0, 1}, func(s *state, i int) { s.isEmpty[side] = i == 1 })
		}
	}
	if s.both(n) && s.keyed {
		all = branch(all, []int{0, 1, 2, 3, 4, 5, 6, 7}, func(s *state, bits int) {
			s.add, s.remove, s.modify = bits&1 != 0, bits&2 != 0, bits&4 != 0
		})
	}
	return all
}

func branch(all []*state, choices []int, choose func(*state, int)) []*state {
	var out []*state
	for _, s := range all {
		for _, choice := range choices {
			next := *s
			choose(&next, choice)
			out = append(out, &next)
		}
	}
	return out
}

// consistent reports whether the parts of s fit each other.
func (s *state) consistent() bool {
	n := len(s.at) - 1
	if !s.both(n) {
		return true
	}
	unchanged := s.equalFrom <= n
	if len(s.literals) > 0 {
		sameLiteral := s.literal[newSide] == s.literal[oldSide]
		if unchanged && !sameLiteral || !unchanged && sameLiteral && s.literal[newSide] >= 0 {
			return false
		}
	}
	if s.keyed {
		switch {
		case unchanged != !(s.add || s.remove || s.modify),
			s.isEmpty[newSide] && (s.add || s.modify || !s.isEmpty[oldSide] && !s.remove),
			s.isEmpty[oldSide] && (s.remove || s.modify || !s.isEmpty[newSide] && !s.add),
			s.modify && keysOf(s.last()) == setItems:
			return false
		}
	}
	return true
}

// valid reports whether the rules without oldSelf may accept both objects.
func (s *state) valid() bool {
	for _, r := range s.plain {
		if o, _ := judge(r, r.expr, s); o.refuses() {
			return false
		}
		if o, _ := judge(r, r.expr, mirrored{s}); o.refuses() {
			return false
		}
	}
	return true
}

func (s *state) both(level int) bool { return s.depth[newSide] >= level && s.depth[oldSide] >= level }

// hasOld reports whether the old object has a value where the rule is.
func (s *state) hasOld() bool {
	level, _ := s.level(s.rule.at)
	return s.depth[oldSide] >= level
}

// differs reports whether both objects reach level and are not equal there.
func (s *state) differs(level int) bool { return s.both(level) && s.equalFrom > level }

var _ world = (*state)(nil)

func (s *state) present(in side, l *schema.Location) outcome {
	if in == oldSide && s.noOld {
		return no
	}
	level, ok := s.level(l)
	if !ok {
		if within(s.at[0], l) {
			return yes
		}
		return opaque
	}
	return of(s.depth[in] >= level)
}

func (s *state) apart(l *schema.Location) string { return unequal(l.Schema) }

func (s *state) equal(l *schema.Location) outcome {
	level, ok := s.level(l)
	if !ok {
		return opaque
	}
	return of(s.equalFrom <= level)
}

func (s *state) is(in side, l *schema.Location, literal any) outcome {
	i := slices.Index(s.literals, literal)
	if l != s.last() || i < 0 || isIntOrString(l.Schema) {
		return opaque
	}
	return of(s.literal[in] == i)
}

func (s *state) number(side, *schema.Location) (int64, outcome) { return 0, opaque }

func (s *state) empty(in side, l *schema.Location) outcome {
	switch {
	case l != s.last():
		return opaque
	case l.Schema.Type.Contains("string"):
		return s.is(in, l, "")
	case !s.keyed:
		return opaque
	}
	return of(s.isEmpty[in])
}

func (s *state) added(l *schema.Location) outcome    { return s.keys(l, s.add) }
func (s *state) removed(l *schema.Location) outcome  { return s.keys(l, s.remove) }
func (s *state) modified(l *schema.Location) outcome { return s.keys(l, s.modify) }

func (s *state) keys(l *schema.Location, differ bool) outcome {
	if l != s.last() || !s.keyed {
		return opaque
	}
	return of(differ)
}

func (s *state) unclear(*Rule, ast.Expr) outcome { return open }

// mirrored is a state seen with the old object as the new one.
type mirrored struct{ *state }

func (m mirrored) present(in side, l *schema.Location) outcome { return m.state.present(in.other(), l) }
func (m mirrored) is(in side, l *schema.Location, literal any) outcome {
	return m.state.is(in.other(), l, literal)
}
func (m mirrored) empty(in side, l *schema.Location) outcome { return m.state.empty(in.other(), l) }
