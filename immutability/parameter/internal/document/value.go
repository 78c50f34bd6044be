package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Values returns the values in a mapping of parameter names to values.
func Values(n *yaml.Node) (parameter.Values, error) {
	if n.Kind != yaml.MappingNode {
		return nil, Errorf(n, "the values are %s: they should be a mapping of names to values", Describe(n))
	}
	values := make(parameter.Values, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		value, err := Value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		values[n.Content[i].Value] = value
	}
	return values, nil
}

// Value returns the value of a node.
func Value(n *yaml.Node) (parameter.Value, error) {
	value := parameter.Value{Text: n.Value, Data: decoded(n)}
	if n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode {
		text, err := blockText(n)
		if err != nil {
			return value, Errorf(n, "%s cannot be written as text: %v", Describe(n), err)
		}
		value.Text = text
	}
	return value, nil
}

// decoded returns the JSON form of a node.
func decoded(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			list = append(list, decoded(item))
		}
		return list
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[n.Content[i].Value] = decoded(n.Content[i+1])
		}
		return object
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

// blockText writes a list or a map as YAML in block style with sorted keys, so that equal contents have equal texts.
func blockText(n *yaml.Node) (text string, err error) {
	defer func() { // the encoder panics on what it cannot write
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(plain(n)); err != nil {
		return "", err
	}
	return out.String(), nil
}

// plain returns n without styles and positions, keys sorted.
func plain(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	if n.Kind == yaml.MappingNode {
		order := make([]int, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			order = append(order, i)
		}
		sort.Slice(order, func(a, b int) bool { return n.Content[order[a]].Value < n.Content[order[b]].Value })
		for _, i := range order {
			out.Content = append(out.Content, plain(n.Content[i]), plain(n.Content[i+1]))
		}
		return out
	}
	for _, item := range n.Content {
		out.Content = append(out.Content, plain(item))
	}
	return out
}

// LoadMapping is [Load] for a document that is a mapping; what says what it should be, for the message.
func LoadMapping(data []byte, what string, ignored ...string) (*yaml.Node, error) {
	root, err := Load(data, ignored...)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return nil, &parameter.ReadError{Message: "the document is empty: it should be " + what}
	case root.Kind != yaml.MappingNode:
		return nil, Errorf(root, "the document is %s: it should be %s", Describe(root), what)
	}
	return root, nil
}
