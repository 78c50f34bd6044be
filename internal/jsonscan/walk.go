package jsonscan

import "bytes"

// Side says which of the two texts has a member or item.
type Side int

// The sides.
const (
	Both Side = iota
	New
	Old
)

// Members walks the members of two objects. Members that follow each other in both texts under one name are met
// together. Elsewhere they are met one by one, those of sorted objects so that equal names meet again.
//
//	for m := p.Members(); m.Next(); {
//		// Read the value: with Skip or Members or Items where m.In is Both, else with SkipOne.
//	}
type Members struct {
	In Side

	p        *Pair
	new, old member
	started  bool
}

// member is one member of which the name is read, and nothing beyond.
type member struct {
	name  []byte // with its quotes
	read  bool   // and not met yet
	ended bool   // it was the last one
}

// Members walks the two objects that follow: both Kinds are '{'.
func (p *Pair) Members() Members {
	p.into()
	return Members{p: p}
}

// into goes into the two objects or lists that follow.
func (p *Pair) into() {
	if p.Kinds(); p.failed {
		return
	}
	p.i, p.j = p.i+1, p.j+1
	if p.depth++; p.depth > maxDepth {
		p.fail()
	}
}

// Next goes to the next member. After the last one it reports false, and the objects are read.
func (m *Members) Next() bool {
	p := m.p
	if !m.new.read && !m.new.ended {
		both := !m.old.read && !m.old.ended
		if both {
			p.compare()
		}
		if !m.new.next(p, p.new, &p.i, !m.started) {
			return false
		}
		if both && p.i <= p.same { // the same bytes were met in the old text
			m.old, p.j = m.new, p.i+p.shift
			if m.new.read {
				m.In, m.new.read, m.old.read, m.started = Both, false, false, true
				return true
			}
		}
	}
	if !m.old.read && !m.old.ended && !m.old.next(p, p.old, &p.j, !m.started) {
		return false
	}
	m.started = true
	switch {
	case m.new.read && m.old.read && bytes.Equal(m.new.name, m.old.name):
		m.In, m.new.read, m.old.read = Both, false, false
	case m.new.read && (!m.old.read || bytes.Compare(m.new.name, m.old.name) < 0):
		m.In, m.new.read = New, false
	case m.old.read:
		m.In, m.old.read = Old, false
	default:
		p.depth--
		return false
	}
	return true
}

// next reads the name of the next member of data from *i on, or the end of the object. It reports false where data is
// no JSON.
func (m *member) next(p *Pair, data []byte, i *int, first bool) bool {
	at := afterSpace(data, *i)
	if at < len(data) && data[at] == '}' {
		m.ended = true
		*i = at + 1
		return true
	}
	if !first && at < len(data) && data[at] == ',' {
		at = afterSpace(data, at+1)
	} else if !first {
		at = len(data)
	}
	if m.name, *i, m.read = memberAt(data, at); !m.read {
		p.fail()
	}
	return m.read
}

// memberAt returns the name of the member that begins at data[i], with its quotes, and where its value begins. ok is
// false if no member does.
func memberAt(data []byte, i int) (name []byte, value int, ok bool) {
	if i >= len(data) || data[i] != '"' {
		return nil, i, false
	}
	end := stringEnd(data, i)
	if end < 0 {
		return nil, i, false
	}
	colon := afterSpace(data, end)
	if colon >= len(data) || data[colon] != ':' {
		return nil, i, false
	}
	return data[i:end], afterSpace(data, colon+1), true
}

// Name returns the name of the member that was met, valid until the texts change.
func (m *Members) Name() []byte {
	if m.In == Old {
		return unquote(m.old.name)
	}
	return unquote(m.new.name)
}

// Items walks the items of two lists, those at one index together.
type Items struct {
	In    Side
	Index int

	p        *Pair
	new, old bool // there is a further item
}

// Items walks the two lists that follow: both Kinds are '['.
func (p *Pair) Items() Items {
	p.into()
	return Items{p: p, Index: -1, new: true, old: true}
}

// Next goes to the next item. After the last one it reports false, and the lists are read.
func (it *Items) Next() bool {
	p := it.p
	if p.failed {
		return false
	}
	it.Index++
	if it.new {
		it.new = p.nextItem(p.new, &p.i, it.Index == 0)
	}
	if it.old {
		it.old = p.nextItem(p.old, &p.j, it.Index == 0)
	}
	if p.failed {
		return false
	}
	switch {
	case it.new && it.old:
		it.In = Both
	case it.new:
		it.In = New
	case it.old:
		it.In = Old
	default:
		p.depth--
		return false
	}
	return true
}

// nextItem reads what comes before the next item of data from *i on, or the end of the list.
func (p *Pair) nextItem(data []byte, i *int, first bool) bool {
	at := afterSpace(data, *i)
	if at < len(data) && data[at] == ']' {
		*i = at + 1
		return false
	}
	if !first {
		if at == len(data) || data[at] != ',' {
			p.fail()
			return false
		}
		at = afterSpace(data, at+1)
	}
	*i = at
	return true
}

// side returns one of the texts, and how far it is read.
func (p *Pair) side(in Side) (data []byte, i *int) {
	if in == Old {
		return p.old, &p.j
	}
	return p.new, &p.i
}

// SkipOne reads the next value of the text that has it: in is New or Old.
func (p *Pair) SkipOne(in Side) {
	if p.failed {
		return
	}
	data, i := p.side(in)
	end, at := p.scan(data, *i, atValue, 0, len(data)+1)
	if at != done {
		p.fail()
		return
	}
	*i = end
}
