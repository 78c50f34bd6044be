package celrule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// understanding is a transition rule and how far it has been read as locks.
type understanding struct {
	rule   *Rule
	parts  []*part
	reason string // why it cannot be read at all, or ""
	// spelled are the locks of a rule that is read as Export writes it; nil for another one.
	spelled []spelledLock
}

// part is a conjunct of a rule.
type part struct {
	expr  ast.Expr
	chain *chain
	locks []candidate // that refuse what the part refuses, once done
	done  bool
	// creation is set if the part also refuses values that have no old value, which only a rule with optionalOldSelf can.
	// Locks do not judge such values.
	creation bool
	reason   string // why it is not done
}

func newUnderstanding(t *tree, r *Rule) *understanding {
	u := &understanding{rule: r, reason: t.uncorrelated[r.at]}
	if u.reason != "" {
		return u
	}
	for _, x := range celexpr.Operands(r.expr, operators.LogicalAnd) {
		p := &part{expr: x}
		if p.chain, p.reason = chainOf(t, r, x); p.chain == nil {
			u.reason = p.reason
		}
		u.parts = append(u.parts, p)
	}
	return u
}

// read reads all parts of u as locks, and returns before with these locks added; nil if a part has no equivalent locks. Each
// part may rely on the locks of the others. If zero is set, parts without another equivalent may become locks with
// x-kubernetes-normalize: zero, which exclude other locks at and above the field.
func (u *understanding) read(before *accepted, zero bool) *accepted {
	now := before.clone()
	for again := true; again && !u.done(); {
		again = u.readParts(now, false) || zero && u.readParts(now, true)
	}
	if u.done() {
		return now
	}
	for _, p := range u.parts {
		p.done, p.locks = false, nil
	}
	return nil
}

// readParts reads parts as locks and adds the locks to now. It reports whether it has read any. If zero is set, it stops
// after the first one.
func (u *understanding) readParts(now *accepted, zero bool) bool {
	some := false
	for _, p := range u.parts {
		if p.done || some && zero {
			continue
		}
		if locks, ok := p.equivalent(now, zero); ok {
			p.done, p.locks, some = true, locks, true
			for _, w := range locks {
				now.add(w.at(p.chain), w)
			}
		}
	}
	return some
}

// equivalent returns the locks that refuse what p refuses, beyond those accepted already; ok is false if there are none
// that refuse exactly this. They take the zero value for absent if zero is set.
func (p *part) equivalent(now *accepted, zero bool) (locks []candidate, ok bool) {
	c := p.chain
	p.reason, p.creation = "", p.judgesCreation()
	sound := slices.DeleteFunc(candidatesOf(c), func(w candidate) bool { return w.zero != zero || now.clash(w.at(c), w) })
	var refused []*state
	for _, s := range statesOf(c) {
		o, why := judge(c.rule, p.expr, s)
		switch {
		case now.refuses(s):
		case p.creation && !s.hasOld() && o != yes:
			// The rest rule judges this state. A lock that refuses it is sound only if the rest rule certainly refuses it too.
			if o.known() {
				break
			}
			sound = slices.DeleteFunc(sound, func(w candidate) bool { return w.refuses(s) })
		case !o.known():
			p.reason = why
			return nil, false
		case o == yes:
			sound = slices.DeleteFunc(sound, func(w candidate) bool { return w.refuses(s) })
		default:
			refused = append(refused, s)
		}
	}
	if s := firstUncovered(sound, refused); s != nil {
		p.reason = explain(s)
		return nil, false
	}
	return fewestLocks(sound, refused), true
}

// judgesCreation reports whether p may refuse a value that has no old value.
func (p *part) judgesCreation() bool {
	if !p.chain.rule.OptionalOldSelf {
		return false
	}
	return slices.ContainsFunc(statesOf(p.chain), func(s *state) bool {
		without := *s
		without.noOld = true
		created, _ := judge(p.chain.rule, p.expr, &without)
		return created != yes
	})
}

// fewestLocks drops candidates, the innermost first, as long as the others refuse all states.
func fewestLocks(sound []candidate, refused []*state) []candidate {
	for i := 0; i < len(sound); {
		fewer := slices.Delete(slices.Clone(sound), i, i+1)
		if firstUncovered(fewer, refused) != nil {
			i++
			continue
		}
		sound = fewer
	}
	return sound
}

// firstUncovered returns the first state that no candidate refuses, or nil.
func firstUncovered(words []candidate, refused []*state) *state {
	for _, s := range refused {
		if !slices.ContainsFunc(words, func(w candidate) bool { return w.refuses(s) }) {
			return s
		}
	}
	return nil
}

