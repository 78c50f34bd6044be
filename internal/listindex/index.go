// Package listindex finds list items by value or by key and compares sets, as x-kubernetes-list-type asks. Package
// listtype is its public face.
//
// A [Table] finds positions by hash, whatever is there; an [Index] is a Table of the items of a decoded list. Values
// are JSON as k8s.io/apimachinery/pkg/util/json decodes it. Nothing is changed or kept.
package listindex

import (
	"hash/maphash"
	"slices"
	"sync"
)

// Table finds positions by the hashes of their items. The caller decides what an item is and which items are the same:
// its function same reports whether the item at a position equals the wanted item. A Table is for one goroutine.
type Table struct {
	Seed  maphash.Seed // of the hashes
	slots []uint64     // open addressing: half of a hash and, in the lower half, a position + 1; 0 for none
	next  []int32      // by position: the next one with the same item, last or taken
}

const (
	position = 1<<32 - 1 // the lower half of a slot

	last  = -1 // in next
	taken = -2
)

// tables keeps the memory of tables, so that using one allocates nothing in the long run.
var tables = sync.Pool{New: func() any { return &Table{Seed: maphash.MakeSeed()} }}

// keptSlots is the largest table that is kept.
const keptSlots = 1 << 16

// NewTable returns an empty table for positions below n, which is less than 2^31.
func NewTable(n int) *Table {
	t := tables.Get().(*Table)
	size := 8
	for size < 2*n {
		size *= 2
	}
	if cap(t.slots) < size {
		t.slots, t.next = make([]uint64, size), make([]int32, size/2)
	} else {
		t.slots = t.slots[:size]
		clear(t.slots)
	}
	t.next = t.next[:n]
	return t
}

// Free keeps the memory of t for other tables. Nobody uses t afterwards.
func (t *Table) Free() {
	if len(t.slots) <= keptSlots {
		tables.Put(t)
	}
}

// slot returns the slot of an item, or the free one where it belongs.
func (t *Table) slot(hash uint64, same func(i int) bool) (slot int, found bool) {
	mask := len(t.slots) - 1
	for slot = int(hash) & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if s := t.slots[slot]; (s^hash)&^position == 0 && same(int(s&position)-1) {
			return slot, true
		}
	}
	return slot, false
}

// Put adds position i, which comes before those that have the same item. It returns the first one of these, or -1.
func (t *Table) Put(hash uint64, i int, same func(i int) bool) (before int) {
	slot := int(hash) & (len(t.slots) - 1)
	if t.slots[slot] != 0 {
		slot, _ = t.slot(hash, same)
	}
	before = int(t.slots[slot]&position) - 1
	t.slots[slot], t.next[i] = hash&^position|uint64(i+1), int32(before)
	return before
}

// Find returns the first position of an item, or -1.
func (t *Table) Find(hash uint64, same func(i int) bool) int {
	slot, _ := t.slot(hash, same)
	return int(t.slots[slot]&position) - 1
}

// Take returns the first position of an item that was not taken yet, or -1. once is false if the item has other
// positions, or had some that were taken: then items cannot be matched one to one.
func (t *Table) Take(hash uint64, same func(i int) bool) (i int, once bool) {
	slot, found := t.slot(hash, same)
	if !found {
		return -1, true
	}
	return t.take(slot)
}

// take is Take of the item in a slot.
func (t *Table) take(slot int) (i int, once bool) {
	i = int(t.slots[slot]&position) - 1
	after := t.next[i]
	if after == taken {
		return -1, false
	}
	if after != last {
		t.slots[slot] = t.slots[slot]&^position | uint64(after+1)
	}
	t.next[i] = taken
	return i, after == last
}

// Index finds the positions of the items of a list that are equal to a given one.
type Index struct {
	table *Table
	list  []any
	eq    Equality
	texts []string // by position, if the items are compared by a string: then nobody looks at them again
	text  textOf   // reads these
}

// NewIndex indexes list, which may be nil, under eq. Cost: O(n) hashes and comparisons, also when all items are equal.
// Lists have fewer than 2^31 items.
func NewIndex(list []any, eq Equality) *Index {
	ix := &Index{table: NewTable(len(list)), list: list, eq: eq, text: textsOf(eq)}
	ix.texts = ix.text.all(list)
	for i := len(list) - 1; i >= 0; i-- {
		p := probe{item: list[i]}
		if ix.texts != nil {
			p.text = ix.texts[i]
		}
		ix.hash(&p)
		ix.table.Put(p.hash, i, func(j int) bool { return ix.is(j, &p) })
	}
	return ix
}

// Free is [Table.Free].
func (ix *Index) Free() { ix.table.Free() }

// probe is an item that is looked for.
type probe struct {
	item any
	text string
	hash uint64
	none bool // it has no text, and all items of the list have one
}

// probe makes p look for item.
func (ix *Index) probe(p *probe, item any) {
	p.item = item
	if ix.texts != nil {
		var ok bool
		p.text, ok = ix.text.of(item)
		p.none = !ok
	}
	ix.hash(p)
}

func (ix *Index) hash(p *probe) {
	if ix.texts != nil {
		p.hash = maphash.String(ix.table.Seed, p.text)
	} else {
		p.hash = ix.eq.Hash(ix.table.Seed, p.item)
	}
}

// is reports whether the item at position i equals the item that p looks for.
func (ix *Index) is(i int, p *probe) bool {
	if ix.texts != nil {
		return ix.texts[i] == p.text && !p.none
	}
	return ix.eq.Equal(ix.list[i], p.item)
}

// First returns the first position of an item equal to item, or -1.
func (ix *Index) First(item any) int {
	var p probe
	ix.probe(&p, item)
	return ix.table.Find(p.hash, func(i int) bool { return ix.is(i, &p) })
}

