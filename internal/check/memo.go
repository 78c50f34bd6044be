package check

import (
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/listtype"
	"github.com/fieldlock/fieldlock/normalize"
)

// Memo remembers what one check has found out, so that no subtree is looked at once for each level above it. The zero
// Memo is ready. It is for one goroutine, and for objects that do not change meanwhile.
//
// A check of an update that changes nothing leaves it empty: its maps are made only when something is put into them.
type Memo struct {
	// nested is set while comparing values below which other locks compare again.
	nested   bool
	pairs    map[pair]bool       // whether two containers are equal
	hashes   map[hashed]uint64   // of containers, under seed
	differ   map[compared]*Found // how two containers differ
	absences normalize.Absences
	seed     maphash.Seed
	seeded   bool
	held     []any // decoded values

	// reread is how many bytes of encoded lists may still be read once more. Without a limit, lists in lists would be read
	// once for each level above them.
	reread int
	pair   jsonscan.Pair // of the two texts
	spares []*textItems  // kept for the next check

	// work counts what was compared or hashed, for tests of growth. They set looksAt, which says how much a comparison by
	// jsonvalue looks at.
	work    int
	looksAt func(a, b any) int
}

// hold keeps a value in memory until the check ends, and returns it. Values are remembered by their addresses, so one that
// is decoded during the check must not make room for another.
func (m *Memo) hold(v any) any {
	if _, container := identityOf(v); container {
		m.held = append(m.held, v)
	}
	return v
}

// used reports whether there is anything to forget.
func (m *Memo) used() bool {
	return m.held != nil || m.pairs != nil || m.hashes != nil || m.differ != nil || m.seeded || m.absences.Visited() > 0
}

type pair struct {
	equality *Equality
	a, b     identity
}

type hashed struct {
	equality *Equality
	v        identity
}

// pairOf returns the key of two containers; ok is false if one of them is none.
func pairOf(e *Equality, a, b any) (p pair, ok bool) {
	p.equality = e
	if p.a, ok = identityOf(a); !ok {
		return p, false
	}
	p.b, ok = identityOf(b)
	return p, ok
}

// known returns whether a and b are equal under e, if that is remembered.
func (m *Memo) known(e *Equality, a, b any) (equal, ok bool) {
	if len(m.pairs) == 0 {
		return false, false
	}
	if p, container := pairOf(e, a, b); container {
		equal, ok = m.pairs[p]
	}
	return equal, ok
}

// remember keeps whether a and b are equal under e, and returns it.
func (m *Memo) remember(e *Equality, a, b any, equal bool) bool {
	if p, ok := pairOf(e, a, b); ok && m.nested {
		if m.pairs == nil {
			m.pairs = map[pair]bool{}
		}
		m.pairs[p] = equal
	}
	return equal
}

// Absent reports whether a property with this value counts as absent.
func (m *Memo) Absent(p normalize.Property, value any) bool { return m.absences.Absent(p, value) }

// seedOnce returns the seed of the hashes that m remembers.
func (m *Memo) seedOnce() maphash.Seed {
	if !m.seeded {
		m.seed, m.seeded = maphash.MakeSeed(), true
	}
	return m.seed
}

// compared identifies two containers whose differences were looked for.
type compared struct {
	pair
	redaction *Redaction
}

// textItems are items of a list by key as text: all of the new list, or those of the old list that are not the same bytes
// as the new item at their index.
type textItems struct {
	keys  listtype.Keys
	names []string // of the keys

	text      []byte
	items     []textItem
	fields    []int   // of the keys of all items, one after the other, as jsonscan notes them
	differing []int   // indices of the new items that are not the same bytes as the old item there
	slots     []int32 // open addressing by hash: index + 1, or 0
}

type textItem struct {
	jsonscan.Span
	hash uint64 // of the key, if there are slots
}
