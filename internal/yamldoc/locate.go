package yamldoc

import (
	"sync"

	"go.yaml.in/yaml/v3"
)

// yamlSource is a document that was read as YAML. Its nodes take many times the room of its text, and few documents are
// asked for places: so they are parsed again for the first one. Safe for concurrent use.
type yamlSource struct {
	*piece
	index int // of the document in the piece

	once sync.Once
	node *yaml.Node
}

// parsed returns the document.
func (s *yamlSource) parsed() *yaml.Node {
	s.once.Do(func() {
		i := 0
		for node := range s.nodes {
			if s.node = node; i == s.index {
				return
			}
			i++
		}
	})
	return s.node
}

func (s *yamlSource) find(steps []any) Position {
	node := s.parsed()
	at := node
	for _, step := range steps {
		key, value := nodeChild(node, step, 0)
		if value == nil {
			break
		}
		at, node = key, value
	}
	return Position{s.line + at.Line, at.Column}
}

// nodeChild returns the node one step below node, and the node where it begins: its key, or itself in a list. Both are
// nil when there is none.
func nodeChild(node *yaml.Node, step any, merges int) (key, value *yaml.Node) {
	node = aliased(node)
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step >= 0 && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	case string:
		if node.Kind != yaml.MappingNode {
			return nil, nil
		}
		// What comes later wins, as in converter.mapping.
		for i := len(node.Content) - 2; i >= 0; i -= 2 {
			key, value := node.Content[i], node.Content[i+1]
			if !isMerge(key) {
				if name, err := keyOf(key); err == nil && name == step {
					return key, value
				}
				continue
			}
			if merges > maxMerges {
				continue
			}
			for _, merged := range mergeSources(value) {
				if key, value := nodeChild(merged, step, merges+1); value != nil {
					return key, value
				}
			}
		}
	}
	return nil, nil
}
