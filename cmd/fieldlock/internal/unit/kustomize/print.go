package kustomize

import (
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
)

// printJSON returns the JSON of an object that kustomize's MarshalJSON returns. MarshalJSON prints YAML and reads it
// again; this writes the nodes, and leaves to it only the objects whose YAML has more than JSON.
func printJSON(r *resource.Resource) ([]byte, error) {
	w := jsonWriter{}
	if w.write(r.YNode()) != nil {
		return r.MarshalJSON()
	}
	return w.text, nil
}

// errNotPlain is the error of an object whose YAML has more than JSON, such as anchors or a repeated key.
var errNotPlain = errors.New("it is not plain")

// jsonWriter writes YAML nodes as JSON.
type jsonWriter struct {
	text []byte
}

func (w *jsonWriter) write(n *yaml.Node) error {
	if n.Anchor != "" {
		return errNotPlain
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n)
	case yaml.SequenceNode:
		w.text = append(w.text, '[')
		for i, item := range n.Content {
			if i > 0 {
				w.text = append(w.text, ',')
			}
			if err := w.write(item); err != nil {
				return err
			}
		}
		w.text = append(w.text, ']')
		return nil
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	return errNotPlain
}

func (w *jsonWriter) mapping(n *yaml.Node) error {
	w.text = append(w.text, '{')
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" || seen[key.Value] {
			return errNotPlain
		}
		if seen[key.Value] = true; i > 0 {
			w.text = append(w.text, ',')
		}
		if err := w.scalar(key); err != nil {
			return err
		}
		w.text = append(w.text, ':')
		if err := w.write(value); err != nil {
			return err
		}
	}
	w.text = append(w.text, '}')
	return nil
}

func (w *jsonWriter) scalar(n *yaml.Node) error {
	var value any = n.Value
	if n.ShortTag() != "!!str" {
		if err := n.Decode(&value); err != nil {
			return err
		}
	}
	text, err := json.Marshal(value)
	w.text = append(w.text, text...)
	return err
}
