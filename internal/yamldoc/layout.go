package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
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
	e.start = start
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
