package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Document is an OpenAPI document or a JSON Schema. Safe for concurrent use.
type Document struct {
	File string // as given to Read, for messages

	// Kinds are the Kubernetes kinds that the document describes, sorted by apiVersion and kind.
	Kinds []Kind

	// Root is the reference to the schema of a JSON Schema, "#"; "" for an OpenAPI document.
	Root string

	document *yamldoc.Document
	anchors  map[string]string // name → JSON pointer
	id       string            // the document's own URI

	mu   sync.Mutex
	read map[string]*spec.Schema // by JSON pointer
}

// Kind is a Kubernetes kind and the reference to its schema.
type Kind struct {
	APIVersion string // "apps/v1", or "v1" in the core group
	Kind       string
	Ref        string // for Document.Resolve
}

// Read reads a document from YAML or JSON. It returns an error if the text is malformed, or neither an OpenAPI document
// nor a JSON Schema. Cost: one pass over the text.
func Read(name string, data []byte) (*Document, error) {
	documents, err := yamldoc.Read(name, data)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("%s: it has %d documents; an OpenAPI document or a JSON Schema is one", name, len(documents))
	}
	d := FromDocument(documents[0])
	if d == nil {
		return nil, &yamldoc.Error{File: name, Line: documents[0].Position().Line,
			Message: "it is neither an OpenAPI document (with definitions or components.schemas) nor a JSON Schema (with $schema, type or properties)"}
	}
	return d, nil
}

// FromDocument makes a Document of one that was read from a file, which it keeps and does not change. It returns nil for
// an object that is neither an OpenAPI document nor a JSON Schema; an object with apiVersion and kind, such as a CRD, is
// neither.
func FromDocument(document *yamldoc.Document) *Document {
	object := document.Object
	if _, ok := object["kind"].(string); ok && object["apiVersion"] != nil {
		return nil
	}
	d := &Document{File: document.File, document: document, anchors: map[string]string{}, read: map[string]*spec.Schema{}}
	switch {
	case object["swagger"] != nil || object["openapi"] != nil:
	case isSchema(object):
		d.Root = "#"
	case object["definitions"] == nil && object["$defs"] == nil && yamldoc.At(object, "components", "schemas") == nil:
		return nil
	}
	d.id, _ = object["$id"].(string)
	d.id = strings.TrimSuffix(d.id, "#")
	d.index(object, "")
	slices.SortFunc(d.Kinds, func(a, b Kind) int {
		return strings.Compare(a.APIVersion+" "+a.Kind+" "+a.Ref, b.APIVersion+" "+b.Kind+" "+b.Ref)
	})
	return d
}

// isSchema reports whether an object has what only a JSON Schema has at its root.
func isSchema(object map[string]any) bool {
	_, isText := object["$schema"].(string)
	_, hasProperties := object["properties"].(map[string]any)
	_, hasRef := object["$ref"].(string)
	return isText || hasProperties || hasRef || object["type"] == "object"
}

// index finds the kinds and anchors below value.
func (d *Document) index(value any, path string) {
	switch value := value.(type) {
	case map[string]any:
		if name, ok := value["$anchor"].(string); ok {
			d.anchors[name] = path
		}
		if id, ok := value["$id"].(string); ok && strings.HasPrefix(id, "#") { // draft 7
			d.anchors[id[1:]] = path
		}
		d.addKinds(value["x-kubernetes-group-version-kind"], path)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			switch key {
			case "paths", "default", "enum", "const", "example", "examples":
				continue // no schemas to refer to
			}
			d.index(value[key], path+"/"+pointer.Escape(key))
		}
	case []any:
		for i, item := range value {
			d.index(item, fmt.Sprintf("%s/%d", path, i))
		}
	}
}

// addKinds adds the kinds that an x-kubernetes-group-version-kind lists for the schema at a path.
func (d *Document) addKinds(value any, path string) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, item := range list {
		group, _ := yamldoc.At(item, "group").(string)
		version, _ := yamldoc.At(item, "version").(string)
		kind, _ := yamldoc.At(item, "kind").(string)
		if version == "" || kind == "" {
			continue
		}
		if group != "" {
			version = group + "/" + version
		}
		d.Kinds = append(d.Kinds, Kind{version, kind, "#" + path})
	}
}

// Find returns the kind with an apiVersion and a name. If several schemas describe it, the first by reference counts.
func (d *Document) Find(apiVersion, kind string) (Kind, bool) {
	i := slices.IndexFunc(d.Kinds, func(k Kind) bool { return k.APIVersion == apiVersion && k.Kind == kind })
	if i < 0 {
		return Kind{}, false
	}
	return d.Kinds[i], true
}
