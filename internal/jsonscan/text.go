package jsonscan

import (
	"encoding/json"
	"errors"
	"iter"
)

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
			m, ok := t.member()
			if !ok {
				t.failed = true
				return false
			}
			t.at = m.Value
			return yield(m)
		})
	}
}

// member reads the name of a member and the colon.
func (t *Text) member() (m Member, ok bool) {
	at := t.at
	if at >= len(t.data) || t.data[at] != '"' {
		return m, false
	}
	end := stringEnd(t.data, at)
	if end < 0 {
		return m, false
	}
	colon := afterSpace(t.data, end)
	if colon >= len(t.data) || t.data[colon] != ':' {
		return m, false
	}
	return Member{Name: unquote(t.data[at:end]), At: at, Value: afterSpace(t.data, colon+1)}, true
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
