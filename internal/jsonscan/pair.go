package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// Pair is two texts, read up to the same place of the grammar. Its methods do nothing once it has Failed.
type Pair struct {
	scanner
	new, old []byte
	i, j     int // how far they are read
	same     int // new[k] == old[k+shift] for i <= k < same
	shift    int
	failed   bool
	again    int // how many bytes may be read once more
}

// NewPair returns two texts, to be read from the beginning.
func NewPair(newText, oldText []byte) *Pair {
	p := &Pair{}
	p.Reset(newText, oldText)
	return p
}

// Reset makes p a pair of other texts, to be read from the beginning.
func (p *Pair) Reset(newText, oldText []byte) {
	p.new, p.old, p.again = newText, oldText, len(newText)+len(oldText)
	p.i, p.j, p.same, p.shift, p.failed = 0, 0, 0, 0, false
	p.depth, p.open, p.outer, p.notes = 0, 0, p.outer[:0], notes{}
}

// Failed reports whether one of the texts turned out not to be JSON. Whatever else was returned then means nothing.
func (p *Pair) Failed() bool { return p.failed }

func (p *Pair) fail() { p.failed, p.i, p.j = true, len(p.new), len(p.old) }

// End reports whether nothing but white space follows in both texts.
func (p *Pair) End() bool {
	return !p.failed && afterSpace(p.new, p.i) == len(p.new) && afterSpace(p.old, p.j) == len(p.old)
}

// Again goes back to at, for Resume to go on here afterwards. It reports false, and does nothing, where more would be
// read again than the two texts once: what is met out of order that often must be taken as values.
func (p *Pair) Again(at Place) (here Place, ok bool) {
	here = Place{p.i, p.j}
	cost := here.New - at.New + here.Old - at.Old
	if p.failed || cost > p.again {
		return here, false
	}
	p.again -= cost
	p.i, p.j, p.same = at.New, at.Old, 0
	return here, true
}

// Resume goes on at here after Again.
func (p *Pair) Resume(here Place) {
	if !p.failed {
		p.i, p.j, p.same = here.New, here.Old, 0
	}
}

// Kinds returns the first bytes of the values that follow, 0 at the end of a text.
func (p *Pair) Kinds() (newKind, oldKind byte) {
	p.i, p.j = afterSpace(p.new, p.i), afterSpace(p.old, p.j)
	if p.i < len(p.new) {
		newKind = p.new[p.i]
	}
	if p.j < len(p.old) {
		oldKind = p.old[p.j]
	}
	return newKind, oldKind
}

// Place is where a value begins in each text.
type Place struct{ New, Old int }

// Here returns the place of the values that follow.
func (p *Pair) Here() Place {
	p.Kinds()
	return Place{p.i, p.j}
}

// Len returns the length of both texts together.
func (p *Pair) Len() int { return len(p.new) + len(p.old) }

// Texts returns the parts of both texts between two places.
func (p *Pair) Texts(from, to Place) (newText, oldText []byte) {
	return p.new[from.New:to.New], p.old[from.Old:to.Old]
}

// NewValue returns the value of the new text at a place that has been read, as util/json decodes it.
func (p *Pair) NewValue(at Place) any { return Value(p.new, at.New) }

// OldValue is NewValue of the old text.
func (p *Pair) OldValue(at Place) any { return Value(p.old, at.Old) }

// Skip reads the next value of both texts. It reports whether they are the same tokens, so that they are equal: only
// the white space between tokens may differ. After a failure it says so too, so that nobody looks at them.
func (p *Pair) Skip() (equal bool) {
	equal = true
	for at := atValue; !p.failed; {
		p.compare()
		p.i, at = p.scan(p.new, p.i, at, 0, p.same)
		p.j = p.i + p.shift
		if at == done {
			return equal
		}
		p.Kinds()
		i, j := p.i, p.j
		at = p.apart(at)
		equal = equal && (p.failed || bytes.Equal(p.new[i:p.i], p.old[j:p.j]))
		if at == done {
			break
		}
	}
	return equal || p.failed
}

// apart reads the tokens that follow in each text, one or more, until both texts are at the same place again.
func (p *Pair) apart(at state) state {
	a, b := p.Kinds()
	switch at {
	case atColon:
		if a == ':' && b == ':' {
			p.i, p.j = p.i+1, p.j+1
			return atValue
		}
		return p.refuse()
	case atFirstKey, atKey:
		if a == '"' && b == '"' {
			return p.strings(atColon)
		}
		return p.finish(at)
	case atEnd:
		if a == ',' && b == ',' {
			p.i, p.j = p.i+1, p.j+1
			return p.afterComma()
		}
		return p.finish(at)
	case atFirstItem:
		if a == ']' || b == ']' {
			return p.finish(at)
		}
	}
	if a == b && (a == '{' || a == '[') {
		if p.enter(a); p.depth+p.open > maxDepth {
			return p.refuse()
		}
		p.i, p.j = p.i+1, p.j+1
		if a == '{' {
			return atFirstKey
		}
		return atFirstItem
	}
	if a == '"' && b == '"' {
		return p.strings(p.afterValue())
	}
	return p.each(atValue, p.open)
}

