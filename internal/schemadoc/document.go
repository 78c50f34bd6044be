// Package schemadoc reads schemas with locks from OpenAPI documents and JSON Schemas. Users see it as package openapi,
// which says what is read. Here a document can also be one of a file that was read already, with its places.
package schemadoc

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Document is an OpenAPI document or a JSON Schema. Safe for concurrent use.
type Document struct {
	File string // as given to Read, for messages

	// Kinds are the Kubernetes kinds that the document describes, and the schemas of an OpenAPI document that none of
	// its kinds refers to, which have a name only. They are sorted by apiVersion and kind.
	Kinds []Kind

	// Root is the reference to the schema of a JSON Schema, "#"; "" for an OpenAPI document, and for the JSON Schema of
	// a Kubernetes kind.
	Root string

	document *yamldoc.Document
	anchors  map[string]string // name → JSON pointer
	id       string            // the document's own URI

	mu   sync.Mutex
	read map[string]*spec.Schema // by JSON pointer
}

// Kind is a Kubernetes kind and the reference to its schema.
type Kind struct {
	APIVersion string // "apps/v1", "v1" in the core group, or "" for a schema that does not say which kind it describes
	Kind       string // or the name of such a schema
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
		return nil, fmt.Errorf("%s: it has %d documents; an OpenAPI document or a JSON Schema is one",
			name, len(documents))
	}
	return FromDocument(documents[0])
}

// FromDocument makes a Document of one that was read from a file. It keeps the object and does not change it. It
// returns an error if the object is neither an OpenAPI document nor a JSON Schema; an object with apiVersion and kind,
// such as a CRD, is neither.
func FromDocument(document *yamldoc.Document) (*Document, error) {
	object := document.Object
	_, hasKind := object["kind"].(string)
	d := &Document{File: document.File, document: document, anchors: map[string]string{},
		read: map[string]*spec.Schema{}}
	isOpenAPI := object["swagger"] != nil || object["openapi"] != nil
	if !isOpenAPI && isSchema(object) {
		d.Root = "#"
	}
	hasSchemas := object["definitions"] != nil || object["$defs"] != nil ||
		fieldpath.Value(object, "components", "schemas") != nil
	if hasKind && object["apiVersion"] != nil || !isOpenAPI && d.Root == "" && !hasSchemas {
		return nil, &yamldoc.Error{File: document.File, Line: document.Position().Line,
			Message: "it is neither an OpenAPI document (with definitions or components.schemas) nor a JSON Schema " +
				"(with $schema, type or properties)"}
	}
	d.id, _ = object["$id"].(string)
	d.id = strings.TrimSuffix(d.id, "#")
	d.index(object, "")
	if d.Root == "" {
		d.addUnnamed()
	} else if d.addFromFile(); len(d.Kinds) > 0 && d.Kinds[0].Ref == d.Root {
		d.Root = "" // for objects of the kind
	}
	slices.SortFunc(d.Kinds, func(a, b Kind) int {
		return strings.Compare(a.APIVersion+" "+a.Kind+" "+a.Ref, b.APIVersion+" "+b.Kind+" "+b.Ref)
	})
	return d, nil
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
		group := fieldpath.Text(item, "group")
		version := fieldpath.Text(item, "version")
		kind := fieldpath.Text(item, "kind")
		if version == "" || kind == "" {
			continue
		}
		if group != "" {
			version = group + "/" + version
		}
		d.Kinds = append(d.Kinds, Kind{version, kind, "#" + path})
	}
}

// addUnnamed adds the schemas of an OpenAPI document that do not say which kind they describe, but for those that
// another listed schema refers to.
func (d *Document) addUnnamed() {
	listed := map[string]bool{}
	for _, kind := range d.Kinds {
		d.reach(kind.Ref, listed)
	}
	named := d.names()
	referred := map[string]bool{}
	for _, k := range named {
		path, _ := d.path(k.Ref)
		value, _, _ := d.at(path)
		for ref := range refsIn(value) {
			referred[ref] = referred[ref] || ref != k.Ref
		}
	}
	for _, onlyRoots := range [...]bool{true, false} { // a circle of schemas has no root
		for _, k := range named {
			if !listed[k.Ref] && !(onlyRoots && referred[k.Ref]) {
				d.Kinds = append(d.Kinds, k)
				d.reach(k.Ref, listed)
			}
		}
	}
}

// names returns the named schemas of the document, without an apiVersion.
func (d *Document) names() []Kind {
	var list []Kind
	for _, at := range [...]string{"/components/schemas", "/definitions", "/$defs"} {
		value, _, _ := d.at(at)
		schemas, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			list = append(list, Kind{Kind: name, Ref: "#" + at + "/" + pointer.Escape(name)})
		}
	}
	return list
}

