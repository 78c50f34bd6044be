package yamldoc

import (
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

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
