package crd

import (
	"bytes"
	"encoding/json"
	"sort"
	"sync"
)

var _ source = (*jsonSource)(nil)

// jsonText is the text of a JSON file, which may hold many values. Safe for concurrent use.
type jsonText struct {
	data []byte

	once     sync.Once
	newlines []int // offsets, after a first one of -1
}

// position returns the line and column of an offset.
func (t *jsonText) position(at int) Position {
	t.once.Do(func() {
		t.newlines = []int{-1}
		for i, c := range t.data {
			if c == '\n' {
				t.newlines = append(t.newlines, i)
			}
		}
	})
	line := sort.SearchInts(t.newlines, at) // newlines before the offset
	return Position{line, at - t.newlines[line-1]}
}

// jsonSource is a value that was read as JSON: its text is well-formed. It scans the text for the places that are asked
// for, and remembers the containers on the way, so that many places in one large List cost one scan of it. Safe for
// concurrent use.
type jsonSource struct {
	*jsonText
	start int // offset of the value

	mu         sync.Mutex
	containers map[int][]jsonChild // by offset
}

// jsonChild is a member of an object or an item of a list.
type jsonChild struct {
	name      string // of a member
	at, value int    // offsets of the name, or of the item, and of the value
}

func (s *jsonSource) find(steps []any) Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, value := s.start, s.start
	for _, step := range steps {
		child, ok := s.child(value, step)
		if !ok {
			break
		}
		at, value = child.at, child.value
	}
	return s.position(at)
}

// child returns what is one step below the value at an offset.
func (s *jsonSource) child(value int, step any) (jsonChild, bool) {
	children, known := s.containers[value]
	if !known {
		children = s.scan(value)
		if s.containers == nil {
			s.containers = make(map[int][]jsonChild)
		}
		s.containers[value] = children
	}
	switch step := step.(type) {
	case int:
		if s.data[value] == '[' && step >= 0 && step < len(children) {
			return children[step], true
		}
	case string:
		for _, child := range children {
			if s.data[value] == '{' && child.name == step {
				return child, true
			}
		}
	}
	return jsonChild{}, false
}

// scan lists what the container at an offset holds; nothing for a scalar.
func (s *jsonSource) scan(offset int) []jsonChild {
	open := s.data[offset]
	if open != '{' && open != '[' {
		return nil
	}
	var children []jsonChild
	for i := s.skipSpace(offset + 1); i < len(s.data) && s.data[i] != '}' && s.data[i] != ']'; {
		child := jsonChild{at: i, value: i}
		if open == '{' {
			end := s.skipValue(i)
			if json.Unmarshal(s.data[i:end], &child.name) != nil {
				return children
			}
			child.value = s.skipSpace(end)
		}
		children = append(children, child)
		i = s.skipSpace(s.skipValue(child.value))
	}
	return children
}

// skipSpace returns the offset of the next byte that is neither white space nor a comma or colon.
func (s *jsonSource) skipSpace(i int) int {
	for i < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,:"), s.data[i]) >= 0 {
		i++
	}
	return i
}

// skipValue returns the offset after the value at i.
func (s *jsonSource) skipValue(i int) int {
	depth := 0
	for i < len(s.data) {
		switch s.data[i] {
		case '"':
			for i++; i < len(s.data) && s.data[i] != '"'; i++ {
				if s.data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 {
				return i // after a scalar that ends its container
			}
		case ' ', '\t', '\r', '\n', ',':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if i++; depth == 0 {
			return i
		}
	}
	return len(s.data)
}
