package crd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Document is one object of a YAML or JSON file, with the means to find its parts in the file again.
type Document struct {
	File   string // as given by the caller, for messages
	Number int    // of the document in the file, from 1; the items of a List share it

	// Object holds map[string]any, []any, string, bool, int64, float64 and nil. Integers are int64 where they fit.
	Object map[string]any

	source source
	prefix []any // steps from the document's root to Object: nil, or into the items of a List
}

// Position is a place in a file, counted from 1 in lines and bytes. The zero Position is an unknown place.
type Position struct{ Line, Column int }

// String returns "line:column", or "" where the position is unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// source finds the place of a value in the text that it was read from.
type source interface {
	// find returns the place of the deepest value that exists on the way along steps.
	find(steps []any) Position
}

// ReadDocuments reads every object of a file: YAML of one or more documents, JSON, or JSON objects one after another.
// The items of a List count as objects of their own; empty documents are left out. The name stands in messages only.
//
// YAML means what kubectl makes of it (YAML 1.1 booleans, numbers as keys become strings); anchors and merge keys are
// followed. It is an error, with file and line, when the text is not UTF-8, is broken, has a key twice in one mapping,
// a value that JSON does not have, or a document that is no object. Cost: one pass over the text.
func ReadDocuments(name string, data []byte) ([]*Document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if i := invalidUTF8(data); i >= 0 {
		return nil, &Error{File: name, Line: lineAt(data, i), Message: "the text is not UTF-8, as YAML and JSON have to be"}
	}
	var roots []root
	var err error
	if looksLikeJSON(data) {
		var yamlErr error
		roots, err = readJSON(name, data)
		if errors.Is(err, errJSONSyntax) {
			// YAML's flow style starts like JSON does.
			if roots, yamlErr = readYAML(name, data); yamlErr == nil {
				err = nil
			}
		}
	} else {
		roots, err = readYAML(name, data)
	}
	if err != nil {
		return nil, err
	}
	var documents []*Document
	for i, root := range roots {
		if root.value == nil {
			continue
		}
		object, ok := root.value.(map[string]any)
		if !ok {
			return nil, &Error{File: name, Line: root.source.find(nil).Line, Document: i + 1,
				Message: fmt.Sprintf("it is %s; a document is an object with apiVersion and kind", describe(root.value))}
		}
		document := &Document{File: name, Number: i + 1, Object: object, source: root.source}
		if documents, err = document.appendTo(documents); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// root is the value of one document of a file.
type root struct {
	value  any
	source source
}

// appendTo appends d, or when it is a List its items, to list.
func (d *Document) appendTo(list []*Document) ([]*Document, error) {
	kind, _ := d.Object["kind"].(string)
	items, ok := d.Object["items"].([]any)
	metadata, _ := d.Object["metadata"].(map[string]any)
	_, named := metadata["name"]
	if !ok || named || !strings.HasSuffix(kind, "List") {
		return append(list, d), nil
	}
	for i, item := range items {
		steps := append(slices.Clone(d.prefix), "items", i)
		object, ok := item.(map[string]any)
		if !ok {
			return nil, d.errorf(steps[len(d.prefix):], "it is %s; the items of a %s are objects", describe(item), kind)
		}
		if _, ok := object["kind"]; !ok && kind != "List" {
			object["kind"] = strings.TrimSuffix(kind, "List")
			if _, ok := object["apiVersion"]; !ok {
				object["apiVersion"] = d.Object["apiVersion"]
			}
		}
		var err error
		list, err = (&Document{File: d.File, Number: d.Number, Object: object, source: d.source, prefix: steps}).appendTo(list)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Position returns where the value stands that steps lead to, each step a member name (string) or an index (int): for
// a member the place of its name. Where the way ends early it is the place of the last value on it; without a source,
// the zero Position. Cost for YAML: O(members) per step; for JSON the text is scanned up to the place.
func (d *Document) Position(steps ...any) Position {
	if d == nil || d.source == nil {
		return Position{}
	}
	return d.source.find(append(slices.Clone(d.prefix), steps...))
}

// Locate is Position for a path as field.Path prints it: "spec.nodes[2].zone", "spec.labels[app.kubernetes.io/name]".
// Member names that hold dots or brackets are told apart by the members that the object has.
func (d *Document) Locate(fieldPath string) Position {
	if d == nil {
		return Position{}
	}
	return d.Position(stepsOf(d.Object, fieldPath)...)
}

// errorf makes the error for the value that steps lead to.
func (d *Document) errorf(steps []any, format string, args ...any) *Error {
	return &Error{File: d.File, Line: d.Position(steps...).Line, Document: d.Number, Object: objectName(d.Object),
		Path: pathString(steps), Message: fmt.Sprintf(format, args...)}
}

// stepsOf resolves a printed field path against value, as far as it leads.
func stepsOf(value any, path string) []any {
	var steps []any
	for path != "" {
		var step any
		var length int
		switch value := value.(type) {
		case map[string]any:
			step, length = memberAt(value, path)
			if length > 0 {
				path, steps = path[length:], append(steps, step)
			}
		case []any:
			step, length = indexAt(value, path)
			if length > 0 {
				path, steps = path[length:], append(steps, step)
			}
		}
		if length == 0 {
			return steps
		}
		value = child(value, step)
	}
	return steps
}

// memberAt returns the longest member name of object that path starts with, and how much of path it takes: "name",
// ".name" or "[name]". The length is 0 when there is none.
func memberAt(object map[string]any, path string) (name string, length int) {
	for key := range object {
		for _, text := range [...]string{key, "." + key, "[" + key + "]"} {
			rest, ok := strings.CutPrefix(path, text)
			if ok && len(text) > length && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				name, length = key, len(text)
			}
		}
	}
	return name, length
}

// indexAt reads "[2]" at the start of path, when list has that index.
func indexAt(list []any, path string) (index, length int) {
	end := strings.IndexByte(path, ']')
	if end < 0 || path[0] != '[' {
		return 0, 0
	}
	index, err := parseIndex(path[1:end])
	if err != nil || index >= len(list) {
		return 0, 0
	}
	return index, end + 1
}

// child returns the value one step below value; nil when there is none.
func child(value, step any) any {
	switch value := value.(type) {
	case map[string]any:
		name, _ := step.(string)
		return value[name]
	case []any:
		if i, ok := step.(int); ok && i >= 0 && i < len(value) {
			return value[i]
		}
	}
	return nil
}

// looksLikeJSON reports whether the first byte that is not white space opens an object or a list.
func looksLikeJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// lineAt returns the line, from 1, of the byte at offset.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

var _ source = (*yamlSource)(nil)

// yamlSource is a document that was read as YAML.
type yamlSource struct{ node *yaml.Node }

func (s *yamlSource) find(steps []any) Position {
	node := s.node
	at := Position{node.Line, node.Column}
	for _, step := range steps {
		key, value := nodeChild(node, step, 0)
		if value == nil {
			break
		}
		at = Position{key.Line, key.Column}
		node = value
	}
	return at
}

// nodeChild returns the node one step below node, and the node where it stands: its key, or itself in a list. Both
// are nil when there is none.
func nodeChild(node *yaml.Node, step any, depth int) (key, value *yaml.Node) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step >= 0 && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	case string:
		if node.Kind != yaml.MappingNode {
			return nil, nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if name, err := keyOf(node.Content[i]); err == nil && name == step {
				return node.Content[i], node.Content[i+1]
			}
		}
		if depth > maxMerges {
			return nil, nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !isMerge(node.Content[i]) {
				continue
			}
			for _, merged := range mergeSources(node.Content[i+1]) {
				if key, value := nodeChild(merged, step, depth+1); value != nil {
					return key, value
				}
			}
		}
	}
	return nil, nil
}
