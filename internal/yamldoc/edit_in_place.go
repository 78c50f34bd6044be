package yamldoc

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/diff"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// root returns the text of newVal in the place of e, which holds oldVal.
func (w *writer) root(e *element, oldVal, newVal any) string {
	if text, ok := w.inPlace(e, oldVal, newVal); ok {
		return text
	}
	return flowText(newVal, "")
}

// inPlace returns the text of newVal in the place of e, when it can be written by changing what e holds.
func (w *writer) inPlace(e *element, oldVal, newVal any) (string, bool) {
	if jsonvalue.Equal(oldVal, newVal) {
		return string(w.data[e.start:e.end]), true
	}
	switch oldVal := oldVal.(type) {
	case map[string]any:
		newVal, ok := newVal.(map[string]any)
		if ok && e.kind.isObject() && len(e.children) > 0 && len(newVal) > 0 {
			return w.container(e, w.members(e, oldVal, newVal)), true
		}
	case []any:
		newVal, ok := newVal.([]any)
		if ok && e.kind.isList() && len(e.children) > 0 && len(newVal) > 0 {
			return w.container(e, w.items(e, oldVal, newVal)), true
		}
	}
	return "", false
}

// entry is a member or an item of a container as it is written.
type entry struct {
	child int // of the container in the old text; -1 for a new one
	text  string
}

// inside is the context of what e holds.
func (w *writer) inside(e *element) context {
	first := e.children[0].at
	lineStart := bytes.LastIndexByte(w.data[:first], '\n') + 1
	line := w.data[lineStart:first]
	if e.kind.isFlow() {
		if len(bytes.TrimSpace(line)) > 0 {
			return context{flow: true}
		}
		return context{flow: true, indent: string(line)}
	}
	return context{indent: strings.Repeat(" ", utf8.RuneCount(line))}
}

// members returns the members of an object: the old ones that stay, in their order, and each new one before the first
// that sorts after it.
func (w *writer) members(e *element, oldObject, newObject map[string]any) []entry {
	at := w.inside(e)
	var added []string
	for _, name := range slices.Sorted(maps.Keys(newObject)) {
		if !slices.ContainsFunc(e.children, func(c *element) bool { return c.name == name }) &&
			!isMerged(oldObject, newObject, name) {
			added = append(added, name)
		}
	}
	var entries []entry
	add := func(name string) {
		entries = append(entries, entry{-1, w.member(name, newObject[name], at)})
	}
	for i, c := range e.children {
		for len(added) > 0 && c.name > added[0] {
			add(added[0])
			added = added[1:]
		}
		newVal, stays := newObject[c.name]
		if c.name == "" || stays {
			entries = append(entries, entry{i, w.child(c, oldObject[c.name], newVal, at)})
		}
	}
	for _, name := range added {
		add(name)
	}
	return entries
}

// isMerged reports whether a member that the text of an object does not have came in by a merge key, and stays equal.
func isMerged(oldObject, newObject map[string]any, name string) bool {
	value, was := oldObject[name]
	return was && jsonvalue.Equal(value, newObject[name])
}

// maxMatched bounds the product of the lengths of lists whose equal items are looked for.
const maxMatched = 10_000

// items returns the items of a list: equal ones are kept, what is between two equal ones is replaced.
func (w *writer) items(e *element, oldList, newList []any) []entry {
	at := w.inside(e)
	var entries []entry
	i, j := 0, 0
	between := func(endOld, endNew int) {
		for ; j < endNew; j++ {
			if i < endOld {
				entries = append(entries, entry{i, w.child(e.children[i], oldList[i], newList[j], at)})
				i++
				continue
			}
			entries = append(entries, entry{-1, w.item(newList[j], at)})
		}
		i = endOld
	}
	for _, pair := range diff.Common(oldList, newList, jsonvalue.Equal, maxMatched) {
		between(pair[0], pair[1])
		between(pair[0]+1, pair[1]+1)
	}
	between(len(oldList), len(newList))
	return entries
}

