package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// readYAML reads the documents of the piece, which are several where it has directives.
func (p *piece) readYAML() ([]root, *Error) {
	if n := maxNodesIn(p.data); n > maxNodes {
		return nil, &Error{File: p.name, Line: p.line + 1, Document: 1, Message: fmt.Sprintf(
			"the document has up to %d values, the limit for YAML is %d; split it into several documents, or write "+
				"it as JSON", n, maxNodes)}
	}
	var roots []root
	for node, err := range p.nodes {
		if err != nil {
			return roots, p.malformed(err)
		}
		c := converter{line: p.line}
		value := c.value(node, 0)
		if c.err != nil {
			return roots, &Error{File: p.name, Line: p.line + c.at.Line, Document: 1, Message: c.err.Error()}
		}
		roots = append(roots, root{value, &yamlSource{piece: p, index: len(roots)}, c.repeated})
	}
	return roots, nil
}

// maxNodesIn returns a bound for the nodes that a YAML text has: each is on a line of its own, is the item of a list in
// a row of them, or belongs to a flow style.
func maxNodesIn(data []byte) int {
	n := bytes.Count(data, []byte("- "))
	for _, c := range [...]string{"\n", ",", "[", "{"} {
		n += bytes.Count(data, []byte(c))
	}
	return n
}

// malformed makes an Error of an error of the parser, whose text begins with the line. The parser counts it from 0
// where it misses something.
func (p *piece) malformed(err error) *Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if _, scanErr := fmt.Sscanf(message, "line %d: ", &line); scanErr == nil {
		if _, message, _ = strings.Cut(message, ": "); strings.HasPrefix(message, "did not find expected") {
			line++
		}
	}
	line = min(line, lineAt(p.data, len(bytes.TrimRight(p.data, " \t\r\n"))))
	return &Error{File: p.name, Line: p.line + line, Document: 1, Message: "the YAML is malformed: " + message}
}

// converter makes values of the nodes of one document. The first mistake ends it.
type converter struct {
	line int // of the beginning of the text in the file, from 0

	err error
	at  *yaml.Node // of the mistake

	aliases int // values made while following an alias
	inAlias int // how many aliases are being followed

	repeated []repeated
	known    map[*yaml.Node]bool // keys that repeated has, as aliases lead to them again
}

func (c *converter) fail(node *yaml.Node, format string, args ...any) any {
	if c.err == nil {
		c.err, c.at = fmt.Errorf(format, args...), node
	}
	return nil
}

// value returns what node means. A mapping is map[string]any, a list []any, a scalar as scalarOf decides. The tags of
// mappings and lists mean nothing.
func (c *converter) value(node *yaml.Node, depth int) any {
	if c.err != nil {
		return nil
	}
	if depth > maxDepth {
		return c.fail(node, "the nesting is deeper than %d; an alias may lead back to itself", maxDepth)
	}
	if c.inAlias > 0 {
		if c.aliases++; c.aliases > maxAliased {
			return c.fail(node, "the aliases of this document stand for more than %d values; write the values out",
				maxAliased)
		}
	}
	switch node.Kind {
	case yaml.AliasNode:
		c.inAlias++
		defer func() { c.inAlias-- }()
		return c.value(node.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(node, depth)
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			list[i] = c.value(item, depth+1)
		}
		return list
	case yaml.ScalarNode:
		value, err := scalarOf(node)
		if err != nil {
			return c.fail(node, "%w", err)
		}
		return value
	}
	return c.fail(node, "the document has a part that is neither a mapping nor a list nor a scalar")
}

// mapping returns the members of node. A merge key brings in the members of its mappings, which take the place of those
// before it and give way to those after it; of several mappings the first wins.
func (c *converter) mapping(node *yaml.Node, depth int) any {
	object := make(map[string]any, len(node.Content)/2)
	var own map[string]bool // the keys of the mapping itself, once members may have come in by a merge key
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if isMerge(key) {
			if own == nil {
				own = make(map[string]bool, len(object))
				for name := range object {
					own[name] = true
				}
			}
			c.merge(node.Content[i+1], object, depth)
			continue
		}
		name, err := keyOf(key)
		if err != nil {
			return c.fail(key, "%w", err)
		}
		twice := own[name]
		if own == nil {
			_, twice = object[name]
		} else {
			own[name] = true
		}
		value := c.value(node.Content[i+1], depth+1)
		if twice && !jsonvalue.Equal(object[name], value) {
			c.repeat(node, key, repeated{name, key.Line, 0, object[name], value})
		}
		object[name] = value
	}
	return object
}

// merge brings the members of the value of a merge key into object.
func (c *converter) merge(value *yaml.Node, object map[string]any, depth int) {
	sources := mergeSources(value)
	for i := len(sources) - 1; i >= 0; i-- {
		merged, ok := c.value(sources[i], depth+1).(map[string]any)
		if !ok {
			c.fail(sources[i], "the merge key << does not have a mapping, or a list of mappings")
			return
		}
		for name, value := range merged {
			object[name] = value
		}
	}
}

// repeat records a key that a mapping has before, with another value. Two keys of different types that JSON writes
// alike, as in {1: a, "1": b}, are an error: kubectl takes any of them.
func (c *converter) repeat(node, key *yaml.Node, r repeated) {
	first := firstKey(node, r.key)
	is, _ := resolved(aliased(key))
	was, _ := resolved(aliased(first))
	if is != was {
		c.fail(key, "the mapping has two keys that are %q in JSON, first in line %d; remove one",
			r.key, c.line+first.Line)
	}
	if c.known[key] {
		return
	}
	if c.known == nil {
		c.known = map[*yaml.Node]bool{}
	}
	c.known[key] = true
	r.first = first.Line
	c.repeated = append(c.repeated, r)
}

// aliased returns the node that an alias stands for, and any other node itself.
func aliased(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// firstKey returns the first key of node that reads name.
func firstKey(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i < len(node.Content); i += 2 {
		if key, err := keyOf(node.Content[i]); err == nil && key == name && !isMerge(node.Content[i]) {
			return node.Content[i]
		}
	}
	return node
}

var _ source = (*yamlSource)(nil)

// maxAliased bounds the values that a document's aliases may add, so that a few lines cannot fill the memory.
const maxAliased = 1_000_000

// maxMerges bounds how deep merge keys may lead through one another.
const maxMerges = 100

// nodes yields the parsed documents of the piece; an error is the last.
func (p *piece) nodes(yield func(*yaml.Node, error) bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(p.data))
	markNonSpecific := bytes.Contains(p.data, []byte("!"))
	for {
		var document yaml.Node
		switch err := loadNode(decoder, &document); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			yield(nil, err)
			return
		}
		if len(document.Content) == 0 {
			continue
		}
		if markNonSpecific {
			newText(p.data).markNonSpecific(document.Content[0])
		}
		if !yield(document.Content[0], nil) {
			return
		}
	}
}

// loadNode reads the next document. The parser gives up on states that it believes impossible with a panic; for a
// reader of files from anywhere, such a text is malformed too.
func loadNode(decoder *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return decoder.Decode(node)
}

// isMerge reports whether key is the merge key. For kubectl the tag "!" makes it one even in quotes.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "!!merge" || key.Tag == nonSpecific)
}

// mergeSources returns the nodes that the value of a merge key names: the items of a list, else the node itself.
func mergeSources(value *yaml.Node) []*yaml.Node {
	if value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return []*yaml.Node{value}
}
