package check

import (
	"bytes"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/listindex"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// List is the check of the items of a list. A list that is absent or null is empty.
type List interface {
	check(m *Memo, newList, oldList []any) *Found
}

// Items checks an atomic or untyped list: by index, for the indices that both sides have.
type Items struct{ Node Node }

var _ List = (*Items)(nil)

func (n *Items) check(m *Memo, newList, oldList []any) *Found {
	var f *Found
	for i := range min(len(newList), len(oldList)) {
		f = f.add(n.Node.Check(m, present(newList[i]), present(oldList[i])), index(i))
	}
	return f
}

// checkJSON is check of two lists that p has next.
func (n *Items) checkJSON(m *Memo, p *jsonscan.Pair) *Found {
	var f *Found
	for it := p.Items(); it.Next(); {
		if it.In != jsonscan.Both {
			p.SkipOne(it.In)
			continue
		}
		f = f.add(n.Node.CheckJSON(m, p), index(it.Index))
	}
	return f
}

// SetItems checks the items of a list-type set, which are its keys, counted with multiplicity.
type SetItems struct {
	Equality *Equality // of an item
	Locks    []KeyLock
}

var _ List = (*SetItems)(nil)

func (n *SetItems) check(m *Memo, newList, oldList []any) *Found {
	var f *Found
	added, removed := m.changed(n.Equality, newList, oldList)
	for i := range n.Locks {
		l := &n.Locks[i]
		if l.RefuseAdd {
			for _, at := range added {
				f = f.add(l.added(newList[at]), index(at))
			}
		}
		if l.RefuseRemove {
			for _, at := range removed {
				f = f.and(l.removed(oldList[at]))
			}
		}
	}
	return f
}

// KeyedItems checks a list-type map: its items are correlated by key.
type KeyedItems struct {
	Keys     listindex.Keys
	Names    []string     // of the keys, nil where texts have to be decoded
	Item     Node         // of items on both sides; nil if nothing in them is locked
	Equality *Equality    // of an item
	Locks    []KeyLock    // of the keys
	LockPath *schema.Path // of the list

	// WholeItems is set if Item freezes whole items: then an unchanged list costs only comparing them in order.
	// Elsewhere the keys are compared in order first, which reads less.
	WholeItems bool

	// Flat is set if no list by key is below Item. Then an item can be checked when it is matched, while it is in the
	// cache, and once more if a key turns out to be repeated. Elsewhere that would double the cost at each level.
	Flat bool

	// Members are the properties that Item checks, if it is flat and checks a few of them and nothing else.
	Members []Property
}

var _ List = (*KeyedItems)(nil)

func (n *KeyedItems) check(m *Memo, newList, oldList []any) *Found {
	switch {
	case n.WholeItems:
		if n.equalInOrder(m, newList, oldList) {
			return nil
		}
	case n.Keys.Aligned(newList, oldList):
		return n.inPlace(m, newList, oldList)
	}
	if !allObjects(newList) || !allObjects(oldList) {
		if n.equalInOrder(m, newList, oldList) {
			return nil
		}
		return n.incomparable("an item that is not an object has no key", Value{})
	}
	return n.byKey(m, newList, oldList)
}

func (n *KeyedItems) equalInOrder(m *Memo, newList, oldList []any) bool {
	if len(newList) != len(oldList) {
		return false
	}
	for i := range newList {
		if !m.Same(n.Equality, newList[i], oldList[i]) {
			return false
		}
	}
	return true
}

// inPlace checks two lists that hold the same keys at the same indices, each once. Its result is final: looking once
// more by key would double the cost at each level of lists within lists.
func (n *KeyedItems) inPlace(m *Memo, newList, oldList []any) *Found {
	if n.Item == nil {
		return nil
	}
	var f *Found
	for i := range newList {
		f = f.add(n.Item.Check(m, present(newList[i]), present(oldList[i])), index(i))
	}
	return f
}

// byKey correlates the items of two lists of objects.
func (n *KeyedItems) byKey(m *Memo, newList, oldList []any) *Found {
	olds := listindex.NewIndex(oldList, &n.Keys)
	defer olds.Free()
	step := max(len(newList), 1)
	if n.Flat {
		step = listindex.Block
	}
	var members oldMembers
	if n.Members != nil {
		members = readMembers(n.Members, oldList)
	}
	var f *Found
	var matches []int
	gone := len(oldList)
	for from := 0; from < len(newList); from += step {
		items := newList[from:min(from+step, len(newList))]
		var ok bool
		if matches, ok = olds.Take(items, matches[:0]); !ok {
			return n.byRepeatedKey(m, newList, oldList)
		}
		for i, at := range matches {
			if at >= 0 {
				gone--
				switch {
				case n.Members != nil:
					f = f.add(members.check(m, items[i].(map[string]any), at), index(from+i))
				case n.Item != nil:
					f = f.add(n.Item.Check(m, present(items[i]), present(oldList[at])), index(from+i))
				}
				continue
			}
			for l := range n.Locks {
				f = f.add(n.Locks[l].added(items[i]), index(from+i))
			}
		}
	}
	if gone > 0 && refuseRemoval(n.Locks) {
		f = f.and(n.removed(listindex.NewIndex(newList, &n.Keys), listindex.NewIndex(oldList, &n.Keys), oldList))
	}
	return f
}

// byRepeatedKey is byKey where a key may occur more than once.
func (n *KeyedItems) byRepeatedKey(m *Memo, newList, oldList []any) *Found {
	var f *Found
	news, olds := listindex.NewIndex(newList, &n.Keys), listindex.NewIndex(oldList, &n.Keys)
	var repeated Value // the first key that occurs more than once and cannot be compared
	for i, item := range newList {
		first := olds.First(item)
		if first < 0 {
			for l := range n.Locks {
				f = f.add(n.Locks[l].added(item), index(i))
			}
			continue
		}
		if news.First(item) != i {
			continue // a repeated key, met at its first index
		}
		if news.Next(i) >= 0 || olds.Next(first) >= 0 {
			if !repeated.OK && !n.equalOneByOne(m, news, i, olds, first, newList, oldList) {
				repeated = present(n.key(item))
			}
			continue
		}
		if n.Item != nil {
			f = f.add(n.Item.Check(m, present(item), present(oldList[first])), index(i))
		}
	}
	if repeated.OK {
		f = f.and(n.incomparable("items that share a key differ", repeated))
	}
	if refuseRemoval(n.Locks) {
		f = f.and(n.removed(news, olds, oldList))
	}
	return f
}

// removed refuses the keys of oldList that newList lacks.
func (n *KeyedItems) removed(news, olds *listindex.Index, oldList []any) *Found {
	var f *Found
	for i, item := range oldList {
		if olds.First(item) == i && news.First(item) < 0 {
			for l := range n.Locks {
				f = f.and(n.Locks[l].removed(n.key(item)))
			}
		}
	}
	return f
}

// equalOneByOne reports whether the items of one key, from index i in newList and j in oldList on, are equal in order.
func (n *KeyedItems) equalOneByOne(m *Memo, news *listindex.Index, i int, olds *listindex.Index, j int, newList,
	oldList []any) bool {
	for i >= 0 && j >= 0 {
		if !m.Same(n.Equality, newList[i], oldList[j]) {
			return false
		}
		i, j = news.Next(i), olds.Next(j)
	}
	return i == j
}

// key is the key of an item, as reports show it.
func (n *KeyedItems) key(item any) any { return n.Keys.Tuple(item.(map[string]any)) }

func (n *KeyedItems) incomparable(why string, key Value) *Found {
	return refuse(Refusal{Lock: Incomparable, LockPath: n.LockPath, Note: why, Key: key})
}

// checkJSON is check of two lists that p has next. Only items that differ are looked into, as text where their node
// can:
//
//	new: [{"k":1,"x":1}, {"k":2,"x":1}, {"k":4,"x":1}]
//	old: [{"k":1,"x":1}, {"k":2,"x":2}, {"k":3,"x":1}]
//
// One pass finds that the items at 1 and 2 differ, and where the keys of the new items are, and of those old ones. If
// no item differed, nothing would be broken. The keys of the new list must differ, because items are correlated only if
// each key occurs once; the old item at 0 has the key of the new one. Key 2 is found at 1, and the node of the items
// compares {"k":2,"x":1} with {"k":2,"x":2}. Key 3 is not found, so it was removed, and key 4 was added. Lists with
// repeated keys, or with items that are not objects, are decoded.
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
		if !news.rising() && !news.unique() {
			return nil, false
		}
		for j, i := range news.differing {
			f = f.add(n.checkItem(m, news.item(i), olds.item(j)), index(i))
		}
		return f, true
	}
	return n.byKeyJSON(m, news, olds)
}

// byKeyJSON is byKey of items as text. ok is false if a key turns out to be repeated.
func (n *KeyedItems) byKeyJSON(m *Memo, news, olds *textItems) (f *Found, ok bool) {
	match := make([]int, len(news.items)) // the index in olds, or one of these
	const none, sameBytes = -1, -2
	for i := range match {
		match[i] = sameBytes
	}
	for _, i := range news.differing {
		match[i] = none
	}
	t := listindex.NewTable(len(news.items) + len(olds.items))
	defer t.Free()
	if !news.put(t) {
		return nil, false
	}
	var removed []int
	for j := range olds.items {
		i := t.Put(olds.hash(j, t.Seed), len(news.items)+j, func(i int) bool {
			if k := i - len(news.items); k >= 0 {
				return olds.same(k, olds, j)
			}
			return news.same(i, olds, j)
		})
		switch {
		case i < 0:
			removed = append(removed, j)
		case i < len(news.items) && match[i] == none:
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