// child returns the text of a member or item that stays: with its name or dash, and in a block with the comment behind
// it.
func (w *writer) child(c *element, oldVal, newVal any, at context) string {
	comment := string(w.data[c.end:w.bodyEnd(c, at)])
	if value, ok := w.inPlace(c, oldVal, newVal); ok {
		return string(w.data[c.at:c.start]) + value + comment
	}
	var text string
	switch {
	case w.data[c.at] == '-' && c.colon == c.at+1 && !at.flow:
		text = w.item(newVal, at)
	case at.flow:
		text = string(w.data[c.at:max(c.start, c.colon)]) + flowText(newVal, at.indent)
	default:
		text = string(w.data[c.at:c.colon]) + w.afterColon(newVal, at.indent)
	}
	if strings.Contains(text, "\n") {
		return text
	}
	return text + comment
}

// bodyEnd returns the end of a child with the comment behind it.
func (w *writer) bodyEnd(c *element, at context) int {
	if at.flow {
		return c.end
	}
	return w.lineComment(c.end)
}

// container joins the entries of e with what separates them in the text.
func (w *writer) container(e *element, entries []entry) string {
	at := w.inside(e)
	if at.flow {
		return w.flowContainer(e, entries, at)
	}
	var b strings.Builder
	next := 0
	comments := "" // of the children that go
	gap := func(k int) string {
		if k == 0 {
			return ""
		}
		return string(w.data[w.bodyEnd(e.children[k-1], at):e.children[k].at])
	}
	drop := func(until int) {
		for ; next < until; next++ {
			text := gap(next)
			comments += text[:max(strings.LastIndex(text, w.newline), 0)]
		}
	}
	for _, entry := range entries {
		if entry.child < 0 {
			if b.Len() > 0 {
				b.WriteString(w.newline + at.indent)
			}
			b.WriteString(entry.text)
			continue
		}
		drop(entry.child)
		before := comments + gap(entry.child)
		switch comments = ""; {
		case b.Len() == 0:
			before = strings.TrimLeft(before, " \t\r\n")
		case entry.child == 0:
			before = w.newline + at.indent
		}
		b.WriteString(before + entry.text)
		next++
	}
	drop(len(e.children))
	return b.String() + strings.TrimRight(comments, " \t\r\n")
}

// flowContainer is container for the flow style.
func (w *writer) flowContainer(e *element, entries []entry, at context) string {
	first, last := e.children[0], e.children[len(e.children)-1]
	open := string(w.data[e.start:first.at])
	separator := ", "
	switch {
	case len(e.children) > 1:
		separator = string(w.data[first.end:e.children[1].at])
	case strings.Contains(open, "\n"):
		separator = "," + open[1:]
	}
	var b strings.Builder
	b.WriteString(open)
	for i, entry := range entries {
		switch {
		case i == 0:
		case entry.child > 0:
			b.Write(w.data[e.children[entry.child-1].end:e.children[entry.child].at])
		default:
			b.WriteString(separator)
		}
		b.WriteString(entry.text)
	}
	b.Write(w.data[last.end:e.end])
	return b.String()
}

// writer writes changed values into the text of the old ones. Everything that is equal is copied.
type writer struct {
	*text
	newline string
	deep    bool // whether lists are indented below their keys
	folds   bool // whether long texts are folded, as in files that controller-gen writes
}

// context is where a value is written.
type context struct {
	flow   bool
	indent string // of the members or items of the container that the value is in
}

func newWriter(data []byte) *writer {
	w := &writer{newline: "\n", deep: indentsLists(data),
		folds: bytes.Contains(data, []byte("controller-gen.kubebuilder.io/version"))}
	if bytes.Contains(data, []byte("\r\n")) {
		w.newline = "\r\n"
	}
	return w
}

// indentsLists reports whether the first list that has its own lines is indented further than its key.
func indentsLists(data []byte) bool {
	indent := -1
	for line := range bytes.Lines(data) {
		content := bytes.TrimLeft(line, " ")
		depth := len(line) - len(content)
		switch {
		case indent >= 0 && bytes.HasPrefix(content, []byte("- ")):
			return depth > indent
		case bytes.HasSuffix(bytes.TrimRight(content, " \r\n"), []byte(":")) && !bytes.HasPrefix(content, []byte("- ")):
			indent = depth
		default:
			indent = -1
		}
	}
	return false
}
