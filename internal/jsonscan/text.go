package jsonscan

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"math/bits"
	"strconv"
)

// afterSpace returns the position of the first byte of data from i on that is not white space, or len(data).
func afterSpace(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// Eight bytes at once: each constant has the same value in every byte.
const (
	wordLength = 8
	ones       = 0x0101010101010101
	highs      = 0x80 * ones
)

// special returns a word whose lowest set bit is in the first byte of word that a string cannot hold as it is: a quote,
// a backslash or a control character, or 0. Bits above the lowest may be wrong.
//
// A byte below n borrows from its high bit when n is subtracted. Swapping '"' and ' ' first puts the quote right above
// the control characters, so that one subtraction finds both.
func special(word uint64) uint64 {
	const swap, below, backslash = ('"' ^ ' ') * ones, (' ' + 1) * ones, '\\' * ones
	return (((word ^ swap) - below) | ((word ^ backslash) - ones)) &^ word & highs
}

// stringEnd returns the end of the string whose opening quote is data[i], or -1 if it is not a string.
func stringEnd(data []byte, i int) int {
	for i++; i+wordLength <= len(data); {
		hit := special(binary.LittleEndian.Uint64(data[i : i+wordLength]))
		if hit == 0 {
			i += wordLength
			continue
		}
		i += bits.TrailingZeros64(hit) / 8
		if data[i] == '"' {
			return i + 1
		}
		if i = escapeEnd(data, i); i < 0 {
			return -1
		}
	}
	for i < len(data) && data[i] >= ' ' {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			if i = escapeEnd(data, i); i < 0 {
				return -1
			}
		default:
			i++
		}
	}
	return -1
}

// escapeEnd returns the end of the escape sequence that begins at data[i], or -1 where none does.
func escapeEnd(data []byte, i int) int {
	if data[i] != '\\' || i+1 == len(data) {
		return -1
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if _, ok := hexRune(data, i); ok {
			return i + 6
		}
	}
	return -1
}

