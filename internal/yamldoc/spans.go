package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// errLayout is the error for a text in which the end of a value cannot be found.
var errLayout = errors.New("the layout is not understood")

// layout implements source for JSON: the text is well-formed.
func (s *jsonSource) layout() (*element, error) { return jsonElement(s.data, s.start), nil }

func jsonElement(data []byte, start int) *element {
	e := &element{at: start, start: start}
	switch data[start] {
	case '{':
		e.kind = flowObject
	case '[':
		e.kind = flowList
	}
	for _, child := range childrenOf(data, start) {
		c := jsonElement(data, child.value)
		if c.name, c.at = child.name, child.at; e.kind == flowObject {
			_, nameEnd := jsonscan.String(data, child.at)
			c.colon = jsonscan.Space(data, nameEnd) + 1
		}
		e.children = append(e.children, c)
	}
	text := jsonscan.NewText(data)
	text.Seek(start)
	e.end = start + len(text.Skip())
	return e
}

// layout implements source for YAML.
func (s *yamlSource) layout() (*element, error) {
	l := yamlLayout{text: newText(s.data)}
	e := l.element(s.parsed())
	return e, l.err
}

// yamlLayout finds the ends of nodes, of which the parser tells only the beginnings.
type yamlLayout struct {
	*text
	err error
}

func (l *yamlLayout) fail(n *yaml.Node) int {
	if l.err == nil {
		l.err = fmt.Errorf("%w in line %d", errLayout, n.Line)
	}
	return len(l.data)
}

func (l *yamlLayout) element(n *yaml.Node) *element {
	at := l.offset(n)
	start, _ := l.content(n)
	e := &element{at: at, start: at}
	switch n.Kind {
	case yaml.AliasNode:
		e.end = at + len("*") + len(n.Value)
	case yaml.ScalarNode:
		e.end = l.scalarEnd(n, start)
	case yaml.MappingNode:
		e.kind = blockObject
		l.members(e, n)
	case yaml.SequenceNode:
		e.kind = blockList
		l.items(e, n, start)
	}
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return e
	}
	e.start = start // its anchor stays
	last := start
	if k := len(e.children); k > 0 {
		last = e.children[k-1].end
	}
	if isFlow := n.Style&yaml.FlowStyle != 0; !isFlow {
		e.end = l.lineComment(last)
		return e
	}
	e.kind += flowObject - blockObject
	if start >= len(l.data) || l.data[start] != '{' && l.data[start] != '[' {
		e.end, e.kind = last, scalarKind // a single pair in a flow list has no braces
		return e
	}
	if len(e.children) == 0 {
		last++
	}
	for last = l.skipBlanks(last); last < len(l.data) && l.data[last] == ','; {
		last = l.skipBlanks(last + 1)
	}
	if last >= len(l.data) || l.data[last] != '}' && l.data[last] != ']' {
		e.end = l.fail(n)
		return e
	}
	e.end = last + 1
	return e
}

func (l *yamlLayout) members(e *element, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		c := l.element(n.Content[i+1])
		c.at = l.offset(key)
		keyEnd := l.element(key).end
		if c.colon = l.skipBlanks(keyEnd) + 1; c.end < c.colon { // a member without a value
			c.start, c.end = max(c.end, keyEnd), max(c.end, keyEnd)
		}
		if c.colon > len(l.data) || l.data[c.colon-1] != ':' { // a key without a colon
			c.colon = keyEnd
		}
		if name, err := keyOf(key); err == nil && !isMerge(key) {
			c.name = name
		}
		e.children = append(e.children, c)
	}
}

func (l *yamlLayout) items(e *element, n *yaml.Node, start int) {
	mark := start
	for _, item := range n.Content {
		c := l.element(item)
		if n.Style&yaml.FlowStyle == 0 {
			if mark = l.skipBlanks(mark); mark >= len(l.data) || l.data[mark] != '-' {
				l.fail(item)
				return
			}
			c.at, c.colon = mark, mark+len("-")
		}
		e.children = append(e.children, c)
		mark = max(c.end, c.colon)
	}
}

// scalarEnd returns the end of a scalar whose text begins at start.
func (l *yamlLayout) scalarEnd(n *yaml.Node, start int) int {
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0, n.Style&yaml.DoubleQuotedStyle != 0:
		return l.quotedEnd(n, start)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return l.blockScalarEnd(n, start)
	case n.Value == "":
		return min(start, l.afterProperties(n))
	}
	return l.consume(n, start)
}

// afterProperties returns the end of the properties of an empty scalar.
func (l *yamlLayout) afterProperties(n *yaml.Node) int {
	at := l.offset(n)
	end := at
	for at < len(l.data) && (l.data[at] == '&' || l.data[at] == '!') {
		for end = at; end < len(l.data) && !isBlank(l.data[end]) && strings.IndexByte(",]}", l.data[end]) < 0; {
			end++
		}
		for at = end; at < len(l.data) && (l.data[at] == ' ' || l.data[at] == '\t'); {
			at++
		}
	}
	return end
}

// quotedEnd returns the end of a scalar in quotes.
func (l *yamlLayout) quotedEnd(n *yaml.Node, i int) int {
	if i >= len(l.data) {
		return l.fail(n)
	}
	quote := l.data[i]
	for i++; i < len(l.data); i++ {
		switch {
		case quote == '"' && l.data[i] == '\\':
			i++
		case l.data[i] == quote && quote == '\'' && i+1 < len(l.data) && l.data[i+1] == quote:
			i++
		case l.data[i] == quote:
			return i + 1
		}
	}
	return l.fail(n)
}

