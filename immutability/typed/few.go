package typed

import (
	"encoding/binary"
	"unsafe"
)

// column is a string in each item of a list.
type column struct {
	*header         // of the list
	size    uintptr // of an item
	offset  uintptr // of the string in it
}

func (c *column) at(i int) string {
	return *(*string)(unsafe.Add(c.data, uintptr(i)*c.size+c.offset))
}

// few is up to how many items are compared with each other, which takes less time than hashing them.
const few = 8

// match finds for each of a few new strings the index of one of the few old ones that is equal, each old one once, or -1.
// Of keys each occurs once, and different ones are written in different ways; ok is false where that is not sure.
func match(newTexts, oldTexts column, keys bool) (at [few]int8, ok bool) {
	var endings [few]uint64
	var letters, taken uint64
	for j := range oldTexts.len {
		ending, all := endingOf(oldTexts.at(j))
		letters |= all
		if keys {
			for i := range j {
				if endings[i] == ending && oldTexts.at(i) == oldTexts.at(j) {
					return at, false
				}
			}
		}
		endings[j] = ending
	}
	for i := range newTexts.len {
		text := newTexts.at(i)
		ending, all := endingOf(text)
		letters |= all
		at[i] = -1
		for j := range oldTexts.len {
			if endings[j] != ending || oldTexts.at(j) != text {
				continue
			}
			if taken>>j&1 == 0 {
				at[i] = int8(j)
				taken |= 1 << j
				break
			}
			if keys {
				return at, false
			}
		}
	}
	return at, !keys || letters&highs == 0
}

// highs is set in the bytes of letters that are not ASCII. Two texts with such letters may be written alike.
const highs = 0x8080808080808080

// endingOf returns the last eight letters of a text as a number, and all letters put together, of which highs tells
// whether they are ASCII.
func endingOf(s string) (ending, letters uint64) {
	p := unsafe.Pointer(unsafe.StringData(s))
	switch n := len(s); {
	case n > 16:
	case n >= 8:
		ending = binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(p, n-8))[:])
		return ending, ending | *(*uint64)(p)
	case n >= 4:
		ending = fewLetters(s)
		return ending, ending
	}
	for i := range len(s) {
		ending = ending<<8 | uint64(s[i])
		letters |= ending
	}
	return ending, letters
}

// fewLetters returns all letters of a text of four to seven as a number. It is small enough to stand where it is called.
func fewLetters(s string) uint64 {
	p := unsafe.Pointer(unsafe.StringData(s))
	return uint64(binary.BigEndian.Uint32((*[4]byte)(p)[:]))<<32 | uint64(binary.BigEndian.Uint32((*[4]byte)(unsafe.Add(p, len(s)-4))[:]))
}
