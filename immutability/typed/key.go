package typed

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/listindex"
)

// keyField reads one key field of the items of a list-type map.
type keyField struct {
	at      place
	pointer bool
	kind    keyKind
	size    uintptr // of a number
	signed  bool
	omitted bool // the zero value is left out

	fallback keyValue // of a field that is left out
}

type keyKind uint8

const (
	keyText keyKind = iota
	keyNumber
	keyBool
)

// keyValue is the value of a key field as it is written. The zero keyValue is a missing one.
type keyValue struct {
	state  keyState
	kind   keyKind
	text   string
	number int64 // also of a boolean
}

type keyState uint8

const (
	keyMissing keyState = iota
	keyNull
	keyGiven
	keyUnknown // a number beyond int64
)

func keyFieldOf(object reflect.Type, fields map[string]jsonField, key *listindex.Key, path string) (keyField, error) {
	f, ok := fields[key.Name]
	if !ok {
		return keyField{}, fmt.Errorf("%s: the Go type %s has no field for the list-map key %q", path, object, key.Name)
	}
	name := path + "." + fieldName(object, f)
	k := keyField{at: placeOf(object, f.index), omitted: f.omitEmpty || f.omitZero}
	t := f.typ
	if t.Kind() == reflect.Pointer {
		k.pointer, t = true, t.Elem()
	}
	switch kind := t.Kind(); {
	case writesItself(t) || f.quoted || f.asksItself():
		return k, fmt.Errorf("%s: a %s cannot be the list-map key %q: only texts, whole numbers and booleans can",
			name, f.typ, key.Name)
	case kind == reflect.String:
		k.kind = keyText
	case kind == reflect.Bool:
		k.kind, k.size = keyBool, 1
	case kind >= reflect.Int && kind <= reflect.Uint64:
		k.kind, k.size, k.signed = keyNumber, t.Size(), kind <= reflect.Int64
	default:
		return k, fmt.Errorf("%s: a %s cannot be the list-map key %q: only texts, whole numbers and booleans can",
			name, f.typ, key.Name)
	}
	if key.HasDefault {
		switch value := key.Default.(type) {
		case string:
			k.fallback = keyValue{state: keyGiven, kind: keyText, text: value}
		case int64:
			k.fallback = keyValue{state: keyGiven, kind: keyNumber, number: value}
		case bool:
			k.fallback = keyValue{state: keyGiven, kind: keyBool, number: map[bool]int64{true: 1}[value]}
		case float64: // what the JSON decoding of a spec.Schema makes of every number
			k.fallback = keyValue{state: keyUnknown}
			if n := int64(value); float64(n) == value && math.Abs(value) < 1<<53 {
				k.fallback = keyValue{state: keyGiven, kind: keyNumber, number: n}
			}
		default:
			k.fallback = keyValue{state: keyUnknown}
		}
	}
	return k, nil
}

// read returns the key field of the struct at p.
func (k *keyField) read(p unsafe.Pointer) keyValue {
	if p = k.at.of(p); p == nil {
		return k.fallback
	}
	if k.pointer {
		if p = *(*unsafe.Pointer)(p); p == nil {
			if k.omitted {
				return k.fallback
			}
			return keyValue{state: keyNull}
		}
	}
	v := keyValue{state: keyGiven, kind: k.kind}
	if k.kind == keyText {
		v.text = *(*string)(p)
	} else if v.number = k.readNumber(p); v.number < 0 && !k.signed {
		return keyValue{state: keyUnknown}
	}
	if k.omitted && !k.pointer && v.text == "" && v.number == 0 {
		return k.fallback
	}
	return v
}

func (k *keyField) readNumber(p unsafe.Pointer) int64 {
	switch {
	case k.size == 8:
		return *(*int64)(p)
	case k.size == 4 && k.signed:
		return int64(*(*int32)(p))
	case k.size == 4:
		return int64(*(*uint32)(p))
	case k.size == 2 && k.signed:
		return int64(*(*int16)(p))
	case k.size == 2:
		return int64(*(*uint16)(p))
	case k.signed:
		return int64(*(*int8)(p))
	}
	return int64(*(*uint8)(p))
}

func (k *keyField) same(a, b unsafe.Pointer) bool {
	if k.plain() {
		return *(*string)(unsafe.Add(a, k.at.offset)) == *(*string)(unsafe.Add(b, k.at.offset))
	}
	x, y := k.read(a), k.read(b)
	return x.state != keyUnknown && x == y
}

// plain reports whether the field is a string that is always written.
func (k *keyField) plain() bool {
	return k.kind == keyText && !k.pointer && !k.omitted && len(k.at.then) == 0
}

// hash returns a hash of the key field. ok is false where two different values may be written alike.
func (k *keyField) hash(seed maphash.Seed, p unsafe.Pointer) (hash uint64, ok bool) {
	v := keyValue{state: keyGiven}
	if k.plain() {
		v.text = *(*string)(unsafe.Add(p, k.at.offset))
	} else {
		v = k.read(p)
	}
	switch {
	case v.state == keyUnknown:
		return 0, false
	case v.state != keyGiven || v.kind != keyText:
		return uint64(v.number)<<2 | uint64(v.state), true
	}
	return maphash.String(seed, v.text), utf8.ValidString(v.text)
}

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

// match finds for each of a few new strings the index of one of the few old ones that is equal, each old one once, or
// -1. Of keys each occurs once, and different ones are written in different ways; ok is false where that is not sure.
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

// fewLetters returns all letters of a text of four to seven as a number. It is small enough to stand where it is
// called.
func fewLetters(s string) uint64 {
	p := unsafe.Pointer(unsafe.StringData(s))
	return uint64(binary.BigEndian.Uint32((*[4]byte)(p)[:]))<<32 | uint64(binary.BigEndian.Uint32((*[4]byte)(unsafe.Add(p, len(s)-4))[:]))
}
