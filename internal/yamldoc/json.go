package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// errJSONSyntax is the cause of the error about a text that is not JSON; it may still be YAML.
var errJSONSyntax = errors.New("not JSON")

// readJSON reads the JSON values of the piece, one after another, as kubectl does.
func (p *piece) readJSON() ([]root, *Error) {
	var roots []root
	text := &jsonText{piece: p}
	r := jsonReader{data: p.data}
	for i := jsonStart(p.data, 0); i < len(p.data); {
		if len(roots) == maxDocuments {
			return nil, tooMany(p.name, p.line+lineAt(p.data, i))
		}
		value, end := r.value(i, 0)
		if r.err != nil {
			return roots, &Error{File: p.name, Line: p.line + lineAt(p.data, r.at), Document: 1,
				Message: r.err.Error(), cause: r.cause}
		}
		made := root{value: value, source: &jsonSource{jsonText: text, start: i}}
		for _, m := range r.repeated {
			made.repeated = append(made.repeated, repeated{m.name, text.position(m.at).Line - p.line, 0, m.was, m.is})
		}
		roots, r.repeated = append(roots, made), nil
		i = jsonStart(p.data, end)
	}
	return roots, nil
}

// ReadJSON decodes one JSON value: int64 where a number is one, no member name with two values in an object, nothing
// after it.
func ReadJSON(data []byte) (any, error) {
	r := jsonReader{data: data}
	value, end := r.value(jsonscan.Space(data, 0), 0)
	if end = jsonscan.Space(data, end); r.err == nil && end < len(data) {
		r.broken(end, "there is something after the value")
	}
	if r.err == nil && len(r.repeated) > 0 {
		return nil, errors.New(twiceInJSON(r.repeated[0].name) + "; remove one")
	}
	return value, r.err
}

// jsonReader decodes the values of a text. The first mistake ends the reading.
type jsonReader struct {
	data  []byte
	err   error
	cause error // errJSONSyntax, or nil
	at    int   // offset of the mistake

	repeated []jsonRepeated
}

// jsonRepeated is repeated with an offset.
type jsonRepeated struct {
	name    string
	at      int
	was, is any
}

func (r *jsonReader) fail(at int, err error) int {
	if r.err == nil {
		r.err, r.at = err, at
	}
	return len(r.data)
}

func (r *jsonReader) broken(at int, what string) int {
	found := "the text ends"
	if at < len(r.data) {
		found = fmt.Sprintf("found %q", r.data[at:min(at+1, len(r.data))])
	}
	r.cause = errJSONSyntax
	return r.fail(at, fmt.Errorf("the JSON is malformed: %s; %s", found, what))
}

// value decodes the value at i and returns the offset after it.
func (r *jsonReader) value(i, depth int) (any, int) {
	if i >= len(r.data) {
		return nil, r.broken(i, "a value is missing")
	}
	if depth > maxDepth {
		return nil, r.fail(i, fmt.Errorf("the nesting is deeper than %d", maxDepth))
	}
	switch r.data[i] {
	case '{':
		return r.object(i, depth)
	case '[':
		return r.list(i, depth)
	}
	value, end := jsonscan.Scalar(r.data, i)
	if end < 0 {
		return nil, r.broken(i, "expected a value: an object, a list, a string in double quotes, a number, true, "+
			"false or null")
	}
	return value, end
}

func (r *jsonReader) object(i, depth int) (any, int) {
	object := map[string]any{}
	for i = jsonscan.Space(r.data, i+1); r.err == nil; {
		if len(object) == 0 && i < len(r.data) && r.data[i] == '}' {
			return object, i + 1
		}
		if i >= len(r.data) || r.data[i] != '"' {
			return nil, r.broken(i, "expected a member name in double quotes")
		}
		name, end := jsonscan.String(r.data, i)
		if end < 0 {
			return nil, r.broken(i, "the string does not end, or has an escape that JSON does not know")
		}
		at := i
		first, twice := object[name]
		if i = jsonscan.Space(r.data, end); i >= len(r.data) || r.data[i] != ':' {
			return nil, r.broken(i, "expected a colon after a member name")
		}
		object[name], end = r.value(jsonscan.Space(r.data, i+1), depth+1)
		if r.err != nil {
			break
		}
		if twice && !jsonvalue.Equal(first, object[name]) {
			r.repeated = append(r.repeated, jsonRepeated{name, at, first, object[name]})
		}
		switch i = jsonscan.Space(r.data, end); {
		case i < len(r.data) && r.data[i] == '}':
			return object, i + 1
		case i >= len(r.data) || r.data[i] != ',':
			return nil, r.broken(i, "expected a comma or } after a member")
		}
		i = jsonscan.Space(r.data, i+1)
	}
	return nil, len(r.data)
}

