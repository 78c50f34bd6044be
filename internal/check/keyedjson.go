package check

import (
	"bytes"
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/listtype"
)

// checkJSON is check of two lists that p has next. Only items that differ are looked into, as text where their node can:
//
//	new: [{"k":1,"x":1}, {"k":2,"x":1}, {"k":4,"x":1}]
//	old: [{"k":1,"x":1}, {"k":2,"x":2}, {"k":3,"x":1}]
//
// The first pass finds that the items at 1 and 2 differ. If none did, nothing would be broken. The keys of the new list are
// read, because items are correlated only if each key occurs once, and those of the old items at 1 and 2: the old item
// at 0 has the key of the new one. Key 2 is found at 1, and the node of the items compares {"k":2,"x":1} with
// {"k":2,"x":2}. Key 3 is not found, so it was removed, and key 4 was added. Lists with repeated keys, or with items that
// are not objects, are decoded.
//
// ok is false if the lists have to be decoded. Then p has read them all the same.
func (n *KeyedItems) checkJSON(m *Memo, p *jsonscan.Pair) (f *Found, ok bool) {
	start := p.Here()
	d := differingItems(p)
	if p.Failed() || len(d.newItems) == 0 && len(d.oldItems) == 0 {
		return nil, true
	}
	newText, oldText := p.Texts(start, p.Here())
	// Lists in lists are read again at each level, within limits.
	if m.reread -= len(newText) + len(oldText); m.reread < 0 {
		return nil, false
	}
	seed := m.seedOnce()
	news := &textItems{text: newText, keys: n.Keys}
	t := jsonscan.NewText(newText)
	for at := range t.Items() {
		if !news.read(t, at) {
			return nil, false
		}
	}
	olds := &textItems{text: oldText, keys: n.Keys}
	t = jsonscan.NewText(oldText)
	for _, item := range d.oldItems {
		t.Seek(item.at - start.Old)
		if !olds.read(t, item.at-start.Old) {
			return nil, false
		}
	}
	if !news.index(seed) || !olds.index(seed) {
		return nil, false
	}
	return n.byKeyJSON(m, news, olds, d.newItems)
}

// byKeyJSON is byKey of items as text. olds has the old items that are not the same bytes as the new item at their
// index, free the indices of the new ones. ok is false if a key of the old list turns out to be repeated.
func (n *KeyedItems) byKeyJSON(m *Memo, news, olds *textItems, free []int) (f *Found, ok bool) {
	match := make([]int, len(news.items)) // the index in olds, or one of these
	const none, sameBytes = -1, -2
	for i := range match {
		match[i] = sameBytes
	}
	for _, i := range free {
		match[i] = none
	}
	var removed []int
	for j := range olds.items {
		i := news.find(olds, j)
		switch {
		case i < 0:
			removed = append(removed, j)
		case match[i] == none:
			match[i] = j
		default:
			return nil, false
		}
	}
	for _, i := range free {
		item := news.text[news.items[i].at:news.items[i].end]
		if j := match[i]; j >= 0 {
			f = f.add(n.checkItem(m, item, olds.text[olds.items[j].at:olds.items[j].end]), index(i))
			continue
		}
		for l := range n.Locks {
			if n.Locks[l].RefuseAdd {
				f = f.add(n.Locks[l].added(jsonscan.Value(item, 0)), index(i))
			}
		}
	}
	if refuseRemoval(n.Locks) {
		for _, j := range removed {
			key := n.key(jsonscan.Value(olds.text, olds.items[j].at))
			for l := range n.Locks {
				f = f.and(n.Locks[l].removed(key))
			}
		}
	}
	return f, true
}

// checkItem compares two items with the same key.
func (n *KeyedItems) checkItem(m *Memo, newText, oldText []byte) *Found {
	if n.Item == nil || bytes.Equal(newText, oldText) {
		return nil
	}
	return n.Item.CheckJSON(m, jsonscan.NewPair(newText, oldText))
}

// differing is the items of two lists that are not the same bytes as the item at the same index of the other list: the
// indices of the new ones, and where the old ones are.
type differing struct {
	newItems []int
	oldItems []textItem
}

// fewDiffering is how many items may differ before the texts are read apart: after an insertion all items do.
const fewDiffering = 16

// differingItems reads two lists.
func differingItems(p *jsonscan.Pair) (d differing) {
	for it := p.Items(); it.Next(); {
		from := p.Here()
		switch {
		case it.In == jsonscan.New:
			p.SkipOne(jsonscan.New)
			d.newItems = append(d.newItems, it.Index)
			continue
		case it.In == jsonscan.Old:
			p.SkipOne(jsonscan.Old)
			d.oldItems = append(d.oldItems, textItem{at: from.Old})
			continue
		case len(d.oldItems) < fewDiffering:
			if p.Skip() {
				continue
			}
		default:
			p.SkipOne(jsonscan.New)
			p.SkipOne(jsonscan.Old)
			if p.Failed() {
				return d
			}
			if newText, oldText := p.Texts(from, p.Here()); bytes.Equal(newText, oldText) {
				continue
			}
		}
		d.newItems = append(d.newItems, it.Index)
		d.oldItems = append(d.oldItems, textItem{at: from.Old})
	}
	return d
}

// textItems are the items of a list as text, each with its key.
type textItems struct {
	text   []byte
	keys   listtype.Keys
	items  []textItem
	fields []textField // of all items, len(keys) of them for each
	slots  []int32     // open addressing by hash: index + 1, or 0
}

type textItem struct {
	at, end int
	hash    uint64 // of the key
}

// textField is a key field of an item: an absent one has at -1.
type textField struct{ at, end int }

// read reads the item that t has next, at an offset. ok is false if it is not an object.
func (l *textItems) read(t *jsonscan.Text, at int) (ok bool) {
	if t.Kind() != '{' {
		return false
	}
	first := len(l.fields)
	for range l.keys {
		l.fields = append(l.fields, textField{at: -1})
	}
	for member := range t.Members() {
		for k := range l.keys {
			if l.keys[k].Name == string(member.Name) { // of several members with one name the last counts
				t.Skip()
				l.fields[first+k] = textField{member.Value, t.Offset()}
			}
		}
	}
	l.items = append(l.items, textItem{at: at, end: t.Offset()})
	return true
}

// index makes the table that find uses. ok is false if two items have the same key.
func (l *textItems) index(seed maphash.Seed) (ok bool) {
	size := 4
	for size < 2*len(l.items) {
		size *= 2
	}
	l.slots = make([]int32, size)
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

// find returns the index of the item of l with the key of item i of other, or -1.
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

// field returns the text of key field k of item i, nil where it is absent.
func (l *textItems) field(i, k int) []byte {
	f := l.fields[i*len(l.keys)+k]
	if f.at < 0 {
		return nil
	}
	return l.text[f.at:f.end]
}

// value returns key field k of item i, or its default.
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