// blockScalarEnd returns the end of a literal or folded scalar: the end of its last line with text, or where all line
// breaks are kept, of its last line.
func (l *yamlLayout) blockScalarEnd(n *yaml.Node, start int) int {
	header := l.lineEnd(start)
	end := header
	if strings.TrimSpace(n.Value) != "" {
		end = l.lineEnd(l.consume(n, header))
	}
	if !bytes.Contains(l.data[start:header], []byte("+")) {
		return end
	}
	for i := end; i < len(l.data); i++ {
		if l.data[i] == '\n' {
			end = i
		} else if !isBlank(l.data[i]) {
			break
		}
	}
	return end
}

// consume returns the end of a scalar without escapes: the text has its characters in the same order, only its white
// space differs.
func (l *yamlLayout) consume(n *yaml.Node, i int) int {
	for _, r := range n.Value {
		if isFolded(r) {
			continue
		}
		for {
			found, size := utf8.DecodeRune(l.data[min(i, len(l.data)):])
			if size == 0 || found != r && !isFolded(found) {
				return l.fail(n)
			}
			if i += size; found == r {
				break
			}
		}
	}
	return i
}

// isFolded reports whether r is white space that a parser may change.
func isFolded(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// element is a value with its place in the text of its piece.
type element struct {
	name  string // of a member, "" for a merge key
	at    int    // where the member begins with its name, or the item: in a block with its dash
	colon int    // of a member: after its colon; of an item in a block: after its dash

	start, end int // of the value; of a block, end includes a comment on its last line
	kind       kind
	children   []*element
}

// kind tells how a value is written, and so how it is edited.
type kind int

const (
	scalarKind kind = iota // or an alias: never edited within
	blockObject
	blockList
	flowObject
	flowList
)

func (k kind) isObject() bool { return k == blockObject || k == flowObject }
func (k kind) isList() bool   { return k == blockList || k == flowList }
func (k kind) isFlow() bool   { return k == flowObject || k == flowList }

// text is a YAML text with its lines, to find the nodes of the parser in it.
type text struct {
	data  []byte
	lines []int // where each line begins
}

// newText finds the lines as the parser counts them: it knows more line breaks than the newline.
func newText(data []byte) *text {
	t := &text{data: data, lines: []int{0}}
	for i := 0; i < len(data); {
		size := breakAt(data, i)
		if i += max(size, 1); size > 0 {
			t.lines = append(t.lines, i)
		}
	}
	return t
}

// breakAt returns how long the line break at data[i] is, or 0.
func breakAt(data []byte, i int) int {
	switch data[i] {
	case '\r':
		if i+1 < len(data) && data[i+1] == '\n' {
			return 2
		}
		return 1
	case '\n':
		return 1
	case 0xC2: // U+0085
		if i+1 < len(data) && data[i+1] == 0x85 {
			return 2
		}
	case 0xE2: // U+2028, U+2029
		if i+2 < len(data) && data[i+1] == 0x80 && data[i+2]|1 == 0xA9 {
			return 3
		}
	}
	return 0
}

// offset returns where a node begins, its properties included; its column counts characters.
func (t *text) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(t.lines) {
		return len(t.data)
	}
	at := t.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(t.data) {
			break
		}
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	return at
}

// content returns where the value of a node begins: after its properties, an anchor and a tag in either order. It
// reports whether one of them is the tag that is not specific.
func (t *text) content(n *yaml.Node) (at int, isNonSpecific bool) {
	for at = t.offset(n); at < len(t.data) && (t.data[at] == '&' || t.data[at] == '!'); {
		end := at
		for end < len(t.data) && !isBlank(t.data[end]) {
			end++
		}
		isNonSpecific = isNonSpecific || string(t.data[at:end]) == nonSpecific
		at = t.skipBlanks(end)
		if isEmpty := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0; isEmpty && t.lineEnd(end) < at {
			return end, isNonSpecific // what follows is another node
		}
	}
	return at, isNonSpecific
}

// skipBlanks returns the offset of the first byte from i on that is neither white space nor in a comment.
func (t *text) skipBlanks(i int) int {
	for i < len(t.data) {
		switch {
		case isBlank(t.data[i]):
			i++
		case breakAt(t.data, i) > 0:
			i += breakAt(t.data, i)
		case t.data[i] == '#' && (i == 0 || isBlank(t.data[i-1]) || t.beginsLine(i)):
			i = t.lineEnd(i)
		default:
			return i
		}
	}
	return i
}

// lineComment returns the end of the comment that follows at i on the same line, or i where there is none.
func (t *text) lineComment(i int) int {
	end := i
	for end < len(t.data) && (t.data[end] == ' ' || t.data[end] == '\t') {
		end++
	}
	if end == i || end >= len(t.data) || t.data[end] != '#' {
		return i
	}
	return t.lineEnd(end)
}

// beginsLine reports whether a line begins at i.
func (t *text) beginsLine(i int) bool {
	_, found := slices.BinarySearch(t.lines, i)
	return found
}

// lineEnd returns the end of the line that i is in, without its break.
func (t *text) lineEnd(i int) int {
	for i < len(t.data) && breakAt(t.data, i) == 0 {
		i++
	}
	return min(i, len(t.data))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// markNonSpecific gives the scalars below node that have the tag "!" this tag: the parser drops it.
func (t *text) markNonSpecific(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Style&yaml.TaggedStyle == 0 && node.Tag != "!!merge" {
		if _, is := t.content(node); is {
			node.Tag = nonSpecific
		}
	}
	for _, child := range node.Content {
		t.markNonSpecific(child)
	}
}
