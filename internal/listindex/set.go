package listindex

import (
	"hash/maphash"
	"iter"
	"slices"
)

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
	a, b = a[i:], b[i:]
	if len(a) == 0 {
		return true
	}
	for range lacking(b, newCounter(a, eq)) {
		return false
	}
	return true
}

// Changed returns the indices in newList of the items that oldList lacks, and those in oldList of the items that newList
// lacks, both counted with multiplicity: of equal items the later ones are added or removed. The results are nil for no
// items. It hashes each list once, and allocates nothing while the order agrees.
func Changed(newList, oldList []any, eq Equality) (added, removed []int) {
	i := 0
	for i < len(newList) && i < len(oldList) && eq.Equal(newList[i], oldList[i]) {
		i++
	}
	newList, oldList = newList[i:], oldList[i:]
	if len(newList)+len(oldList) == 0 {
		return nil, nil
	}
	olds := newCounter(oldList, eq)
	for j := range lacking(newList, olds) {
		added = append(added, i+j)
	}
	if left := len(oldList) - (len(newList) - len(added)); left > 0 {
		removed = olds.rest(left)
		for j := range removed {
			removed[j] += i
		}
	}
	return added, removed
}

// lacking takes the items of newList from the old ones. It yields the indices of those that are not there, counted with
// multiplicity.
func lacking(newList []any, olds counter) iter.Seq[int] {
	return func(yield func(int) bool) {
		var found [block]int32
		for from := 0; from < len(newList); from += block {
			items := newList[from:min(from+block, len(newList))]
			olds.find(items, &found)
			for i := range items {
				if found[i] >= 0 {
					if _, left := olds.take(found[i]); left > 0 {
						continue
					}
				}
				if !yield(from + i) {
					return
				}
			}
		}
	}
}

// counter says how many of the items of a list are left.
type counter interface {
	// find finds the items of the list that are equal to each of items, at most block of them: a number to take one of them
	// by, or -1 for none.
	find(items []any, found *[block]int32)
	// take takes one of the items with a number. It returns the position of the first of them in the list, and how many
	// were left before.
	take(number int32) (first int, left int32)
	// rest returns the positions of the items that were not taken, n of them, in order. Of equal items the first ones count as
	// taken.
	rest(n int) []int
}

// newCounter returns a counter for list. Cost: as NewIndex.
func newCounter(list []any, eq Equality) counter {
	if t := newTexts(list, textsOf(eq)); t != nil {
		return t
	}
	return NewIndex(list, eq)
}

// textOf reads the string that an item is compared by.
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

// texts counts items that are compared by a string, as most are: those of sets of strings, and of lists with one key. It
// finds them without looking at the items again.
type texts struct {
	textOf
	texts []string
	seed  maphash.Seed
	slots []uint64 // open addressing by hash: half of it, and in the lower half a position + 1; 0 for none
	left  []int32  // by position: how many are left, for the first of equal texts
}

// newTexts returns nil if an item has no string to compare it by.
func newTexts(list []any, of textOf) *texts {
	if of.none || len(list) == 0 {
		return nil
	}
	if _, ok := of.of(list[0]); !ok {
		return nil
	}
	t := &texts{
		textOf: of,
		texts:  make([]string, len(list)),
		seed:   maphash.MakeSeed(),
		slots:  make([]uint64, slotsFor(list, 4)),
		left:   make([]int32, len(list)),
	}
	for i, item := range list {
		text, ok := of.of(item)
		if !ok {
			return nil
		}
		t.texts[i] = text
		hash := maphash.String(t.seed, text)
		slot, first := t.slot(hash, text)
		if first < 0 {
			t.slots[slot] = hash&^position | uint64(i+1)
			first = int32(i)
		}
		t.left[first]++
	}
	return t
}

// position is the lower half of a slot.
const position = 1<<32 - 1

// slot returns the first position of text, -1 for none, and its slot or the free one where it belongs.
func (t *texts) slot(hash uint64, text string) (slot int, first int32) {
	mask := len(t.slots) - 1
	for slot = int(hash) & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if s := t.slots[slot]; (s^hash)&^position == 0 && t.texts[s&position-1] == text {
			return slot, int32(s&position) - 1
		}
	}
	return slot, -1
}

// find implements counter. An item without a string is equal to none.
func (t *texts) find(items []any, found *[block]int32) {
	var texts [block]string
	var hashes [block]uint64
	for i, item := range items {
		text, ok := t.of(item)
		if found[i] = 0; !ok {
			found[i] = -1
		}
		texts[i], hashes[i] = text, maphash.String(t.seed, text)
	}
	var likely [block]uint64
	for i := range items {
		likely[i] = t.slots[int(hashes[i])&(len(t.slots)-1)]
	}
	for i := range items {
		if found[i] < 0 {
			continue
		}
		if s := likely[i]; s != 0 && (s^hashes[i])&^position == 0 && t.texts[s&position-1] == texts[i] {
			found[i] = int32(s&position) - 1
			continue
		}
		_, found[i] = t.slot(hashes[i], texts[i])
	}
}

func (t *texts) take(number int32) (first int, left int32) {
	if left = t.left[number]; left > 0 {
		t.left[number]--
	}
	return int(number), left
}

func (t *texts) rest(n int) []int {
	untaken := map[string]int32{}
	for first, left := range t.left {
		if left > 0 {
			untaken[t.texts[first]] = left
		}
	}
	rest := make([]int, 0, n)
	for i := len(t.texts) - 1; len(rest) < n; i-- {
		if left := untaken[t.texts[i]]; left > 0 {
			untaken[t.texts[i]]--
			rest = append(rest, i)
		}
	}
	slices.Reverse(rest)
	return rest
}
