package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// chain is the line of properties that a rule reads, if these are all on one line: at[0] is the location of the rule (or its
// parent, if the rule reads only self and oldSelf), and each other location is a property of the one before.
type chain struct {
	tree *tree
	rule *Rule
	at   []*schema.Location

	literals []any // what the rule compares the last location with
	keyed    bool  // whether the rule asks for keys, items or the size of the last location
	plain    []*Rule
}

// chainOf returns the chain of the fields that x reads, a conjunct of rule r. If they are not on one line, it returns nil and
// the reason.
func chainOf(t *tree, r *Rule, x ast.Expr) (*chain, string) {
	c := &chain{tree: t, rule: r}
	last := r.at
	terms := termsIn(r, x)
	for _, term := range terms {
		if within(term.at, last) {
			last = term.at
		}
	}
	for _, term := range terms {
		if !within(last, term.at) {
			return nil, "it ties fields to each other"
		}
	}
	if reason := unreadable(r, x); reason != "" {
		return nil, reason
	}
	for l := last; l != r.at; l = l.Parent() {
		if ofResource(l) {
			return nil, "a lock is not allowed in " + l.Name
		}
		c.at = append(c.at, l)
	}
	c.at = append(c.at, r.at)
	// A rule on a property runs only where both sides have it. Seen from the parent, it can be weighed together with what
	// other rules say of its presence.
	if last == r.at && r.at.Role == schema.Property {
		c.at = append(c.at, r.at.Parent())
	}
	slices.Reverse(c.at)
	c.findLiterals(x)
	for _, l := range c.at {
		for _, r := range t.rules[l] {
			if r.expr != nil && !r.Transition {
				c.plain = append(c.plain, r)
			}
		}
	}
	return c, ""
}

// unreadable returns why x selects something from self or oldSelf that is not a property of the schema, or "".
func unreadable(r *Rule, x ast.Expr) (reason string) {
	celexpr.Visit(x, func(x ast.Expr) bool {
		if _, ok := termOf(r, x); ok {
			return false
		}
		if x.Kind() == ast.SelectKind {
			if t, ok := termOf(r, x.AsSelect().Operand()); ok && reason == "" {
				reason = "it reads " + x.AsSelect().FieldName() + ", which is not a property of " + displayPath(t.at)
				if t.at.Name == "metadata" {
					reason = "a lock is not allowed in metadata"
				}
			}
		}
		return true
	})
	return reason
}

func (c *chain) last() *schema.Location { return c.at[len(c.at)-1] }

// level returns the index of l in the chain, and whether it is there.
func (c *chain) level(l *schema.Location) (int, bool) {
	i := slices.Index(c.at, l)
	return i, i >= 0
}

// maxLiterals bounds how many literals are told apart in the states of a chain.
const maxLiterals = 4

// findLiterals collects what the last location is compared with.
func (c *chain) findLiterals(x ast.Expr) {
	c.literals = literalsIn(x, c.last().Schema, maxLiterals)
	celexpr.Visit(x, func(x ast.Expr) bool {
		_, size := sized(x)
		if x.Kind() == ast.CallKind {
			_, _, quantified := macro(x.AsCall())
			c.keyed = c.keyed || quantified
		}
		c.keyed = c.keyed || size && !c.last().Schema.Type.Contains("string")
		return true
	})
}

// classes lists the literals, by index, that a valid value of the last location can be, and -1 for other values.
func (c *chain) classes() []int {
	s := c.last().Schema
	var classes []int
	if !allLiterals(s, c.literals) {
		classes = append(classes, -1)
	}
	for i, v := range c.literals {
		if admits(s, v) {
			classes = append(classes, i)
		}
	}
	return classes
}

// state is one kind of update, seen along a chain: how far each object reaches down the chain, and how the two values at
// its end differ. Every update from one valid object to another is in exactly one state.
//
// For the chain spec → spec.f, where spec is required and f an optional string, the states are: f in neither object; only
// in the new one; only in the old one; in both and equal; in both and different.
type state struct {
	*chain
	depth     [2]int // by side: the last level that exists
	equalFrom int    // the first level that is equal on both sides; len(at) if none is

	// Where both objects reach the end and its keys matter: keys only in new, keys only in old.
	add, remove bool

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
	var all []*state
	for _, newDepth := range depthsOf(c) {
		for _, oldDepth := range depthsOf(c) {
			s := state{chain: c, depth: [2]int{newDepth, oldDepth}, literal: [2]int{-1, -1}, equalFrom: len(c.at)}
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
		all = branch(all, []int{0, 1, 2, 3}, func(s *state, bits int) { s.add, s.remove = bits&1 != 0, bits&2 != 0 })
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
		keysStay := !s.add && !s.remove
		valuesDiffer := !s.isEmpty[newSide] && keysOf(s.last()) != setItems // can, under keys that stay
		switch {
		case unchanged && !keysStay, !unchanged && keysStay && !valuesDiffer,
			s.isEmpty[newSide] && (s.add || !s.isEmpty[oldSide] && !s.remove),
			s.isEmpty[oldSide] && (s.remove || !s.isEmpty[newSide] && !s.add):
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

func (s *state) added(l *schema.Location) outcome   { return s.keys(l, s.add) }
func (s *state) removed(l *schema.Location) outcome { return s.keys(l, s.remove) }

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