// reach adds a reference, and all that its schema refers to.
func (d *Document) reach(ref string, reached map[string]bool) {
	if reached[ref] {
		return
	}
	reached[ref] = true
	if path, err := d.path(ref); err == nil {
		value, _, _ := d.at(path)
		for ref := range refsIn(value) {
			d.reach(ref, reached)
		}
	}
}

// refsIn returns the references below a value.
func refsIn(value any) map[string]bool {
	refs := map[string]bool{}
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if ref, ok := value["$ref"].(string); ok {
				refs[ref] = true
			}
			for _, below := range value {
				walk(below)
			}
		case []any:
			for _, item := range value {
				walk(item)
			}
		}
	}
	walk(value)
	return refs
}

// fileOfKind matches the files of catalogues of JSON Schemas: GROUP/KIND_VERSION.json, with a kind in small letters.
var fileOfKind = regexp.MustCompile(`(?:^|/)([a-z0-9.-]+\.[a-z0-9.-]+)/([a-z0-9]+)_(v[0-9]+(?:(?:alpha|beta)[0-9]+)?)\.json$`)

// addFromFile adds the kind that a JSON Schema of Kubernetes objects describes by the name of its file, if nothing in
// the schema says it.
func (d *Document) addFromFile() {
	name := fileOfKind.FindStringSubmatch(d.File)
	isObject := fieldpath.Value(d.document.Object, "properties", "apiVersion") != nil &&
		fieldpath.Value(d.document.Object, "properties", "kind") != nil
	if name != nil && isObject && len(d.Kinds) == 0 {
		d.Kinds = append(d.Kinds, Kind{name[1] + "/" + name[3], name[2], "#"})
	}
}

// Find returns the kind with an apiVersion and a name; case does not matter in the name. If several schemas describe
// it, the first by reference counts.
func (d *Document) Find(apiVersion, kind string) (Kind, bool) {
	i := slices.IndexFunc(d.Kinds, func(k Kind) bool {
		return k.APIVersion == apiVersion && strings.EqualFold(k.Kind, kind)
	})
	if i < 0 {
		return Kind{}, false
	}
	return d.Kinds[i], true
}

// path returns the JSON pointer that a reference means.
func (d *Document) path(ref string) (string, error) {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" && base != d.id {
		return "", fmt.Errorf("$ref %q: %w", ref, errOtherDocument)
	}
	text, err := url.PathUnescape(fragment)
	if err != nil {
		return "", fmt.Errorf("$ref %q: %w", ref, err)
	}
	if text == rootAnchor {
		return "", nil
	}
	if text == "" || text[0] == '/' {
		return text, nil
	}
	path, ok := d.anchors[text]
	if !ok {
		return "", fmt.Errorf("$ref %q: the document has no anchor %q", ref, text)
	}
	return path, nil
}

// at returns the value at a JSON pointer, and the steps that lead to it. If there is none, the steps are those of the
// last value on the way.
func (d *Document) at(path string) (value any, steps []any, err error) {
	value = d.document.Object
	for _, name := range pointer.Names(path) {
		var below any
		var step any = name
		found := false
		switch container := value.(type) {
		case map[string]any:
			below, found = container[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(container) {
				below, step, found = container[i], i, true
			}
		}
		if !found {
			return nil, steps, fmt.Errorf("the document has no schema at %q", path)
		}
		value, steps = below, append(steps, step)
	}
	return value, steps, nil
}

var errOtherDocument = errors.New("it leads to another document; references within the document are followed")

// Resolve returns the schema that a reference names: the Ref of a Kind, Root, or a $ref in the document. It is what
// immutability.WithResolver takes. It returns an error if there is no such schema, if it is in another document, or if
// a keyword has a value of the wrong form. The schema is shared: change a copy. Cost: O(schema) the first time.
func (d *Document) Resolve(ref string) (*spec.Schema, error) {
	path, err := d.path(ref)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.read[path]; ok {
		return s, nil
	}
	value, steps, err := d.at(path)
	if err != nil {
		return nil, err
	}
	c := converter{}
	raw := c.schema(value, path)
	if c.err != nil {
		return nil, c.err
	}
	s, wrong := rawschema.Schema(raw)
	if wrong != nil {
		slices.Reverse(wrong.Steps)
		return nil, d.document.Errorf(slices.Concat(steps, wrong.Steps), "%s", wrong.Message)
	}
	d.read[path] = s
	return s, nil
}

// Position returns the place in the file of the schema node that a schema path from the schema of ref leads to, or of
// the last node on the way that exists. A schema path that begins with a reference starts there. Columns count
// characters.
func (d *Document) Position(ref, schemaPath string) token.Position {
	if strings.HasPrefix(schemaPath, "#") {
		ref, schemaPath = schemaPath, ""
	}
	var steps []any
	if path, err := d.path(ref); err == nil {
		_, steps, _ = d.at(path + schemaPath)
	}
	at := d.document.Position(steps...)
	return token.Position{Filename: d.File, Line: at.Line, Column: at.Column}
}
