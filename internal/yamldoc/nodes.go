package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

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

// loadNode reads the next document. The parser gives up on states that it believes impossible with a panic; for a reader
// of files from anywhere, such a text is malformed too.
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
