package listtype

// Matcher matches items with those of a list. Its lookups change it: it is for one goroutine.
type Matcher struct {
	olds  counter
	found [block]int32
}

// NewMatcher returns a matcher for oldList. Cost: O(n) hashes and comparisons.
func NewMatcher(oldList []any, eq Equality) *Matcher { return &Matcher{olds: newCounter(oldList, eq)} }

// MatchSome is how many items are best given to Match at once, by callers that look at each match soon after.
const MatchSome = block

// Match appends to at, for each of items, the index of the item of the list that is equal to it, or -1. ok is false if
// there are several of these, or if another item was matched with it before: then items cannot be matched one to one.
func (m *Matcher) Match(items []any, at []int) (_ []int, ok bool) {
	for ; len(items) > 0; items = items[min(block, len(items)):] {
		some := items[:min(block, len(items))]
		m.olds.find(some, &m.found)
		for i := range some {
			number := m.found[i]
			if number < 0 {
				at = append(at, -1)
				continue
			}
			first, left := m.olds.take(number)
			if left != 1 {
				return nil, false
			}
			at = append(at, first)
		}
	}
	return at, true
}

// Match finds for each item of newList the index of the item of oldList that is equal to it, or -1. It returns false if
// an item occurs in both lists, and in one of them more than once: then items cannot be matched one to one.
// Cost: O(n) hashes and comparisons.
func Match(newList, oldList []any, eq Equality) (at []int, ok bool) {
	return NewMatcher(oldList, eq).Match(newList, make([]int, 0, len(newList)))
}
