package parameter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ReadError says why a document cannot be read.
type ReadError struct {
	Line    int // from 1; 0 where the document as a whole is meant
	Message string
}

func (e *ReadError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// unreadable returns a ReadError at n.
func unreadable(n *yaml.Node, format string, args ...any) error {
	return &ReadError{Line: n.Line, Message: fmt.Sprintf(format, args...)}
}

// What one document may expand to. Without limits a few lines of aliases make billions of values, and the text of a
// deeply nested list is quadratic in its depth.
const (
	maxNodes = 200_000
	maxDepth = 100
)

// load reads the one YAML or JSON document in data into a tree without aliases and merge keys, in which no mapping
// has a key twice and every tag is one of YAML's core. It returns nil for data without a document. Two readers could
// otherwise take two values from one text, and a lock could hide behind the one that is not looked at.
func load(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root *yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxError(err)
		}
		if len(document.Content) != 1 || isNull(document.Content[0]) {
			continue
		}
		if root != nil {
			return nil, unreadable(document.Content[0], "a second document begins here: the file holds one document")
		}
		root = document.Content[0]
	}
	if root == nil {
		return nil, nil
	}
	l := loader{open: map[*yaml.Node]bool{}}
	return l.resolve(root)
}

// loader expands aliases and merge keys.
type loader struct {
	nodes, depth int
	open         map[*yaml.Node]bool // anchors that are being expanded
}

func (l *loader) resolve(n *yaml.Node) (*yaml.Node, error) {
	if l.nodes++; l.nodes > maxNodes {
		return nil, unreadable(n, "the document has more than %d nodes once its aliases are expanded", maxNodes)
	}
	l.depth++
	defer func() { l.depth-- }()
	if l.depth > maxDepth {
		return nil, unreadable(n, "the document is nested deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		if l.open[n.Alias] {
			return nil, unreadable(n, "the anchor %q contains itself", n.Value)
		}
		l.open[n.Alias] = true
		defer delete(l.open, n.Alias)
		return l.resolve(n.Alias)
	}
	tag, err := coreTag(n)
	if err != nil {
		return nil, err
	}
	out := &yaml.Node{Kind: n.Kind, Tag: tag, Value: n.Value, Line: n.Line, Style: n.Style &^ yaml.TaggedStyle}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			resolved, err := l.resolve(item)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, resolved)
		}
	case yaml.MappingNode:
		if out.Content, err = l.pairs(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pairs returns the keys and values of the mapping n: its own, then those merged into it that it does not have.
func (l *loader) pairs(n *yaml.Node) ([]*yaml.Node, error) {
	var content, merged []*yaml.Node
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			sources, err := l.mergeSources(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			merged = append(merged, sources...)
			continue
		}
		key, err := l.resolve(n.Content[i])
		if err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, unreadable(key, "a key is %s: it is a name", describe(key))
		}
		if seen[key.Value] {
			return nil, unreadable(key, "the key %q stands here a second time", key.Value)
		}
		seen[key.Value] = true
		value, err := l.resolve(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		content = append(content, key, value)
	}
	for _, source := range merged {
		for i := 0; i+1 < len(source.Content); i += 2 {
			if key := source.Content[i]; !seen[key.Value] {
				seen[key.Value] = true
				content = append(content, key, source.Content[i+1])
			}
		}
	}
	return content, nil
}

// mergeSources returns the mappings that the value of a merge key brings in, the first one winning.
func (l *loader) mergeSources(n *yaml.Node) ([]*yaml.Node, error) {
	source, err := l.resolve(n)
	if err != nil {
		return nil, err
	}
	sources := []*yaml.Node{source}
	if source.Kind == yaml.SequenceNode {
		sources = source.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return nil, unreadable(source, "the merge key << has %s: it takes a mapping or a list of mappings", describe(source))
		}
	}
	return sources, nil
}

// coreTag returns the short tag of n, or an error where a written tag changes what the text means.
func coreTag(n *yaml.Node) (string, error) {
	tag := n.ShortTag()
	written := n.Style&yaml.TaggedStyle != 0
	switch tag {
	case "!!str", "!!seq", "!!map":
		return tag, nil
	case "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		if written {
			plain := (&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}).ShortTag()
			if plain != tag && (tag != "!!float" || plain != "!!int") {
				return "", unreadable(n, "%q is tagged %s and is none", n.Value, tag)
			}
		}
		return tag, nil
	case "!!merge":
		return "", unreadable(n, "a merge key << stands outside a mapping's keys")
	}
	return "", unreadable(n, "the tag %s is not read: write the value as text", n.Tag)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names what n is, for a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case isNull(n):
		return "empty"
	}
	return strconv.Quote(n.Value)
}

var lineInSyntaxError = regexp.MustCompile(`^line (\d+): `)

func syntaxError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &ReadError{Message: message}
	if match := lineInSyntaxError.FindStringSubmatch(message); match != nil {
		e.Line, _ = strconv.Atoi(match[1])
		e.Message = message[len(match[0]):]
	}
	return e
}

// attributes returns those of the mapping n whose names are known. Other keys are ignored, unless they differ from a
// known one in letter case only: KUDO reads those, so that ignoring an "Immutable" would lose a lock.
func attributes(n *yaml.Node, known ...string) (map[string]*yaml.Node, error) {
	found := make(map[string]*yaml.Node, len(known))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(known, key.Value) {
			found[key.Value] = n.Content[i+1]
			continue
		}
		for _, name := range known {
			if strings.EqualFold(name, key.Value) {
				return nil, unreadable(key, "%q is spelled %q", key.Value, name)
			}
		}
	}
	return found, nil
}

// textAttribute reads an optional scalar attribute as the text that is written; absent and null are "".
func textAttribute(n *yaml.Node, name string) (string, error) {
	switch {
	case n == nil || isNull(n):
		return "", nil
	case n.Kind != yaml.ScalarNode:
		return "", unreadable(n, "%s is %s: it is a text", name, describe(n))
	}
	return n.Value, nil
}

// The spellings of a bare boolean, those of YAML 1.1, which both systems read.
var booleans = map[string]bool{
	"true": true, "yes": true, "on": true, "y": true,
	"false": false, "no": false, "off": false, "n": false,
}

// boolAttribute reads an optional boolean attribute, bare or quoted; absent and null are fallback.
func boolAttribute(n *yaml.Node, name string, fallback bool) (bool, error) {
	if n == nil || isNull(n) {
		return fallback, nil
	}
	if n.Kind == yaml.ScalarNode {
		word := strings.ToLower(n.Value)
		cased := n.Value == word || n.Value == strings.ToUpper(word) || n.Value == strings.ToUpper(word[:1])+word[1:]
		value, ok := booleans[word]
		if quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0; quoted {
			ok = ok && (word == "true" || word == "false")
		}
		if ok && cased {
			return value, nil
		}
	}
	return false, unreadable(n, "%s is %s: it is true or false", name, describe(n))
}
