package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// members calls f for each member of the JSON object doc, in their order, with its name and its undecoded value; both
// are parts of doc, but for a name with escapes. It ends with the first error of f.
func members(doc []byte, f func(name, value []byte) error) error {
	s := splitter{doc: doc}
	err := s.members(func(name []byte) error {
		value, err := s.value()
		if err != nil {
			return err
		}
		return f(name, value)
	})
	if err != nil {
		return err
	}
	return s.end()
}

// splitter is a place in a JSON document.
//
// It reads the structure of the document and skips what is inside the values: brackets and strings must end, numbers and
// literals are left to whoever reads the value. So cutting a review of half a megabyte costs what looking at each byte
// costs, and allocates nothing. Nesting is limited by the length of the document alone; there is no recursion.
type splitter struct {
	doc []byte
	at  int
}

var errCut = errors.New("the document ends in the middle")

func (s *splitter) space() {
	for s.at < len(s.doc) {
		switch s.doc[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// take skips white space and then c, if it is next.
func (s *splitter) take(c byte) bool {
	s.space()
	if s.at < len(s.doc) && s.doc[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *splitter) end() error {
	if s.space(); s.at < len(s.doc) {
		return fmt.Errorf("at byte %d: nothing is expected after the object", s.at)
	}
	return nil
}

// members reads an object. For each member it calls f, which has to read the value.
func (s *splitter) members(f func(name []byte) error) error {
	if !s.take('{') {
		return fmt.Errorf("at byte %d: an object is expected", s.at)
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return fmt.Errorf("at byte %d: a colon is expected after the member name %q", s.at, name)
		}
		if err := f(name); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if !s.take('}') {
			return fmt.Errorf("at byte %d: a comma or the end of the object is expected", s.at)
		}
		return nil
	}
}

func (s *splitter) name() ([]byte, error) {
	if !s.take('"') {
		return nil, fmt.Errorf("at byte %d: a member name is expected", s.at)
	}
	start := s.at
	if err := s.skipString(); err != nil {
		return nil, err
	}
	name := s.doc[start : s.at-1]
	if bytes.IndexByte(name, '\\') < 0 {
		return name, nil
	}
	var decoded string
	if err := json.Unmarshal(s.doc[start-1:s.at], &decoded); err != nil {
		return nil, fmt.Errorf("at byte %d: a member name cannot be read: %w", start, err)
	}
	return []byte(decoded), nil
}

// skipString skips the rest of a string, with its closing quote.
func (s *splitter) skipString() error {
	for {
		i := bytes.IndexByte(s.doc[s.at:], '"')
		if i < 0 {
			return errCut
		}
		quote := s.at + i
		back := quote
		for back > s.at && s.doc[back-1] == '\\' {
			back--
		}
		s.at = quote + 1
		if (quote-back)%2 == 0 {
			return nil
		}
	}
}

// value skips a value and returns it.
func (s *splitter) value() ([]byte, error) {
	s.space()
	start := s.at
	var open []byte // the closing brackets that are due
	for s.at < len(s.doc) {
		c := s.doc[s.at]
		switch c {
		case '"':
			s.at++
			if err := s.skipString(); err != nil {
				return nil, err
			}
			if len(open) == 0 {
				return s.doc[start:s.at], nil
			}
			continue
		case '{', '[':
			open = append(open, c+2) // the closing bracket of either is two further in ASCII
		case '}', ']', ',':
			if len(open) == 0 { // the end of a number or literal
				if s.at == start {
					return nil, fmt.Errorf("at byte %d: a value is expected", s.at)
				}
				return bytes.TrimRight(s.doc[start:s.at], " \t\r\n"), nil
			}
			if c == ',' {
				break
			}
			if open[len(open)-1] != c {
				return nil, fmt.Errorf("at byte %d: %q does not close what is open", s.at, c)
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				s.at++
				return s.doc[start:s.at], nil
			}
		}
		s.at++
	}
	return nil, errCut
}

// names are the member names of one object that were seen.
type names struct {
	common uint32 // by index in commonNames
	rest   map[string]bool
}

// commonNames are those that nearly every review and object has: they are told apart without allocating.
var commonNames = [...]string{
	"apiVersion", "kind", "metadata", "spec", "status", "request", "uid", "resource", "subResource", "requestKind",
	"requestResource", "requestSubResource", "name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "options",
}

// add refuses the second member of a name: two readers could each see another one.
func (n *names) add(name []byte) error {
	for i, c := range commonNames {
		if string(name) == c {
			if n.common&(1<<i) != 0 {
				return fmt.Errorf("the member %q is there twice", name)
			}
			n.common |= 1 << i
			return nil
		}
	}
	if n.rest[string(name)] {
		return fmt.Errorf("the member %q is there twice", name)
	}
	if n.rest == nil {
		n.rest = map[string]bool{}
	}
	n.rest[string(name)] = true
	return nil
}
