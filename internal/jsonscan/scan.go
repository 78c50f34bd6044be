// Package jsonscan reads JSON without building its values: a Text is one text, a Pair two versions of one, side by
// side.
//
// Equal bytes at the same place of the grammar are equal values. So a Pair scans the new text only, for as long as the
// old one has the same bytes, and each on its own where they differ, until both are at the same place again. Every byte
// of both texts is either scanned or equal to a scanned one: what a Pair takes without Failed, k8s.io/apimachinery's
// util/json decodes without an error, and the other way round.
//
// The texts are not changed.
package jsonscan

// maxDepth is how deep objects and lists may be nested, as in util/json.
const maxDepth = 10_000

// state is a place in the grammar between two tokens.
type state uint8

const (
	atValue     state = iota
	atFirstItem       // a value or the end of the list
	atFirstKey        // a key or the end of the object
	atKey             // after a comma
	atColon           // after a key
	atEnd             // after a value in a list or object: a comma or the end
	done              // after the last value
)

// nesting is the open objects and lists.
type nesting struct {
	open  int
	kinds uint64   // a bit for each, 1 for an object, the innermost lowest; at least the last open%64+1 are there
	outer []uint64 // the kinds as they were each time when the number of open ones became a multiple of 64
}

// enter adds an object or list, by the byte that opens it.
func (n *nesting) enter(opening byte) {
	n.save(n.open, n.kinds)
	n.kinds = n.kinds<<1 | objectBit(opening)
	n.open++
}

// objectBit returns 1 for the byte that opens an object, 0 for the one that opens a list.
func objectBit(opening byte) uint64 { return uint64(opening>>5) & 1 }

// save keeps the kinds before the 64th, 128th … object or list is entered, which shifts the outermost one out.
func (n *nesting) save(open int, kinds uint64) {
	if open%64 == 63 {
		n.outer = append(n.outer, kinds)
	}
}

// restored returns the kinds as they were before the 64th, 128th … was entered.
func (n *nesting) restored() (kinds uint64) {
	last := len(n.outer) - 1
	kinds, n.outer = n.outer[last], n.outer[:last]
	return kinds
}

// afterComma is the state that follows a comma in the innermost object or list. One is open.
func (n *nesting) afterComma() state {
	if n.kinds&1 != 0 {
		return atKey
	}
	return atValue
}

// scanner knows which objects and lists are open.
type scanner struct {
	nesting
	depth int // of the object or list whose members are being read
	notes notes
}

// scan reads tokens of text, of which the one before i was the last, until open is down to base and a value is complete
// (done), or one is met that is not JSON or does not end before limit. That one is not read. It returns how far it has
// read and the state there. A number ends with its delimiter, which limit must cover too.
//
// This loop is what reading costs. So it is one long function, because a call for each token would cost as much as
// reading it, and each place of the grammar goes on to the one that mostly follows. White space, which most texts lack,
// is looked for where no other token fits.
func (s *scanner) scan(text []byte, i int, at state, base, limit int) (int, state) {
	data := text[:min(limit, len(text))]
	open, kinds := s.open, s.kinds
	level := s.notes.level
	var c byte // data[i]
	var end int

again:
	if i = afterSpace(data, i); i >= len(data) {
		goto stop
	}
	c = data[i]
	switch at {
	case atFirstItem:
		goto firstItem
	case atFirstKey:
		goto firstKey
	case atKey:
		goto key
	case atColon:
		goto colon
	case atEnd:
		goto afterValue
	}
	goto value

firstItem:
	if c == ']' {
		goto closing
	}
value:
	switch {
	case c == '"':
		if end = stringEnd(text, i); uint(end) > uint(len(data)) { // -1 is more, too
			goto stop
		}
	case c == '{' || c == '[':
		if s.depth+open >= maxDepth {
			goto stop
		}
		if open%64 == 63 {
			s.save(open, kinds)
		}
		open, kinds = open+1, kinds<<1|objectBit(c)
		at = atFirstKey
		if c == '[' {
			at = atFirstItem
		}
		if i++; i >= len(data) {
			goto stop
		}
		if c = data[i]; at == atFirstKey {
			goto firstKey
		}
		goto firstItem
	case c <= ' ':
		goto unexpected
	default:
		if end = scalarEnd(text, i); uint(end) >= uint(limit) {
			goto stop
		}
	}
	i, at = end, atEnd
	if open == base {
		at = done
		goto stop
	}
	if i >= len(data) {
		goto stop
	}
	c = data[i]
afterValue:
	if c == ',' {
		if at = atValue; kinds&1 != 0 {
			at = atKey
		}
		if i++; i >= len(data) {
			goto stop
		}
		if c = data[i]; at == atKey {
			goto key
		}
		goto value
	}
	if c != ']'+byte(kinds&1)<<5 { // '}' is ']'+32
		goto unexpected
	}
closing:
	i, at = i+1, atEnd
	open, kinds = open-1, kinds>>1
	if open%64 == 63 {
		kinds = s.restored()
	}
	if open == base {
		at = done
		goto stop
	}
	if i >= len(data) {
		goto stop
	}
	c = data[i]
	goto afterValue

firstKey:
	if c == '}' {
		goto closing
	}
key:
	if c != '"' {
		goto unexpected
	}
	if end = stringEnd(text, i); uint(end) > uint(len(data)) {
		goto stop
	}
	if open == level {
		s.notes.met(data[i+1:end-1], end)
	}
	at = atColon
	if i = end; i >= len(data) {
		goto stop
	}
	c = data[i]
colon:
	if c != ':' {
		goto unexpected
	}
	at = atValue
	if i++; i >= len(data) {
		goto stop
	}
	c = data[i]
	goto value

unexpected:
	if end = afterSpace(data, i); end > i {
		i = end
		goto again
	}
stop:
	s.open, s.kinds = open, kinds
	return i, at
}
