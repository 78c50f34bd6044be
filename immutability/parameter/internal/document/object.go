package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

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

// FromObject returns a decoded object as a tree. It takes what JSON decodes to, and any Go value that encodes to a JSON
// object, such as a typed API object.
func FromObject(object any) (*yaml.Node, error) {
	if _, decoded := object.(map[string]any); !decoded {
		data, err := json.Marshal(object)
		if err != nil {
			return nil, &parameter.ReadError{Message: err.Error()}
		}
		return LoadMapping(data, "an object")
	}
	return nodeOf(object)
}

func nodeOf(v any) (*yaml.Node, error) {
	scalar := func(tag, text string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
	}
	switch v := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v, Style: yaml.DoubleQuotedStyle}, nil
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case int:
		return scalar("!!int", strconv.Itoa(v))
	case float64:
		return scalar("!!float", strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		return scalar("!!float", v.String())
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			child, err := nodeOf(item)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		return n, nil
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name, _ := nodeOf(key)
			child, err := nodeOf(v[key])
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, name, child)
		}
		return n, nil
	}
	return nil, &parameter.ReadError{Message: fmt.Sprintf("the object holds a %T: JSON does not decode to one", v)}
}