// Next returns the position after i of an item equal to the one at i, or -1.
func (ix *Index) Next(i int) int { return int(ix.table.next[i]) }

// Block is how many items are looked up at once. Their memory is then read at the same time, not one after the other:
// in long lists, waiting for it is most of the cost.
const Block = 32

// Take appends to at, for each of items, the first position of an equal item of the list that was not taken yet, or -1.
// once is false if one of items is in the list and does not match one to one: there are others that are equal to it, on
// either side. Callers that look at each match soon after give a [Block] of items at once.
func (ix *Index) Take(items []any, at []int) (_ []int, once bool) {
	t, texts := ix.table, ix.texts
	once = true
	var probes [Block]probe
	var likely [Block]uint64
	for len(items) > 0 {
		some := items[:min(Block, len(items))]
		items = items[len(some):]
		for i, item := range some {
			ix.probe(&probes[i], item)
		}
		for i := range some {
			likely[i] = t.slots[int(probes[i].hash)&(len(t.slots)-1)]
		}
		for i := range some {
			p, s := &probes[i], likely[i]
			slot, found := int(p.hash)&(len(t.slots)-1), s != 0
			if found && (texts == nil || (s^p.hash)&^position != 0 || texts[s&position-1] != p.text || p.none) {
				slot, found = t.slot(p.hash, func(j int) bool { return ix.is(j, p) })
			}
			j, single := -1, true
			if found {
				j, single = t.take(slot)
			}
			at, once = append(at, j), once && single
		}
	}
	return at, once
}

// Duplicates returns the indices of the items that occur more than once: a row for each group of equal items, in the
// order of their first indices. It returns nil if all items differ.
func (ix *Index) Duplicates() [][]int {
	var rows [][]int
	inRow := make([]bool, len(ix.list))
	for i := range ix.list {
		if inRow[i] || ix.Next(i) < 0 {
			continue
		}
		var row []int
		for j := i; j >= 0; j = ix.Next(j) {
			row, inRow[j] = append(row, j), true
		}
		rows = append(rows, row)
	}
	return rows
}

// Unique reports whether no two items of list are equal. Cost: O(n) hashes, and no allocation in the long run.
func Unique(list []any, eq Equality) bool {
	t := NewTable(len(list))
	defer t.Free()
	for i, item := range list {
		if t.Put(eq.Hash(t.Seed, item), i, func(j int) bool { return eq.Equal(list[j], item) }) >= 0 {
			return false
		}
	}
	return true
}

// Match finds for each item of newList the index of the item of oldList that is equal to it, or -1. It returns false if
// an item occurs in both lists, and in one of them more than once: then items cannot be matched one to one.
// Cost: O(n) hashes and comparisons.
func Match(newList, oldList []any, eq Equality) (at []int, ok bool) {
	olds := NewIndex(oldList, eq)
	defer olds.Free()
	if at, ok = olds.Take(newList, make([]int, 0, len(newList))); !ok {
		return nil, false
	}
	return at, true
}

// EqualSets reports whether a and b hold the same items the same number of times, in any order. Nil is an empty set.
// Cost: one comparison for each item and no allocation while the order agrees; from the first item that does not, O(n)
// hashes and comparisons.
func EqualSets(a, b []any, eq Equality) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && eq.Equal(a[i], b[i]) {
		i++
	}
	if i == len(a) {
		return true
	}
	index := NewIndex(a[i:], eq)
	defer index.Free()
	var at []int
	for ; i < len(b); i += Block {
		if at, _ = index.Take(b[i:min(i+Block, len(b))], at[:0]); slices.Contains(at, -1) {
			return false
		}
	}
	return true
}

// Changed returns the indices in newList of the items that oldList lacks, and those in oldList of the items that
// newList lacks, both counted with multiplicity: of equal items the later ones are added or removed. The results are
// nil for no items. The caller knows that the first items, as many as same, are equal in order. It hashes each of the
// others once.
func Changed(newList, oldList []any, same int, eq Equality) (added, removed []int) {
	olds := NewIndex(oldList[same:], eq)
	defer olds.Free()
	left := len(oldList) - same
	var at []int
	for from := same; from < len(newList); from += Block {
		at, _ = olds.Take(newList[from:min(from+Block, len(newList))], at[:0])
		for i, j := range at {
			if j < 0 {
				added = append(added, from+i)
			} else {
				left--
			}
		}
	}
	for j, next := range olds.table.next {
		if left > 0 && next != taken {
			removed = append(removed, same+j)
		}
	}
	return added, removed
}

// textOf reads the string that an item is compared by, as most are: those of sets of strings, and of lists with one
// key.
type textOf struct {
	none bool // items are compared in another way
	key  *Key // the string is this field of an object; nil: the item is the string
}

func textsOf(eq Equality) textOf {
	switch eq := eq.(type) {
	case JSON:
		return textOf{}
	case *Keys:
		if len(*eq) == 1 {
			return textOf{key: &(*eq)[0]}
		}
	}
	return textOf{none: true}
}

func (t textOf) of(item any) (text string, ok bool) {
	if t.key != nil {
		object, isObject := item.(map[string]any)
		if !isObject {
			return "", false
		}
		if item, ok = t.key.Of(object); !ok {
			return "", false
		}
	}
	text, ok = item.(string)
	return text, ok
}

// all returns the strings of all items, nil if one has none.
func (t textOf) all(list []any) []string {
	if t.none || len(list) == 0 {
		return nil
	}
	if _, ok := t.of(list[0]); !ok {
		return nil
	}
	texts := make([]string, len(list))
	for i, item := range list {
		var ok bool
		if texts[i], ok = t.of(item); !ok {
			return nil
		}
	}
	return texts
}
