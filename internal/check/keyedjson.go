package check

import (
	"bytes"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// checkJSON is check of two lists that p has next. Only items that differ are looked into, as text where their node can:
//
//	new: [{"k":1,"x":1}, {"k":2,"x":1}, {"k":4,"x":1}]
//	old: [{"k":1,"x":1}, {"k":2,"x":2}, {"k":3,"x":1}]
//
// One pass finds that the items at 1 and 2 differ, and where the keys of the new items are, and of those old ones. If no
// item differed, nothing would be broken. The keys of the new list must differ, because items are correlated only if each
// key occurs once; the old item at 0 has the key of the new one. Key 2 is found at 1, and the node of the items compares
// {"k":2,"x":1} with {"k":2,"x":2}. Key 3 is not found, so it was removed, and key 4 was added. Lists with repeated keys,
// or with items that are not objects, are decoded.
//
// ok is false if the lists have to be decoded. Then p has read them all the same.
func (n *KeyedItems) checkJSON(m *Memo, p *jsonscan.Pair) (f *Found, ok bool) {
	news, olds := m.textItems(n), m.textItems(n)
	defer m.spare(olds, news) // the last one is taken first
	start := p.Here()
	ok = news.read(p, olds)
	if p.Failed() || len(news.differing) == 0 && len(olds.items) == 0 {
		return nil, true
	}
	newText, oldText := p.Texts(start, p.Here())
	// Lists in lists are read again at each level, within limits.
	if m.reread -= len(newText) + len(oldText); !ok || m.reread < 0 {
		return nil, false
	}
	if news.inPlace(olds) {
		if !news.rising() && !news.index(m.seedOnce()) {
			return nil, false
		}
		for j, i := range news.differing {
			f = f.add(n.checkItem(m, news.item(i), olds.item(j)), index(i))
		}
		return f, true
	}
	if !news.index(m.seedOnce()) || !olds.index(m.seedOnce()) {
		return nil, false
	}
	return n.byKeyJSON(m, news, olds)
}

// byKeyJSON is byKey of items as text. ok is false if a key of the old list turns out to be repeated.
func (n *KeyedItems) byKeyJSON(m *Memo, news, olds *textItems) (f *Found, ok bool) {
	match := make([]int, len(news.items)) // the index in olds, or one of these
	const none, sameBytes = -1, -2
	for i := range match {
		match[i] = sameBytes
	}
	for _, i := range news.differing {
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
	for _, i := range news.differing {
		if j := match[i]; j >= 0 {
			f = f.add(n.checkItem(m, news.item(i), olds.item(j)), index(i))
			continue
		}
		for l := range n.Locks {
			if n.Locks[l].RefuseAdd {
				f = f.add(n.Locks[l].added(jsonscan.Value(news.item(i), 0)), index(i))
			}
		}
	}
	if refuseRemoval(n.Locks) {
		for _, j := range removed {
			key := n.key(jsonscan.Value(olds.item(j), 0))
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
