package celrule

import (
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/google/cel-go/common/ast"
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

// Change is what Import and Export do to one node of a schema.
type Change struct {
	SchemaPath string
	DropRules  []int            // indices in x-kubernetes-validations to remove
	AddRules   []map[string]any // rules to append, in the form of the schema
	DropKeys   []string         // extension keys to remove
	SetKeys    map[string]any   // extension keys to set
}

// Make makes the change in node, the JSON form of a node of a schema or its extensions.
func (c *Change) Make(node map[string]any) {
	for _, key := range c.DropKeys {
		delete(node, key)
	}
	maps.Copy(node, c.SetKeys)
	if len(c.DropRules)+len(c.AddRules) == 0 {
		return
	}
	rules, _ := node[schema.KeyValidations].([]any)
	var kept []any
	for i, rule := range rules {
		if !slices.Contains(c.DropRules, i) {
			kept = append(kept, rule)
		}
	}
	for _, rule := range c.AddRules {
		kept = append(kept, rule)
	}
	delete(node, schema.KeyValidations)
	if len(kept) > 0 {
		node[schema.KeyValidations] = kept
	}
}

// changes collects the changes of a schema by schema path.
type changes map[string]*Change

// at returns the change at l, which the caller may add to.
func (c changes) at(l *schema.Location) *Change {
	path := l.Path.Pointer()
	if c[path] == nil {
		c[path] = &Change{SchemaPath: path}
	}
	return c[path]
}

func (c changes) sorted() []Change {
	var all []Change
	for _, path := range slices.Sorted(maps.Keys(c)) {
		all = append(all, *c[path])
	}
	return all
}

// LockAt is a lock and the field that has it. The lock is "immutable" and the like, or a word of x-fieldlock-update.
type LockAt struct {
	Path, SchemaPath string
	Lock             string
}

func lockAt(l *schema.Location, lock schema.Lock) LockAt {
	return LockAt{l.Path.String(), l.Path.Pointer(), string(lock)}
}
