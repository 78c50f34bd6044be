package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// File is a file of CRDs that is printed again with changes. What does not change keeps its order, its comments and
// the spelling of its values.
type File struct {
	documents []*yaml.Node
	crds      []crdNode
}

// crdNode is a CRD and the mapping that it was read from.
type crdNode struct {
	*crd.CRD
	node *yaml.Node
}

// Read reads the CRDs of one file; messages call it name.
func Read(name string, data []byte) (*File, error) {
	crds, err := crd.Read(name, data)
	if err != nil {
		return nil, err
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("%s: there is no CustomResourceDefinition in it; give the file of a CRD", name)
	}
	f := &File{}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
			f.documents = append(f.documents, &document)
			f.collect(document.Content[0])
		}
	}
	if len(f.crds) != len(crds) {
		return nil, fmt.Errorf("%s: its %d CRDs cannot be printed again; give one document for each CRD", name, len(crds))
	}
	for i, c := range crds {
		if c.APIVersion != "apiextensions.k8s.io/v1" {
			return nil, fmt.Errorf("%s: the CRD %s is %s, which has no CEL rules; convert it to apiextensions.k8s.io/v1", name, c.Name, c.APIVersion)
		}
		f.crds[i].CRD = c
	}
	return f, nil
}

// collect finds the CRDs in a document, also as items of a List.
func (f *File) collect(node *yaml.Node) {
	switch kind := member(node, "kind"); {
	case kind == nil:
	case kind.Value == "CustomResourceDefinition":
		f.crds = append(f.crds, crdNode{node: node})
	case strings.HasSuffix(kind.Value, "List"):
		if items := member(node, "items"); items != nil && items.Kind == yaml.SequenceNode {
			for _, item := range items.Content {
				f.collect(item)
			}
		}
	}
}

// Write prints the documents, and more after them.
func (f *File) Write(w io.Writer, more ...any) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if !slices.ContainsFunc(f.documents, indentsLists) {
		encoder.CompactSeqIndent()
	}
	for _, document := range f.documents {
		if err := encoder.Encode(document); err != nil {
			return err
		}
	}
	for _, object := range more {
		if err := encoder.Encode(object); err != nil {
			return err
		}
	}
	return encoder.Close()
}

// indentsLists reports whether the first list in node is written further to the right than its key.
func indentsLists(node *yaml.Node) bool {
	indented, found := false, false
	var walk func(*yaml.Node)
	walk = func(node *yaml.Node) {
		for i, child := range node.Content {
			if found {
				return
			}
			if node.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.SequenceNode && child.Style&yaml.FlowStyle == 0 && len(child.Content) > 0 {
				found, indented = true, child.Column > node.Content[i-1].Column
				return
			}
			walk(child)
		}
	}
	walk(node)
	return indented
}

// Objects returns the documents as JSON values.
func (f *File) Objects() ([]any, error) {
	var objects []any
	for _, document := range f.documents {
		var object any
		if err := document.Decode(&object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// change makes changes in the schema of one version.
func (c *crdNode) change(version string, changes []celrule.Change) error {
	root := c.schema(version)
	for _, change := range changes {
		node := at(root, change.SchemaPath)
		if node == nil {
			return fmt.Errorf("%s: the CRD %s has no %s in its version %s", c.File, c.Name, change.SchemaPath, version)
		}
		if err := changeNode(node, change); err != nil {
			return err
		}
	}
	return nil
}

// schema is the openAPIV3Schema of a version, nil when there is none.
func (c *crdNode) schema(version string) *yaml.Node {
	spec := member(c.node, "spec")
	versions := member(spec, "versions")
	if versions == nil {
		return nil
	}
	for _, v := range versions.Content {
		if name := member(v, "name"); name != nil && name.Value == version {
			return member(member(v, "schema"), "openAPIV3Schema")
		}
	}
	return nil
}

// setAnnotation sets or, for "", removes an annotation of the CRD.
func (c *crdNode) setAnnotation(key, value string) error {
	metadata := member(c.node, "metadata")
	annotations := member(metadata, "annotations")
	if value == "" {
		if annotations != nil {
			remove(annotations, key)
			if len(annotations.Content) == 0 {
				remove(metadata, "annotations")
			}
		}
		return nil
	}
	if annotations == nil {
		annotations = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		metadata.Content = append([]*yaml.Node{scalar("annotations"), annotations}, metadata.Content...)
	}
	return set(annotations, key, value)
}

// restore puts the marks of the annotation on the nodes of the schema, which the version's Schema has them on already.
func (c *crdNode) restore(v *crd.Version) error {
	var marks map[string]map[string]map[string]any
	text, err := c.Annotation()
	if err != nil || text == "" {
		return err
	}
	if err := json.Unmarshal([]byte(text), &marks); err != nil {
		return err
	}
	var changes []celrule.Change
	for _, path := range slices.Sorted(maps.Keys(marks[v.Name])) {
		changes = append(changes, celrule.Change{SchemaPath: path, SetKeys: marks[v.Name][path]})
	}
	return c.change(v.Name, changes)
}

// at follows a schema path from node.
func at(node *yaml.Node, path string) *yaml.Node {
	for _, name := range pointer.Names(path) {
		if node = member(node, name); node == nil {
			return nil
		}
	}
	return node
}

// changeNode makes one change at the mapping of a schema node.
func changeNode(node *yaml.Node, change celrule.Change) error {
	for _, key := range change.DropKeys {
		remove(node, key)
	}
	for _, key := range slices.Sorted(maps.Keys(change.SetKeys)) {
		if err := set(node, key, change.SetKeys[key]); err != nil {
			return err
		}
	}
	rules := member(node, schema.KeyValidations)
	if rules == nil && len(change.AddRules) > 0 {
		rules = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		node.Content = append(node.Content, scalar(schema.KeyValidations), rules)
	}
	if rules == nil {
		return nil
	}
	var kept []*yaml.Node
	for i, rule := range rules.Content {
		if !slices.Contains(change.DropRules, i) {
			kept = append(kept, rule)
		}
	}
	for _, rule := range change.AddRules {
		var added yaml.Node
		if err := added.Encode(rule); err != nil {
			return err
		}
		kept = append(kept, &added)
	}
	rules.Content = kept
	if len(kept) == 0 {
		remove(node, schema.KeyValidations)
	}
	return nil
}

// member returns the value under key of a mapping, through aliases; nil when there is none.
func member(node *yaml.Node, key string) *yaml.Node {
	node = target(node)
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return target(node.Content[i+1])
		}
	}
	return nil
}

func target(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func remove(node *yaml.Node, key string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			node.Content = slices.Delete(node.Content, i, i+2)
			return
		}
	}
}

// set puts a value under key of a mapping.
func set(node *yaml.Node, key string, value any) error {
	var encoded yaml.Node
	if err := encoded.Encode(value); err != nil {
		return err
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			node.Content[i+1] = &encoded
			return nil
		}
	}
	node.Content = append(node.Content, scalar(key), &encoded)
	return nil
}

func scalar(value string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
