package jsonscan

import "bytes"

// Span is where a value is in its text: from its first byte up to the one after its last.
type Span struct{ From, To int }

// ObjectOne is SkipOne that notes the named members of an object, of several with one name the last: at[k] is then the
// offset for MemberValue, and stays 0 without such a member. Names do not contain U+FFFD, which stands for invalid UTF-8
// too. It returns where the value is; ok is false for a value that is not an object.
func (p *Pair) ObjectOne(in Side, names []string, at []int) (span Span, ok bool) {
	if p.failed {
		return span, false
	}
	data, i := p.new, &p.i
	if in == Old {
		data, i = p.old, &p.j
	}
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
	clear(at)
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
