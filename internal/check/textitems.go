package check

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

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

// read reads the two lists that p has next: all new items, and into olds the old ones that differ. ok is false if an item
// is not an object.
func (l *textItems) read(p *jsonscan.Pair, olds *textItems) (ok bool) {
	ok = true
	for it := p.Items(); it.Next(); {
		same := false
		switch it.In {
		case jsonscan.Both:
			at, sameBytes, isObject := p.Object(l.names, l.grow())
			same, ok = sameBytes, ok && isObject
			l.items = append(l.items, textItem{Span: at})
		case jsonscan.New:
			at, isObject := p.ObjectOne(jsonscan.New, l.names, l.grow())
			ok = ok && isObject
			l.items = append(l.items, textItem{Span: at})
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
			olds.items = append(olds.items, textItem{Span: at})
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

// rising reports whether each key is longer than the one before or, of the same length, follows it in the order of bytes.
// Then each occurs once. Names that are counted up, such as node-9 and node-10, are so.
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

// index makes the table that find uses. ok is false if two items have the same key.
func (l *textItems) index(seed maphash.Seed) (ok bool) {
	size := 4
	for size < 2*len(l.items) {
		size *= 2
	}
	l.slots = slices.Grow(l.slots[:0], size)[:size]
	clear(l.slots)
	for i := range l.items {
		item := &l.items[i]
		item.hash = l.hash(i, seed)
		at := int(item.hash) & (size - 1)
		for ; l.slots[at] != 0; at = (at + 1) & (size - 1) {
			if j := int(l.slots[at] - 1); l.items[j].hash == item.hash && l.same(j, l, i) {
				return false
			}
		}
		l.slots[at] = int32(i + 1)
	}
	return true
}

// find returns the index of the item of l with the key of item i of other, or -1. Both have an index.
func (l *textItems) find(other *textItems, i int) int {
	hash := other.items[i].hash
	for at := int(hash) & (len(l.slots) - 1); l.slots[at] != 0; at = (at + 1) & (len(l.slots) - 1) {
		if j := int(l.slots[at] - 1); l.items[j].hash == hash && l.same(j, other, i) {
			return j
		}
	}
	return -1
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

// isPlainString reports whether text is a string that means itself: without escapes, and ASCII, so that it is valid UTF-8.
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
