// Package openapi reads schemas with locks from OpenAPI documents, v2 and v3, and from JSON Schemas (drafts 4 to
// 2020-12).
//
//	document, err := openapi.Read("openapi.json", data)
//	kind, ok := document.Find("apps/v1", "Deployment")
//	schema, err := document.Resolve(kind.Ref)
//	validator, err := immutability.Compile(schema, immutability.WithResolver(document.Resolve))
//
// An OpenAPI document of an API server says in x-kubernetes-group-version-kind which kind a schema describes; the
// schemas of other documents have a name only. A JSON Schema describes one document, such as the values of a Helm
// chart: it is Document.Root. One that a catalogue keeps as GROUP/KIND_VERSION.json describes the objects of that kind.
//
// References lead within the document: "#/components/schemas/NAME", "#/definitions/NAME", "#/$defs/NAME", any other
// JSON pointer, "#NAME" for an anchor, and the document's own $id. Schemas are read when they are asked for, so that a
// few kinds of a large document cost little.
//
// It is not a validator of JSON Schema: keywords that only validate are passed on or dropped. A lock below one of them,
// where it would lock nothing, is an error.
package openapi

import (
	"errors"
	"fmt"
	"go/token"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Document is an OpenAPI document or a JSON Schema. It is safe for concurrent use. The zero Document and nil have no
// kinds, and Compile and Resolve return an error.
type Document struct {
	File string // as given to Read, for messages

	// Kinds are the Kubernetes kinds that the document describes, and the schemas of an OpenAPI document that none of
	// its kinds refers to, which have a name only. They are sorted by apiVersion and kind.
	Kinds []Kind

	// Root is the reference to the schema of a JSON Schema, "#"; "" for an OpenAPI document, and for the JSON Schema of
	// a Kubernetes kind.
	Root string

	document *schemadoc.Document
}

// Kind is a Kubernetes kind and the reference to its schema.
type Kind struct {
	APIVersion string // "apps/v1", "v1" in the core group, or "" for a schema that does not say which kind it describes
	Kind       string // or the name of such a schema
	Ref        string // for Document.Resolve
}

// Read reads a document from YAML or JSON. It returns an error if the text is malformed, or neither an OpenAPI document
// nor a JSON Schema. Cost: one pass over the text.
func Read(name string, data []byte) (*Document, error) { return faced(schemadoc.Read(name, data)) }

// FromUnstructured makes a Document of a decoded object, which it keeps and does not change. It returns an error if the
// object is neither an OpenAPI document nor a JSON Schema; an object with apiVersion and kind, such as a CRD, is
// neither. The places of its schemas are not known: Read knows them.
func FromUnstructured(object map[string]any) (*Document, error) {
	return faced(schemadoc.FromDocument(&yamldoc.Document{Object: object}))
}

func faced(document *schemadoc.Document, err error) (*Document, error) {
	if err != nil {
		return nil, err
	}
	d := &Document{File: document.File, Root: document.Root, document: document}
	for _, kind := range document.Kinds {
		d.Kinds = append(d.Kinds, Kind(kind))
	}
	return d, nil
}

// Find returns the kind with an apiVersion and a name; case does not matter in the name. If several schemas describe
// it, the first by reference counts.
func (d *Document) Find(apiVersion, kind string) (Kind, bool) {
	if d.undefined() {
		return Kind{}, false
	}
	found, ok := d.document.Find(apiVersion, kind)
	return Kind(found), ok
}

// undefined reports whether d is nil or was not read.
func (d *Document) undefined() bool { return d == nil || d.document == nil }

// Resolve returns the schema that a reference names: the Ref of a Kind, Root, or a $ref in the document. It is what
// immutability.WithResolver takes. It returns an error if there is no such schema, if it is in another document, or if
// a keyword has a value of the wrong form. The schema is shared: change a copy. Cost: O(schema) the first time.
func (d *Document) Resolve(ref string) (*spec.Schema, error) {
	if d.undefined() {
		return nil, errors.New("there is no document: get one from Read or FromUnstructured")
	}
	return d.document.Resolve(ref)
}

// Compile compiles the schema that a reference leads to, with the references of the document.
func (d *Document) Compile(ref string, opts ...immutability.Option) (*immutability.Validator, error) {
	s, err := d.Resolve(ref)
	if err != nil {
		return nil, err
	}
	validator, err := immutability.Compile(s,
		append([]immutability.Option{immutability.WithResolver(d.Resolve)}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", d.File, ref, err)
	}
	return validator, nil
}

// Position returns the place in the file of the schema node that a schema path from the schema of ref leads to, or of
// the last node on the way that exists. A schema path that begins with a reference starts there. Columns count
// characters.
func (d *Document) Position(ref, schemaPath string) token.Position {
	if d.undefined() {
		return token.Position{}
	}
	return d.document.Position(ref, schemaPath)
}
