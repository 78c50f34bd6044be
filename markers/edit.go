package markers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor inserts keys into the mappings of a file as text, at the places that the parsed nodes name, so that every other
// byte stays as it is.
type editor struct {
	data    []byte
	lines   []int // where each line starts
	newline string
	inserts []insertion
	count   int // keys
	added   []func()
}

type insertion struct {
	offset int
	column int // of the mapping
	text   string
}

func newEditor(data []byte) *editor {
	e := &editor{data: data, lines: []int{0}, newline: "\n"}
	for i, c := range data {
		if c == '\n' {
			e.lines = append(e.lines, i+1)
		}
	}
	if bytes.Contains(data, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	return e
}

// insert adds keys that mapping does not have. Values are true, a string, a []string or a map[string]string.
func (e *editor) insert(mapping *yaml.Node, keys map[string]any) error {
	var err error
	if mapping.Style&yaml.FlowStyle != 0 || len(mapping.Content) == 0 {
		err = e.insertFlow(mapping, keys)
	} else {
		err = e.insertBlock(mapping, keys)
	}
	if err != nil {
		return err
	}
	e.count += len(keys)
	e.added = append(e.added, func() {
		for key, value := range keys {
			var node yaml.Node
			if node.Encode(value) == nil {
				mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, &node)
			}
		}
	})
	return nil
}

// insertBlock gives each key lines of its own, before the first key of the mapping that sorts after it.
func (e *editor) insertBlock(mapping *yaml.Node, keys map[string]any) error {
	indent := strings.Repeat(" ", mapping.Column-1)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		text := blockText(indent, key, keys[key], e.newline)
		offset := -1
		for i := 0; i < len(mapping.Content); i += 2 {
			if at := mapping.Content[i]; at.Value > key {
				line := at.Line - 1
				if len(bytes.TrimLeft(e.data[e.lines[line]:e.offset(at)], " ")) > 0 {
					return errors.New("a key of the mapping does not start its line")
				}
				if at.HeadComment != "" { // it belongs to the key
					line -= strings.Count(at.HeadComment, "\n") + 1
				}
				offset = e.lines[line]
				break
			}
		}
		if offset < 0 {
			last := mapping.Content[len(mapping.Content)-2]
			offset = e.end(last.Line-1, mapping.Column-1)
			if offset == len(e.data) && !bytes.HasSuffix(e.data, []byte("\n")) {
				text = e.newline + strings.TrimSuffix(text, e.newline)
			}
		}
		e.inserts = append(e.inserts, insertion{offset, mapping.Column, text})
	}
	return nil
}

// end returns where the value of the key in this line (from 0) ends, in a mapping with this indentation: before the next line
// that is not indented more, blank lines before it not counted. A list may stand at the indentation of its key.
func (e *editor) end(line, indent int) int {
	last := line
	for i := line + 1; i < len(e.lines); i++ {
		content := bytes.TrimRight(e.line(i), " \t\r\n")
		if len(content) == 0 {
			continue
		}
		depth := len(content) - len(bytes.TrimLeft(content, " "))
		if depth < indent || depth == indent && content[depth] != '-' || bytes.HasPrefix(content, []byte("---")) {
			break
		}
		last = i
	}
	if last+1 < len(e.lines) {
		return e.lines[last+1]
	}
	return len(e.data)
}

func (e *editor) line(i int) []byte {
	if i+1 < len(e.lines) {
		return e.data[e.lines[i]:e.lines[i+1]]
	}
	return e.data[e.lines[i]:]
}

// offset returns where a node starts; its column counts characters.
func (e *editor) offset(n *yaml.Node) int {
	at := e.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(e.data[at:])
		at += size
	}
	return at
}

// insertFlow puts the keys right behind the opening brace, on lines of their own where the first member has one.
func (e *editor) insertFlow(mapping *yaml.Node, keys map[string]any) error {
	open := e.offset(mapping)
	if open >= len(e.data) || e.data[open] != '{' {
		return errors.New("the mapping does not start with a brace where it stands")
	}
	rest := e.data[open+1:]
	blank := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t\r\n"))]
	separator := " "
	if i := bytes.LastIndexByte(blank, '\n'); i >= 0 && len(mapping.Content) > 0 {
		separator = e.newline + string(blank[i+1:])
	}
	var text strings.Builder
	for i, key := range slices.Sorted(maps.Keys(keys)) {
		value, err := json.Marshal(keys[key])
		if err != nil {
			return err
		}
		if separator != " " || i > 0 {
			text.WriteString(separator)
		}
		text.WriteString(`"` + key + `": ` + string(value))
		if i+1 < len(keys) || len(mapping.Content) > 0 {
			text.WriteByte(',')
			if separator == " " && i+1 == len(keys) && len(blank) == 0 {
				text.WriteByte(' ')
			}
		}
	}
	e.inserts = append(e.inserts, insertion{open + 1, 0, text.String()})
	return nil
}

// result returns the file with the insertions, after checking that it reads as the documents with the added keys do.
func (e *editor) result(docs []*yaml.Node) ([]byte, error) {
	// Where mappings end together, the innermost one ends first.
	slices.SortStableFunc(e.inserts, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(b.column, a.column))
	})
	var out bytes.Buffer
	from := 0
	for _, in := range e.inserts {
		out.Write(e.data[from:in.offset])
		out.WriteString(in.text)
		from = in.offset
	}
	out.Write(e.data[from:])
	for _, add := range e.added {
		add()
	}
	now, err := parse(out.Bytes())
	if err == nil && !sameDocuments(docs, now) {
		err = errors.New("the result would read differently")
	}
	if err != nil {
		return nil, errors.Join(errors.New("the keys cannot be written into this layout, nothing was changed: let controller-gen write the file anew"), err)
	}
	return out.Bytes(), nil
}

func sameDocuments(a, b []*yaml.Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		var left, right any
		if a[i].Decode(&left) != nil || b[i].Decode(&right) != nil || !reflect.DeepEqual(left, right) {
			return false
		}
	}
	return true
}

// plain are the strings that need no quotes in YAML, those that look like another type aside.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// blockText writes a key and its value in block style, lists at the indentation of their key as controller-gen does.
func blockText(indent, key string, value any, newline string) string {
	head := indent + quoted(key) + ":"
	switch value := value.(type) {
	case []string:
		for _, item := range value {
			head += newline + indent + "- " + quoted(item)
		}
		return head + newline
	case map[string]string:
		head += newline
		for _, inner := range slices.Sorted(maps.Keys(value)) {
			head += blockText(indent+"  ", inner, value[inner], newline)
		}
		return head
	case string:
		return head + " " + quoted(value) + newline
	}
	return head + " true" + newline
}

func quoted(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plain.MatchString(s) {
			return s
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