// hexRune returns the rune of the sequence \uXXXX at data[i]; ok is false if there is none.
func hexRune(data []byte, i int) (r rune, ok bool) {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return 0, false
	}
	for _, c := range data[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// scalarEnd returns the end of the number, boolean or null that begins at data[i], or -1 where none does.
func scalarEnd(data []byte, i int) int {
	if data[i]-'1' <= 8 { // most numbers are short integers
		end := i + 1
		for end < len(data) && data[end]-'0' <= 9 {
			end++
		}
		if end < len(data) && end-i <= safeDigits && data[end] != '.' && data[end]|0x20 != 'e' {
			return end
		}
	}
	switch data[i] {
	case 't':
		return wordEnd(data, i, "true")
	case 'f':
		return wordEnd(data, i, "false")
	case 'n':
		return wordEnd(data, i, "null")
	}
	return numberEnd(data, i)
}

func wordEnd(data []byte, i int, word string) int {
	end := i + len(word)
	if end > len(data) || string(data[i:end]) != word {
		return -1
	}
	return end
}

// safeDigits is how many characters a number without an exponent may have so that no float64 overflows.
const safeDigits = 300

// numberEnd is scalarEnd for numbers. Like util/json, it takes no number beyond the range of float64.
func numberEnd(data []byte, i int) int {
	start := i
	if data[i] == '-' {
		i++
	}
	if i == len(data) {
		return -1
	}
	if data[i] == '0' {
		i++
	} else if i = digitsEnd(data, i); i < 0 {
		return -1
	}
	if i < len(data) && data[i] == '.' {
		if i = digitsEnd(data, i+1); i < 0 {
			return -1
		}
	}
	exponent := i < len(data) && (data[i] == 'e' || data[i] == 'E')
	if exponent {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if i = digitsEnd(data, i); i < 0 {
			return -1
		}
	}
	if exponent || i-start > safeDigits {
		if _, err := strconv.ParseFloat(string(data[start:i]), 64); err != nil {
			return -1
		}
	}
	return i
}

// digitsEnd returns the end of one or more digits at data[i], or -1.
func digitsEnd(data []byte, i int) int {
	start := i
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// Space returns the offset of the first byte of data from i on that is not white space, or len(data).
func Space(data []byte, i int) int { return afterSpace(data, i) }

// String decodes the string whose opening quote is data[i] and returns it with the offset after it. The offset is -1 if
// data has no well-formed string there.
func String(data []byte, i int) (s string, end int) {
	if end = stringEnd(data, i); end < 0 {
		return "", -1
	}
	return string(unquote(data[i:end])), end
}

// Scalar decodes the string, number, boolean or null at data[i] as util/json does, and returns it with the offset after
// it. The offset is -1 if data has none of these there.
func Scalar(data []byte, i int) (value any, end int) {
	if data[i] == '"' {
		return String(data, i)
	}
	if scalarEnd(data, i) < 0 {
		return nil, -1
	}
	return build(data, i)
}

// Text is one text, read value by value from its beginning. Its methods do nothing once it has failed.
//
//	t := jsonscan.NewText(data)
//	for m := range t.Members() {
//		if string(m.Name) == "spec" {
//			spec = t.Skip()
//		}
//	}
//	err := t.End()
type Text struct {
	scanner
	data   []byte
	at     int
	read   bool // whether the value of the current member or item is read
	failed bool
}

// Member is one member of an object.
type Member struct {
	// Name is unquoted, a part of the text unless it has escapes or invalid UTF-8.
	Name []byte
	// At and Value are the offsets of the name's opening quote and of the value.
	At, Value int
}

// NewText returns a text, to be read from its beginning.
func NewText(data []byte) *Text { return &Text{data: data} }

// Seek goes to the value at an offset that Members or Items returned.
func (t *Text) Seek(offset int) { t.at, t.depth = offset, 0 }

// Offset returns how far the text is read.
func (t *Text) Offset() int { return t.at }

// Kind returns the first byte of the value that follows, 0 at the end of the text.
func (t *Text) Kind() byte {
	if t.at = afterSpace(t.data, t.at); t.at < len(t.data) {
		return t.data[t.at]
	}
	return 0
}

// Skip reads the next value and returns its text, nil where it is not JSON.
func (t *Text) Skip() []byte {
	t.Kind()
	start := t.at
	if t.failed {
		return nil
	}
	end, state := t.scan(t.data, start, atValue, 0, len(t.data)+1)
	if state != done {
		t.failed = true
		return nil
	}
	t.at, t.read = end, true
	return t.data[start:end]
}

// Members reads the object that follows, and yields its members. A value that the loop does not read is skipped. A loop
// that is left early leaves the text inside the object, so that only Seek leads out. A value of another kind fails the
// text.
func (t *Text) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		t.walk('{', func() bool {
			name, value, ok := memberAt(t.data, t.at)
			if !ok {
				t.failed = true
				return false
			}
			m := Member{Name: unquote(name), At: t.at, Value: value}
			t.at = value
			return yield(m)
		})
	}
}

// Items is Members for a list: it yields the offset of each item.
func (t *Text) Items() iter.Seq[int] {
	return func(yield func(int) bool) {
		t.walk('[', func() bool { return yield(t.at) })
	}
}

// walk reads the object or list that opens with the given byte. It calls each at every member or item; each goes to the
// value and reports whether to go on.
func (t *Text) walk(opening byte, each func() bool) {
	if t.failed {
		return
	}
	if t.depth++; t.Kind() != opening || t.depth > maxDepth {
		t.failed = true
		return
	}
	closing := opening + 2 // '}' is '{'+2, and ']' is '['+2
	t.at++
	for first := true; t.Kind() != closing; first = false {
		if !first {
			if t.Kind() != ',' {
				t.failed = true
				return
			}
			t.at++
			t.Kind()
		}
		t.read = false
		if !each() || t.failed {
			return
		}
		if !t.read {
			t.Skip()
		}
		if t.failed {
			return
		}
	}
	t.at++
	t.depth--
	t.read = true
}

// Failed reports whether the text turned out not to be JSON, or not to have what the caller read.
func (t *Text) Failed() bool { return t.failed }

// Err returns nil, or what is wrong with a text that has failed.
func (t *Text) Err() error {
	if !t.failed {
		return nil
	}
	var value any
	if err := json.Unmarshal(t.data, &value); err != nil {
		return err
	}
	return errors.New("another kind of value is expected") // or it is nested too deep, where encoding/json allows more
}

// End returns nil where nothing but white space follows, else what is wrong.
func (t *Text) End() error {
	t.at = afterSpace(t.data, t.at)
	t.failed = t.failed || t.at < len(t.data)
	return t.Err()
}
