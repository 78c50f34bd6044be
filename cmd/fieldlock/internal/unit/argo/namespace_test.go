package argo

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Namespaced returns objects as Argo CD compares them with the cluster: an object without a namespace gets that of the
// destination, and one of a kind without namespaces loses it. Clusterwide reports whether a kind has no namespaces; a
// kind that it does not know has them. Objects that need no change are returned as they are. The tests hold them
// against what Argo CD itself would apply.
func Namespaced(
	objects []rendered.Object, namespace string, clusterwide func(apiVersion, kind string) bool,
) ([]rendered.Object, error) {
	result := make([]rendered.Object, len(objects))
	for i, o := range objects {
		changed, err := namespaced(o.YAML, namespace, clusterwide)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.File, err)
		}
		o.YAML = changed
		result[i] = o
	}
	return result, nil
}

func namespaced(content []byte, namespace string, clusterwide func(apiVersion, kind string) bool) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return content, nil
	}
	object := document.Content[0]
	if !namespaceObject(object, namespace, clusterwide) {
		return content, nil
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// namespaceObject changes the namespace of an object, or of the items of a list, and reports whether it did.
func namespaceObject(object *yaml.Node, namespace string, clusterwide func(apiVersion, kind string) bool) bool {
	if items := child(object, "items"); items != nil && items.Kind == yaml.SequenceNode {
		changed := false
		for _, item := range items.Content {
			changed = namespaceObject(item, namespace, clusterwide) || changed
		}
		return changed
	}
	apiVersion, kind, metadata := child(object, "apiVersion"), child(object, "kind"), child(object, "metadata")
	if apiVersion == nil || kind == nil || metadata == nil || metadata.Kind != yaml.MappingNode {
		return false
	}
	written := child(metadata, "namespace")
	has := written != nil && written.Tag != "!!null" && written.Value != ""
	switch {
	case clusterwide(apiVersion.Value, kind.Value):
		if has {
			remove(metadata, "namespace")
		}
		return has
	case has || namespace == "":
		return false
	}
	remove(metadata, "namespace")
	metadata.Content = append(metadata.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Value: "namespace"},
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: namespace})
	return true
}

func child(object *yaml.Node, name string) *yaml.Node {
	if object.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return object.Content[i+1]
		}
	}
	return nil
}

func remove(object *yaml.Node, name string) {
	kept := object.Content[:0]
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value != name {
			kept = append(kept, object.Content[i], object.Content[i+1])
		}
	}
	object.Content = kept
}