// explain returns why no lock equals a rule that refuses s.
func explain(s *state) string {
	last := s.last()
	if reason := s.tree.unlockable[last]; reason != "" {
		return reason
	}
	n := len(s.at) - 1
	shallow := min(s.depth[newSide], s.depth[oldSide])
	switch {
	case s.depth[newSide] == s.depth[oldSide] && shallow < n:
		return fmt.Sprintf("it refuses every update of an object without %s", s.at[shallow+1].Path)
	case s.both(n) && s.equalFrom <= n:
		return fmt.Sprintf("it refuses some updates that leave %s as it is", displayPath(last))
	case s.both(n):
		if reason := unequal(last.Schema); reason != "" {
			return reason
		}
		return fmt.Sprintf("it refuses some changes of %s and allows others", displayPath(last))
	}
	return fmt.Sprintf("whether %s may come or go depends on what is in it", s.at[shallow+1].Path)
}

func (u *understanding) done() bool {
	return u.spelled != nil || u.reason == "" && !slices.ContainsFunc(u.parts, func(p *part) bool { return !p.done })
}

// why returns why the rule is not recognized.
func (u *understanding) why() string {
	if u.reason != "" {
		return u.reason
	}
	for _, p := range u.parts {
		if !p.done && p.reason != "" {
			return p.reason
		}
	}
	return "no lock is equivalent"
}

// rest returns the rule that has to stay next to the locks, because it judges values without an old value; "" for none.
func (u *understanding) rest() string {
	switch {
	case u.spelled != nil, !slices.ContainsFunc(u.parts, func(p *part) bool { return p.creation }):
		return ""
	case !slices.ContainsFunc(u.parts, func(p *part) bool { return len(p.locks) > 0 }):
		return u.rule.Text
	}
	return "!oldSelf.hasValue() ? (" + u.rule.Text + ") : true"
}

// cover names what else refuses updates that u refuses, if the locks of u, which is done, do not refuse all of them; "" if
// they do.
func (u *understanding) cover(now *accepted) string {
	switch {
	case u.spelled != nil && len(u.spelled) == 0:
		return "other locks already cover it"
	case u.spelled != nil:
		return ""
	}
	locked, byLocks, byPlain := false, false, false
	for _, p := range u.parts {
		locked = locked || len(p.locks) > 0
		for _, s := range shapesOf(p.chain) {
			o, _ := judge(u.rule, p.expr, s)
			if !o.refuses() || p.creation && !s.hasOld() {
				continue
			}
			plain := !now.refuses(s) // now has the locks of u too
			byLocks, byPlain = byLocks || !plain, byPlain || plain
		}
	}
	switch {
	case locked && byPlain:
		return "a plain rule covers the rest"
	case locked:
		return ""
	case byLocks && byPlain:
		return "other locks and a plain rule already cover it"
	case byPlain:
		return "a plain rule already covers it"
	case byLocks:
		return "other locks already cover it"
	}
	return "it refuses no update of a value that exists, so no lock is needed"
}

// locks lists the locks of all parts, each once, in the words in which changes writes them.
func (u *understanding) locks(changes changes) []LockAt {
	var locks []LockAt
	add := func(l *schema.Location, word schema.Lock) {
		if lock := lockAt(l, asLock(word, changes.at(l).SetKeys)); !slices.Contains(locks, lock) {
			locks = append(locks, lock)
		}
	}
	for _, s := range u.spelled {
		add(s.at, s.lock)
	}
	for _, p := range u.parts {
		for _, w := range p.locks {
			add(w.at(p.chain), w.lock)
		}
	}
	slices.SortStableFunc(locks, func(a, b LockAt) int { return cmp.Compare(a.SchemaPath, b.SchemaPath) })
	return locks
}

// asLock returns the lock that expresses word in the extension keys of a field: a key lock, or word itself.
func asLock(word schema.Lock, keys map[string]any) schema.Lock {
	for _, lock := range schema.Locks() {
		if keys[lock.Key()] == true {
			return lock
		}
	}
	return word
}

// accepted are the locks of a schema as words of x-fieldlock-update: its own locks, and the locks that rules became.
type accepted struct {
	words map[*schema.Location][]schema.Lock
	// normalize are the fields of which some values count as absent, with the value of x-kubernetes-normalize.
	normalize map[*schema.Location]string
	// ordered are the fields whose locks compare the order of keyed lists.
	ordered map[*schema.Location]bool
}

func (a *accepted) clone() *accepted {
	return &accepted{maps.Clone(a.words), maps.Clone(a.normalize), maps.Clone(a.ordered)}
}

func (a *accepted) add(l *schema.Location, w candidate) {
	a.words[l] = append(slices.Clip(a.words[l]), w.lock)
	if w.zero {
		a.normalize[l] = schema.NormalizeZero
	}
}

