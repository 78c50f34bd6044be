package check

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/listindex"
	"github.com/fieldlock/fieldlock/internal/normalizer"
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
	absences normalizer.Absences
	seed     maphash.Seed
	seeded   bool
	held     []any // decoded values

	// reread is how many bytes of encoded lists may still be read once more. Without a limit, lists in lists would be
	// read once for each level above them.
	reread int
	pair   jsonscan.Pair // of the two texts
	spares []*textItems  // kept for the next check

	// work counts what was compared or hashed, for tests of growth. They set looksAt, which says how much a comparison
	// by jsonvalue looks at.
	work    int
	looksAt func(a, b any) int
}

// hold keeps a value in memory until the check ends, and returns it. Values are remembered by their addresses, so one
// that is decoded during the check must not make room for another.
func (m *Memo) hold(v any) any {
	if _, container := IdentityOf(v); container {
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
	a, b     Identity
}

type hashed struct {
	equality *Equality
	v        Identity
}

// compared identifies two containers whose differences were looked for.
type compared struct {
	pair
	redaction *Redaction
}

// pairOf returns the key of two containers; ok is false if one of the values is not a container.
func pairOf(e *Equality, a, b any) (p pair, ok bool) {
	p.equality = e
	if p.a, ok = IdentityOf(a); !ok {
		return p, false
	}
	p.b, ok = IdentityOf(b)
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
func (m *Memo) Absent(p normalizer.Property, value any) bool { return m.absences.Absent(p, value) }

// seedOnce returns the seed of the hashes that m remembers.
func (m *Memo) seedOnce() maphash.Seed {
	if !m.seeded {
		m.seed, m.seeded = maphash.MakeSeed(), true
	}
	return m.seed
}

// hashJSON is jsonvalue.Hash, counted.
func (m *Memo) hashJSON(v any) uint64 {
	if m.looksAt != nil {
		m.work += m.looksAt(v, v)
	}
	return jsonvalue.Hash(m.seedOnce(), v)
}

// Hash returns a hash that values share if they are equal under e. Hashes of one Memo can be compared with each other.
func (m *Memo) Hash(e *Equality, v any) uint64 {
	m.seedOnce()
	id, container := IdentityOf(v)
	if e == nil || !container {
		return m.hashJSON(v)
	}
	key := hashed{e, id}
	if hash, ok := m.hashes[key]; ok {
		return hash
	}
	m.work++
	var hash uint64
	switch v := v.(type) {
	case map[string]any:
		if e.Object == nil {
			return m.hashJSON(v)
		}
		hash = m.hashObject(e.Object, v)
	case []any:
		if e.List == nil {
			return m.hashJSON(v)
		}
		hash = m.hashList(e.List, v)
	}
	if e.unordered { // other values are hashed once, as items of one list
		if m.hashes == nil {
			m.hashes = map[hashed]uint64{}
		}
		m.hashes[key] = hash
	}
	return hash
}

func (m *Memo) hashObject(o *ObjectEquality, v map[string]any) uint64 {
	sum := maphash.String(m.seed, "{")
	for key, value := range v {
		if member := o.member(key); !m.Absent(member.Presence, value) {
			sum += jsonvalue.HashMember(m.seed, key, m.Hash(member.Equality, value))
		}
	}
	return jsonvalue.Mix(sum)
}

func (m *Memo) hashList(l *ListEquality, v []any) uint64 {
	switch l.Kind {
	case AsSet:
		sum := maphash.String(m.seed, "set")
		for _, item := range v {
			sum += jsonvalue.Mix(m.Hash(l.Items, item))
		}
		return jsonvalue.Mix(sum)
	case ByKey:
		sum := maphash.String(m.seed, "map")
		for _, item := range v {
			sum += jsonvalue.Mix(l.Keys.Hash(m.seed, item)*31 ^ m.Hash(l.Items, item))
		}
		return jsonvalue.Mix(sum)
	}
	h := maphash.String(m.seed, "list")
	for _, item := range v {
		h = jsonvalue.Mix(h ^ m.Hash(l.Items, item))
	}
	return h
}

// textItems are items of a list by key, as text: all items of the new list, or the items of the old list whose bytes
// differ from the new item at the same index.
type textItems struct {
	keys  listindex.Keys
	names []string // of the keys

	text      []byte
	items     []jsonscan.Span
	fields    []int // of the keys of all items, one after the other, as jsonscan notes them
	differing []int // indices of the new items that are not the same bytes as the old item there
}

// textItems returns empty items for a list of n.
func (m *Memo) textItems(n *KeyedItems) *textItems {
	var l *textItems
	if last := len(m.spares) - 1; last >= 0 {
		l, m.spares = m.spares[last], m.spares[:last]
	} else {
		l = &textItems{}
	}
	l.keys, l.names = n.Keys, n.Names
	return l
}

// maxSpare is for how many items memory is kept.
const maxSpare = 1 << 14

// spare keeps the memory of two lists for the next ones.
func (m *Memo) spare(lists ...*textItems) {
	for _, l := range lists {
		if cap(l.items) <= maxSpare {
			l.text, l.items, l.fields, l.differing = nil, l.items[:0], l.fields[:0], l.differing[:0]
			m.spares = append(m.spares, l)
		}
	}
}

// read reads the two lists that p has next: all new items, and into olds the old ones that differ. ok is false if an
// item is not an object.
func (l *textItems) read(p *jsonscan.Pair, olds *textItems) (ok bool) {
	ok = true
	for it := p.Items(); it.Next(); {
		same := false
		switch it.In {
		case jsonscan.Both:
			at, sameBytes, isObject := p.Object(l.names, l.grow())
			same, ok = sameBytes, ok && isObject
			l.items = append(l.items, at)
		case jsonscan.New:
			at, isObject := p.ObjectOne(jsonscan.New, l.names, l.grow())
			ok = ok && isObject
			l.items = append(l.items, at)
		}
		if same {
			continue
		}
		if it.In != jsonscan.Old {
			l.differing = append(l.differing, it.Index)
		}
		if it.In != jsonscan.New {
			at, isObject := p.ObjectOne(jsonscan.Old, olds.names, olds.grow())
			ok = ok && isObject
			olds.items = append(olds.items, at)
		}
	}
	if !p.Failed() {
		l.text, olds.text = p.Texts(jsonscan.Place{}, p.Here())
	}
	return ok
}

// grow makes room for the keys of one more item.
func (l *textItems) grow() []int {
	first := len(l.fields)
	l.fields = slices.Grow(l.fields, len(l.keys))[:first+len(l.keys)]
	clear(l.fields[first:])
	return l.fields[first:]
}

// item returns the text of item i.
func (l *textItems) item(i int) []byte { return l.text[l.items[i].From:l.items[i].To] }

// inPlace reports whether the new items that differ have the keys of those in olds, at the same indices.
func (l *textItems) inPlace(olds *textItems) bool {
	if len(l.differing) != len(olds.items) {
		return false
	}
	for j, i := range l.differing {
		if !l.same(i, olds, j) {
			return false
		}
	}
	return true
}

// rising reports whether each key is longer than the one before or, of the same length, follows it in the order of
// bytes. Then each occurs once. Names that are counted up, such as node-9 and node-10, are so.
func (l *textItems) rising() bool {
	var last []byte
	for i := range l.items {
		key := l.field(i, 0)
		if len(l.keys) != 1 || key == nil || !isPlainString(key) ||
			len(key) < len(last) || len(key) == len(last) && bytes.Compare(key, last) <= 0 {
			return false
		}
		last = key
	}
	return true
}

// unique reports whether no two items have the same key.
func (l *textItems) unique() bool {
	t := listindex.NewTable(len(l.items))
	defer t.Free()
	return l.put(t)
}

// put puts all items into a table. ok is false if two of them have the same key.
func (l *textItems) put(t *listindex.Table) (ok bool) {
	for i := range l.items {
		if t.Put(l.hash(i, t.Seed), i, func(j int) bool { return l.same(j, l, i) }) >= 0 {
			return false
		}
	}
	return true
}

// same reports whether item i of l and item j of other have the same key.
func (l *textItems) same(i int, other *textItems, j int) bool {
	for k := range l.keys {
		a, b := l.field(i, k), other.field(j, k)
		if a != nil && b != nil {
			if bytes.Equal(a, b) {
				continue
			}
			if isPlainString(a) && isPlainString(b) {
				return false
			}
		}
		va, aok := l.value(i, k)
		vb, bok := other.value(j, k)
		if aok != bok || aok && !jsonvalue.Equal(va, vb) {
			return false
		}
	}
	return true
}

// field returns the text of key k of item i, nil where it is absent.
func (l *textItems) field(i, k int) []byte {
	at := l.fields[i*len(l.keys)+k]
	if at == 0 {
		return nil
	}
	return jsonscan.MemberValue(l.text, at)
}

// value returns key k of item i, or its default.
func (l *textItems) value(i, k int) (value any, ok bool) {
	if text := l.field(i, k); text != nil {
		return jsonscan.Value(text, 0), true
	}
	return l.keys[k].Default, l.keys[k].HasDefault
}

// hash returns a hash of the key of item i that equal keys share.
func (l *textItems) hash(i int, seed maphash.Seed) uint64 {
	h := uint64(1)
	for k := range l.keys {
		if text := l.field(i, k); text != nil && isPlainString(text) {
			h ^= maphash.Bytes(seed, text[1:len(text)-1])
		} else if value, ok := l.value(i, k); ok {
			h ^= jsonvalue.Hash(seed, value)
		}
		h = jsonvalue.Mix(h)
	}
	return h
}

// isPlainString reports whether text is a string that means itself: without escapes, and ASCII, so that it is valid
// UTF-8.
func isPlainString(text []byte) bool {
	if text[0] != '"' {
		return false
	}
	for _, c := range text {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
