package parameter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is what a value was in its document.
type Kind string

// The kinds of values.
const (
	Null   Kind = "null" // removes the parameter's stored value
	String Kind = "string"
	Bool   Kind = "boolean"
	Number Kind = "number"
	List   Kind = "list"
	Map    Kind = "map"
)

// Value is one value of a parameter. The zero value is no value; use [Text] for a text.
type Value struct {
	Kind Kind

	// Text is the text of a scalar as it was written, quotes removed: 0755, 1.0 and 1048576 stay what they are. Lists
	// and maps have the YAML text that KUDO stores for them: block style, keys sorted.
	Text string

	data any // the JSON form of a list or a map: []any, map[string]any
}

// Text returns the string value s.
func Text(s string) Value { return Value{Kind: String, Text: s} }

// MarshalJSON writes the value as JSON: a bare number or boolean as such where its text is JSON, all other scalars
// as strings. No value is null.
func (v Value) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v.json()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (v Value) json() any {
	switch v.Kind {
	case "", Null:
		return nil
	case Bool:
		return strings.EqualFold(v.Text, "true")
	case Number:
		if json.Valid([]byte(v.Text)) {
			return json.Number(v.Text)
		}
	case List, Map:
		return v.data
	}
	return v.Text
}

// none reports whether there is no value.
func (v Value) none() bool { return v.Kind == "" || v.Kind == Null }

// structured reports whether the value is a list or a map.
func (v Value) structured() bool { return v.Kind == List || v.Kind == Map }

// Values are values by the name of their parameter.
type Values map[string]Value

// Texts returns the text of each value, as spec.parameters of a KUDO instance holds them. Nulls are left out.
func (v Values) Texts() map[string]string {
	out := make(map[string]string, len(v))
	for name, value := range v {
		if !value.none() {
			out[name] = value.Text
		}
	}
	return out
}

// FromTexts returns the values with the given texts.
func FromTexts(texts map[string]string) Values {
	out := make(Values, len(texts))
	for name, text := range texts {
		out[name] = Text(text)
	}
	return out
}

// Difference returns what to request to get from stored to wanted: the wanted values whose text is another, and a null
// for each stored one that wanted lacks. A webhook needs it, which sees two whole instances: passing the wanted values
// themselves to [Definitions.Update] would not show it that a value is gone.
func Difference(stored, wanted Values) Values {
	out := Values{}
	for name, value := range wanted {
		if had := stored[name]; value.none() != had.none() || value.Text != had.Text {
			out[name] = value
		}
	}
	for name, had := range stored {
		if wanted[name].none() && !had.none() {
			out[name] = Value{Kind: Null}
		}
	}
	return out
}

// ReadValues reads a YAML or JSON mapping of parameter names to values. Data without a document is no values. The
// error is a *[ReadError]: a key that stands twice, a tag that changes a text, or anything but a mapping.
func ReadValues(data []byte) (Values, error) {
	root, err := load(data)
	if err != nil {
		return nil, err
	}
	values := Values{}
	if root == nil {
		return values, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, unreadable(root, "the values are %s: they are a mapping of names to values", describe(root))
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if values[root.Content[i].Value], err = valueOf(root.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// valueOf returns the value of a node of a loaded tree.
func valueOf(n *yaml.Node) (Value, error) {
	switch n.Kind {
	case yaml.SequenceNode, yaml.MappingNode:
		text, err := blockText(n)
		if err != nil {
			return Value{}, unreadable(n, "%s cannot be written as text: %v", describe(n), err)
		}
		kind := List
		if n.Kind == yaml.MappingNode {
			kind = Map
		}
		return Value{Kind: kind, Text: text, data: dataOf(n)}, nil
	}
	return Value{Kind: scalarKind(n), Text: n.Value}, nil
}

func scalarKind(n *yaml.Node) Kind {
	switch n.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		return Number
	}
	return String
}

// dataOf returns the JSON form of a node.
func dataOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			list = append(list, dataOf(item))
		}
		return list
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[n.Content[i].Value] = dataOf(n.Content[i+1])
		}
		return object
	}
	return Value{Kind: scalarKind(n), Text: n.Value}.json()
}

// blockText writes a list or a map as YAML in block style with sorted keys, so that one content has one text.
func blockText(n *yaml.Node) (text string, err error) {
	defer func() { // the encoder reports what it cannot write by a panic
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
