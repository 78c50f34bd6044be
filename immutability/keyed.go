package immutability

import (
	"slices"

	"github.com/fieldlock/fieldlock/listtype"
)

// keyed checks a list-type map: its items are correlated by key.
type keyed struct {
	keys    listtype.Keys
	item    node      // of items on both sides; nil: nothing locked in them
	shape   shape     // of an item
	locks   []keyLock // of the keys
	pointer *trail    // of the list

	// wholeItems is set where item freezes whole items: then comparing them at their places is all that an unchanged
	// list costs. Elsewhere the keys are compared at their places first, which reads less.
	wholeItems bool
}

var _ list = (*keyed)(nil)

func (n *keyed) checkList(new, old []any) *found {
	switch {
	case n.wholeItems:
		if len(new) == len(old) && equalInOrder(n.shape, new, old) {
			return nil
		}
	case n.keys.Aligned(new, old):
		return n.inPlace(new, old)
	}
	if !allObjects(new) || !allObjects(old) {
		if len(new) == len(old) && equalInOrder(n.shape, new, old) {
			return nil
		}
		return n.incomparable("an item that is no object has no key", side{})
	}
	return n.byKey(new, old)
}

// inPlace checks two lists that hold the same keys in the same places, each once. Its result stands: to look once more
// by key would cost the double at each level of lists within lists.
func (n *keyed) inPlace(new, old []any) *found {
	if n.item == nil {
		return nil
	}
	var f *found
	for i := range new {
		f = f.add(n.item.check(side{new[i], true}, side{old[i], true}), step{at: atItems, index: i})
	}
	return f
}

// byKey correlates the items of two lists of objects.
func (n *keyed) byKey(new, old []any) *found {
	at, ok := listtype.Match(new, old, &n.keys)
	if !ok {
		return n.byRepeatedKey(new, old)
	}
	var f *found
	gone := len(old)
	for i, item := range new {
		if at[i] < 0 {
			for l := range n.locks {
				f = f.add(n.locks[l].added(item), step{at: atItems, index: i})
			}
			continue
		}
		gone--
		if n.item != nil {
			f = f.add(n.item.check(side{item, true}, side{old[at[i]], true}), step{at: atItems, index: i})
		}
	}
	if gone > 0 && n.refusesRemoval() {
		f = f.and(n.removed(listtype.NewIndex(new, &n.keys), listtype.NewIndex(old, &n.keys), old))
	}
	return f
}

// byRepeatedKey is byKey where a key may stand more than once.
func (n *keyed) byRepeatedKey(new, old []any) *found {
	var f *found
	news, olds := listtype.NewIndex(new, &n.keys), listtype.NewIndex(old, &n.keys)
	var repeated side // the first key that stands more than once and cannot be compared
	for i, item := range new {
		first := olds.First(item)
		if first < 0 {
			for l := range n.locks {
				f = f.add(n.locks[l].added(item), step{at: atItems, index: i})
			}
			continue
		}
		if news.First(item) != i {
			continue // a repeated key, met at its first position
		}
		if news.Next(i) >= 0 || olds.Next(first) >= 0 {
			if !repeated.ok && !n.equalOneByOne(news, i, olds, first, new, old) {
				repeated = side{n.key(item), true}
			}
			continue
		}
		if n.item != nil {
			f = f.add(n.item.check(side{item, true}, side{old[first], true}), step{at: atItems, index: i})
		}
	}
	if repeated.ok {
		f = f.and(n.incomparable("items that share a key differ", repeated))
	}
	if n.refusesRemoval() {
		f = f.and(n.removed(news, olds, old))
	}
	return f
}

func (n *keyed) refusesRemoval() bool {
	return slices.ContainsFunc(n.locks, func(l keyLock) bool { return l.refuseRemove })
}

// removed reports the keys of old that new does not have.
func (n *keyed) removed(news, olds *listtype.Index, old []any) *found {
	var f *found
	for i, item := range old {
		if olds.First(item) == i && news.First(item) < 0 {
			for l := range n.locks {
				f = f.and(n.locks[l].removed(n.key(item)))
			}
		}
	}
	return f
}

// equalOneByOne reports whether the items of one key, from i in new and j in old on, are equal in order.
func (n *keyed) equalOneByOne(news *listtype.Index, i int, olds *listtype.Index, j int, new, old []any) bool {
	for i >= 0 && j >= 0 {
		if !same(n.shape, new[i], old[j]) {
			return false
		}
		i, j = news.Next(i), olds.Next(j)
	}
	return i == j
}

// key is the key of an item, as reports show it.
func (n *keyed) key(item any) any { return n.keys.Tuple(item.(map[string]any)) }

func (n *keyed) incomparable(why string, key side) *found {
	return breaks(breach{lock: Incomparable, pointer: n.pointer, note: why, key: key})
}

func equalInOrder(s shape, a, b []any) bool {
	return slices.EqualFunc(a, b, func(x, y any) bool { return same(s, x, y) })
}
