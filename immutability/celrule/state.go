package celrule

// state is one kind of update, as far as a chain is concerned: how far each side reaches down the chain, and how the
// two values at its end differ. Every update from one valid object to another is in exactly one state.
type state struct {
	depth [2]int // by side: the last level that is there
	equal int    // the first level that is equal on both sides; beyond the last level when none is

	// Where both sides reach the end and its keys matter: keys only in new, keys only in old, a value changed under a
	// common key.
	added, removed, modified bool

	empty   [2]bool // by side: the value at the end has no keys
	literal [2]int  // by side: which literal the value at the end is, -1 for another value

	noOld bool // an optionalOldSelf rule without an old value
}

func (s *state) both(level int) bool { return s.depth[newSide] >= level && s.depth[oldSide] >= level }

// differs reports whether both sides reach level and are not equal there.
func (s *state) differs(level int) bool { return s.both(level) && s.equal > level }

// states enumerates the updates that valid objects allow.
func (c *chain) states() []state {
	n := c.last()
	var all []state
	for _, newDepth := range c.depths() {
		for _, oldDepth := range c.depths() {
			s := state{depth: [2]int{newDepth, oldDepth}, literal: [2]int{-1, -1}}
			if newDepth != oldDepth {
				s.equal = n + 1
				all = append(all, c.ends(s)...)
				continue
			}
			for s.equal = 0; s.equal <= newDepth; s.equal++ {
				all = append(all, c.ends(s)...)
			}
			s.equal = n + 1
			all = append(all, c.ends(s)...)
		}
	}
	return all
}

// depths lists how far down the chain a valid object can reach.
func (c *chain) depths() []int {
	var depths []int
	for level := range c.places {
		if level == c.last() || !c.places[level+1].present() {
			depths = append(depths, level)
		}
	}
	return depths
}

// ends completes s with what the values at the end of the chain can be.
func (c *chain) ends(s state) []state {
	n := c.last()
	all := []state{s}
	for _, side := range []side{newSide, oldSide} {
		if s.depth[side] < n {
			continue
		}
		if len(c.literals) > 0 {
			all = split(all, c.classes(), func(s *state, class int) { s.literal[side] = class })
		}
		if c.keyed {
			empties := []int{0}
			if emptyAllowed(c.lastPlace().schema) {
				empties = append(empties, 1)
			}
			all = split(all, empties, func(s *state, i int) { s.empty[side] = i == 1 })
		}
	}
	if s.both(n) && c.keyed {
		all = split(all, []int{0, 1, 2, 3, 4, 5, 6, 7}, func(s *state, bits int) {
			s.added, s.removed, s.modified = bits&1 != 0, bits&2 != 0, bits&4 != 0
		})
	}
	var possible []state
	for _, s := range all {
		if c.possible(&s) {
			possible = append(possible, s)
		}
	}
	return possible
}

func split(all []state, choices []int, set func(*state, int)) []state {
	var out []state
	for _, s := range all {
		for _, choice := range choices {
			next := s
			set(&next, choice)
			out = append(out, next)
		}
	}
	return out
}

// classes lists the literals that a valid value can be, and -1 for other values.
func (c *chain) classes() []int {
	var classes []int
	if !c.complete() {
		classes = append(classes, -1)
	}
	for i, v := range c.literals {
		if c.admits(v) {
			classes = append(classes, i)
		}
	}
	return classes
}

// possible reports whether the parts of s fit each other.
func (c *chain) possible(s *state) bool {
	n := c.last()
	if !s.both(n) {
		return true
	}
	same := s.equal <= n
	if len(c.literals) > 0 {
		literal := s.literal[newSide] == s.literal[oldSide]
		if same && !literal || !same && literal && s.literal[newSide] >= 0 {
			return false
		}
	}
	if c.keyed {
		switch {
		case same != !(s.added || s.removed || s.modified),
			s.empty[newSide] && (s.added || s.modified || !s.empty[oldSide] && !s.removed),
			s.empty[oldSide] && (s.removed || s.modified || !s.empty[newSide] && !s.added),
			s.modified && keysOf(c.lastPlace()) == setItems:
			return false
		}
	}
	return true
}