// clash reports whether w cannot be accepted at l: a normalized field changes what the locks at it and above it compare.
func (a *accepted) clash(l *schema.Location, w candidate) bool {
	if w.zero {
		for up := l.Parent(); up != nil; up = up.Parent() {
			if len(a.words[up]) > 0 || up.Marks.Locked() {
				return true
			}
		}
		return len(a.words[l]) > 0 && a.normalize[l] != schema.NormalizeZero
	}
	for normal := range a.normalize {
		if within(normal, l) {
			return true
		}
	}
	return false
}

// refuses reports whether an accepted lock refuses every update in s. It does not count locks whose verdict depends on facts
// that the chain of s does not have, such as keys; another rule or conjunct brought those in.
func (a *accepted) refuses(s *state) bool {
	for level, l := range s.at {
		if a.normalize[l] == schema.NormalizeUndefined {
			continue
		}
		for _, lock := range a.words[l] {
			w := candidate{lock, level, a.normalize[l] != ""}
			if w.decidedBy(s.chain) && w.refuses(s) {
				return true
			}
		}
	}
	return false
}

// candidate is a lock at a level of a chain.
type candidate struct {
	lock  schema.Lock
	level int
	// zero is set if the field has x-kubernetes-normalize: zero, too: its zero value counts as absent.
	zero bool
}

// at returns the location that carries the lock.
func (w candidate) at(c *chain) *schema.Location { return c.at[w.level] }

// candidatesOf lists the locks that are allowed along the chain, the innermost first.
func candidatesOf(c *chain) []candidate {
	n := len(c.at) - 1
	var all []candidate
	if keysOf(c.last()) != noKeys {
		all = append(all, candidate{lock: schema.NoAddItem, level: n}, candidate{lock: schema.NoRemoveItem, level: n})
	}
	for level := n; level >= 0; level-- {
		if level > 0 {
			all = append(all, candidate{lock: schema.NoSet, level: level}, candidate{lock: schema.NoUnset, level: level})
		}
		all = append(all, candidate{lock: schema.NoModify, level: level})
	}
	if n > 0 {
		for _, l := range []schema.Lock{schema.NoSet, schema.NoUnset, schema.NoModify} {
			all = append(all, candidate{l, n, true})
		}
	}
	return slices.DeleteFunc(all, func(w candidate) bool { return !w.allowed(c) || !w.decidedBy(c) })
}

// decidedBy reports whether the states of c have the facts that w depends on: whether the value is the zero value, and which
// keys come and go.
func (w candidate) decidedBy(c *chain) bool {
	last := w.level == len(c.at)-1
	switch {
	case w.zero:
		return last && slices.Contains(c.literals, zeroOf(c.last()))
	case w.lock == schema.NoAddItem, w.lock == schema.NoRemoveItem:
		return last && c.keyed
	}
	return true
}

// allowed reports whether the lock is allowed at its location, and compares there the way CEL does.
func (w candidate) allowed(c *chain) bool {
	l := w.at(c)
	if c.tree.unlockable[l] != "" || c.tree.uncorrelated[l] != "" || normalizedAround(l) {
		return false
	}
	switch w.lock {
	case schema.NoModify:
		return unequal(l.Schema) == ""
	case schema.NoAddItem, schema.NoRemoveItem:
		// At level 0 the chain does not show whether the container is null.
		return l.Marks.MapType != schema.MapAtomic && (w.level > 0 || present(l))
	}
	return true
}

// refuses reports whether the lock refuses an update in state s.
func (w candidate) refuses(s *state) bool {
	level := w.level
	set := s.both(level-1) && w.has(s, newSide) && !w.has(s, oldSide)
	unset := s.both(level-1) && !w.has(s, newSide) && w.has(s, oldSide)
	switch w.lock {
	case schema.NoSet:
		return set
	case schema.NoUnset:
		return unset
	case schema.NoModify:
		return s.differs(level) && w.has(s, newSide) && w.has(s, oldSide)
	case schema.NoAddItem:
		return set && !s.isEmpty[newSide] || s.both(level) && s.add
	case schema.NoRemoveItem:
		return unset && !s.isEmpty[oldSide] || s.both(level) && s.remove
	}
	return false
}

// has reports whether one object has a value at the level of the lock. A zero value may count as absent.
func (w candidate) has(s *state, in side) bool {
	if w.zero && s.literal[in] >= 0 && s.literals[s.literal[in]] == zeroOf(s.last()) {
		return false
	}
	return s.depth[in] >= w.level
}

// zeroOf returns the zero value of a scalar, nil for other values.
func zeroOf(l *schema.Location) any {
	switch l.Type() {
	case "boolean":
		return false
	case "string":
		return ""
	case "integer":
		return int64(0)
	}
	return nil
}