// strings reads the string that each text has here; after it the state is next.
func (p *Pair) strings(next state) state {
	p.i, p.j = stringEnd(p.new, p.i), stringEnd(p.old, p.j)
	if p.i < 0 || p.j < 0 {
		return p.refuse()
	}
	return next
}

// afterValue is the state after a value in the innermost object or list.
func (p *Pair) afterValue() state {
	if p.open == 0 {
		return done
	}
	return atEnd
}

// finish reads the rest of the innermost object or list of each text.
func (p *Pair) finish(at state) state { return p.each(at, p.open-1) }

// each reads the texts one by one until open is down to base.
func (p *Pair) each(at state, base int) state {
	before := p.nesting
	var newAt, oldAt state
	p.i, newAt = p.scan(p.new, p.i, at, base, math.MaxInt)
	p.nesting = before
	p.j, oldAt = p.scan(p.old, p.j, at, base, math.MaxInt)
	if newAt != done || oldAt != done {
		return p.refuse()
	}
	return p.afterValue()
}

// refuse fails, which ends the loop of Skip.
func (p *Pair) refuse() state {
	p.fail()
	return done
}

// compare finds out how far the texts have the same bytes from here on.
func (p *Pair) compare() {
	if p.j-p.i == p.shift && p.i < p.same {
		return
	}
	p.shift = p.j - p.i
	p.same = p.i + commonPrefix(p.new[p.i:], p.old[p.j:])
}

// commonPrefix returns how many bytes a and b share from their beginning. Most differences are near, and are looked for
// four words at a time; bytes.Equal is faster for long parts that are equal.
func commonPrefix(a, b []byte) int {
	const nearby, near, far = 4 * wordLength, 1024, 4096
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for i+nearby <= n && differ(a, b, i)|differ(a, b, i+8)|differ(a, b, i+16)|differ(a, b, i+24) == 0 {
		if i += nearby; i >= near {
			for i+far <= n && bytes.Equal(a[i:i+far], b[i:i+far]) {
				i += far
			}
		}
	}
	for i+wordLength <= n {
		if diff := differ(a, b, i); diff != 0 {
			return i + bits.TrailingZeros64(diff)/8
		}
		i += wordLength
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// differ returns the bits in which the words of a and b at i differ.
func differ(a, b []byte, i int) uint64 {
	return binary.LittleEndian.Uint64(a[i:i+wordLength]) ^ binary.LittleEndian.Uint64(b[i:i+wordLength])
}

// notes are the members of an object that are noted while it is read.
type notes struct {
	names []string
	at    []int // where the name ends; 0 for a member that was not met
	level int   // how many objects and lists are open where the members are; 0 for nothing to note
}

// met notes a member whose name, which ends at an offset, is written without escapes.
func (n *notes) met(name []byte, end int) {
	for k := range n.names {
		if string(name) == n.names[k] {
			n.at[k] = end
		}
	}
}

// Span is where a value is in its text: from its first byte up to the one after its last.
type Span struct{ From, To int }

// ObjectOne is SkipOne that notes the named members of an object, of several with one name the last: at[k] is then the
// offset for MemberValue, and stays 0 without such a member. Names do not contain U+FFFD, which stands for invalid
// UTF-8 too. It returns where the value is; ok is false for a value that is not an object.
func (p *Pair) ObjectOne(in Side, names []string, at []int) (span Span, ok bool) {
	if p.failed {
		return span, false
	}
	data, i := p.side(in)
	span.From = *i
	ok = *i < len(data) && data[*i] == '{'
	p.notes = notes{names, at, 1}
	p.SkipOne(in)
	p.notes.level = 0
	span.To = *i
	if ok && !p.failed && bytes.IndexByte(data[span.From:span.To], '\\') >= 0 {
		noteEscaped(data, span.From, names, at)
	}
	return span, ok
}

// noteEscaped notes the members of an object in which names may have escapes.
func noteEscaped(data []byte, i int, names []string, at []int) {
	t := NewText(data)
	t.Seek(i)
	for m := range t.Members() {
		for k := range names {
			if string(m.Name) == names[k] {
				at[k] = stringEnd(data, m.At)
			}
		}
	}
}

// Object is ObjectOne of the new text. It reports whether the old text has the same bytes, and then it has read it too.
func (p *Pair) Object(names []string, at []int) (span Span, same, ok bool) {
	if p.failed {
		return span, true, false
	}
	p.compare()
	span, ok = p.ObjectOne(New, names, at)
	if same = !p.failed && p.i < p.same; same { // and the next byte too, which ends a number
		p.j = p.i + p.shift
	}
	return span, same, ok
}

// MemberValue returns the text of the value of a member that was noted. The text has been read.
func MemberValue(data []byte, at int) []byte {
	from := afterSpace(data, afterSpace(data, at)+1)
	if data[from] == '"' {
		return data[from:stringEnd(data, from)]
	}
	t := NewText(data)
	t.Seek(from)
	return t.Skip()
}