func (r *jsonReader) list(i, depth int) (any, int) {
	list := []any{}
	for i = jsonscan.Space(r.data, i+1); r.err == nil; {
		if len(list) == 0 && i < len(r.data) && r.data[i] == ']' {
			return list, i + 1
		}
		item, end := r.value(i, depth+1)
		if r.err != nil {
			break
		}
		list = append(list, item)
		switch i = jsonscan.Space(r.data, end); {
		case i < len(r.data) && r.data[i] == ']':
			return list, i + 1
		case i >= len(r.data) || r.data[i] != ',':
			return nil, r.broken(i, "expected a comma or ] after an item")
		}
		i = jsonscan.Space(r.data, i+1)
	}
	return nil, len(r.data)
}

// jsonText is a text of JSON values. Safe for concurrent use.
type jsonText struct {
	*piece

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
	return Position{t.line + line, at - t.newlines[line-1]}
}

var _ source = (*jsonSource)(nil)

// jsonSource is a value that was read as JSON, so its text is well-formed. It scans the text for the places that are
// asked for, and remembers the containers on the way, so that many places in one large List cost one scan of it. Safe
// for concurrent use.
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
		if children = childrenOf(s.data, value); s.containers == nil {
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
		for _, child := range slices.Backward(children) { // of several members with one name the last counts
			if child.name == step && s.data[value] == '{' {
				return child, true
			}
		}
	}
	return jsonChild{}, false
}

// childrenOf lists the children of the container at an offset; a scalar has none.
func childrenOf(data []byte, offset int) []jsonChild {
	var children []jsonChild
	text := jsonscan.NewText(data)
	switch text.Seek(offset); data[offset] {
	case '{':
		for m := range text.Members() {
			children = append(children, jsonChild{string(m.Name), m.At, m.Value})
		}
	case '[':
		for at := range text.Items() {
			children = append(children, jsonChild{at: at, value: at})
		}
	}
	return children
}

// yamlSource is a document that was read as YAML. Its nodes take many times the room of its text, and few documents are
// asked for places: so they are parsed again for the first one. Safe for concurrent use.
type yamlSource struct {
	*piece
	index int // of the document in the piece

	once sync.Once
	node *yaml.Node
}

// parsed returns the document.
func (s *yamlSource) parsed() *yaml.Node {
	s.once.Do(func() {
		i := 0
		for node := range s.nodes {
			if s.node = node; i == s.index {
				return
			}
			i++
		}
	})
	return s.node
}

func (s *yamlSource) find(steps []any) Position {
	if at, ok := firstKeyIn(s.data); ok && len(steps) == 0 && s.index == 0 {
		return Position{s.line + at.Line, at.Column}
	}
	node := s.parsed()
	at := node
	for _, step := range steps {
		key, value := nodeChild(node, step, 0)
		if value == nil {
			break
		}
		at, node = key, value
	}
	return Position{s.line + at.Line, at.Column}
}

// firstKeyIn returns the place of the first key of a text that begins with a mapping in block style: where the document
// begins. It saves parsing the document when only its line is needed.
func firstKeyIn(data []byte) (Position, bool) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimRight(line, " \t\r\n")
		body := bytes.TrimLeft(line, " ")
		switch {
		case len(body) == 0, body[0] == '#', string(line) == "---":
			continue
		case keyLength(body) > 0:
			return Position{n, len(line) - len(body) + 1}, true
		}
		return Position{}, false
	}
	return Position{}, false
}

// keyLength returns the length of the plain key at the beginning of a line; 0 without one.
func keyLength(line []byte) int {
	for i, c := range line {
		switch {
		case c == ':' && (i+1 == len(line) || line[i+1] == ' '):
			return i
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '/',
			c == '$', c == '-' && i > 0:
		default:
			return 0
		}
	}
	return 0
}

// nodeChild returns the node one step below node, and the node where it begins: its key, or itself in a list. Both are
// nil when there is none.
func nodeChild(node *yaml.Node, step any, merges int) (key, value *yaml.Node) {
	node = aliased(node)
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step >= 0 && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	case string:
		if node.Kind != yaml.MappingNode {
			return nil, nil
		}
		// What comes later wins, as in converter.mapping.
		for i := len(node.Content) - 2; i >= 0; i -= 2 {
			key, value := node.Content[i], node.Content[i+1]
			if !isMerge(key) {
				if name, err := keyOf(key); err == nil && name == step {
					return key, value
				}
				continue
			}
			if merges > maxMerges {
				continue
			}
			for _, merged := range mergeSources(value) {
				if key, value := nodeChild(merged, step, merges+1); value != nil {
					return key, value
				}
			}
		}
	}
	return nil, nil
}
