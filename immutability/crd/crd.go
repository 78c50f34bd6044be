package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

const (
	group   = "apiextensions.k8s.io"
	v1      = group + "/v1"
	v1beta1 = group + "/v1beta1"

	kindCRD = "CustomResourceDefinition"
)

// The types of files and the places in them.
type (
	// Document is one object of a file, with the means to find its parts in the file again.
	Document = yamldoc.Document
	// Position is a place in a file, counted from 1 in lines and characters.
	Position = yamldoc.Position
	// Error is a mistake in a file, with its place.
	Error = yamldoc.Error
)

// CRD is a CustomResourceDefinition with the locks of its schemas, which the API types have no room for.
type CRD struct {
	File string // "" for an object that was not read from a file

	Name       string // of the CustomResourceDefinition: "widgets.example.com"
	APIVersion string // of the document: "apiextensions.k8s.io/v1" or "apiextensions.k8s.io/v1beta1"

	Group, Kind, Plural string // of the objects that it defines

	// PreserveUnknownFields turns pruning off for the whole object. In v1beta1 it is true unless said otherwise.
	PreserveUnknownFields bool

	Conversion string // strategy between the versions: "None" unless said otherwise, or "Webhook"

	Versions []*Version // in the order of the document; never empty

	document *Document
}

// Read reads the CRDs of a file: raw YAML or JSON, one document or many, also as items of a List. Objects of other
// kinds are skipped, so a file without any CRD gives an empty list and no error. The name is used in messages and as
// CRD.File.
//
// A CRD needs versions, and each version a schema (in v1beta1: at least one of them, or the CRD as a whole). The locks
// of its annotation AnnotationKey are merged into the schemas. Read returns the CRDs that it can read, and an error that
// joins one *Error for each document or CRD that it cannot.
func Read(name string, data []byte) ([]*CRD, error) {
	documents, err := yamldoc.Read(name, data)
	errs := []error{err}
	var crds []*CRD
	for _, document := range documents {
		crd, err := FromDocument(document)
		errs = append(errs, err)
		if crd != nil {
			crds = append(crds, crd)
		}
	}
	return crds, errors.Join(errs...)
}

// ReadDocuments reads the objects of a file, of any kind: YAML of one or more documents, JSON, or JSON objects one after
// another, as kubectl reads them. The items of a List count as objects of their own. It returns the objects that it can
// read, and an error that joins one *Error for each document that it cannot.
func ReadDocuments(name string, data []byte) ([]*Document, error) { return yamldoc.Read(name, data) }

// FromObject makes a CRD of an object of the API. Its schemas lost every lock on the way through the API types: the locks
// are those of the annotation AnnotationKey.
func FromObject(object *apiextensionsv1.CustomResourceDefinition) (*CRD, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be written as JSON: %w", kindCRD, object.GetName(), err)
	}
	value, err := yamldoc.ReadJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kindCRD, object.GetName(), err)
	}
	fields, _ := value.(map[string]any)
	if fields == nil {
		return nil, fmt.Errorf("the %s is nil", kindCRD)
	}
	// A typed object of a client has no type meta.
	fields["apiVersion"], fields["kind"] = v1, kindCRD
	return FromUnstructured(fields)
}

// FromUnstructured makes a CRD of a decoded object, which it keeps and does not change. An object of another kind is
// an error.
func FromUnstructured(object map[string]any) (*CRD, error) {
	d := &Document{Object: object}
	crd, err := FromDocument(d)
	if err == nil && crd == nil {
		return nil, d.Errorf([]any{"kind"}, "it is %s; a schema comes from a %s", yamldoc.Describe(object["kind"]), kindCRD)
	}
	return crd, err
}

// FromDocument makes a CRD of a document, which it keeps. For an object of another kind it returns nil and no error.
func FromDocument(d *Document) (*CRD, error) {
	apiVersion, _ := d.Object["apiVersion"].(string)
	switch kind := d.Object["kind"]; {
	case kind == kindCRD:
	case kind == nil && strings.HasPrefix(apiVersion, group+"/"):
		return nil, d.Errorf(nil, "it has no kind; of %s, this reads the kind %s", apiVersion, kindCRD)
	default:
		return nil, nil
	}
	if apiVersion != v1 && apiVersion != v1beta1 {
		return nil, d.Errorf([]any{"apiVersion"}, "it is %s; the apiVersion of a %s is %s or %s", yamldoc.Describe(d.Object["apiVersion"]), kindCRD, v1, v1beta1)
	}
	r := reader{d: d}
	crd := r.crd(apiVersion)
	if r.err != nil {
		return nil, r.err
	}
	return crd, nil
}

// Version returns the version of that name, or nil.
func (c *CRD) Version(name string) *Version {
	for _, v := range c.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Position returns the place in the CRD's file of the value that steps lead to, as Document.Position does.
func (c *CRD) Position(steps ...any) Position { return c.document.Position(steps...) }

// subject names the CRD in messages.
func (c *CRD) subject() string {
	if c.File == "" {
		return kindCRD + " " + c.Name
	}
	return c.File + ": " + kindCRD + " " + c.Name
}

// AnnotationKey is the annotation of a CRD that carries its locks through a stock API server, which drops the extension
// keys that it does not know. Its value is JSON: version → schema path → extension keys as they are on that node, as in
//
//	{"v1": {"/properties/spec/properties/class": {"x-kubernetes-immutable": true}}}
const AnnotationKey = rawschema.AnnotationKey

var annotationSteps = []any{"metadata", "annotations", AnnotationKey}

// Annotation returns the value of AnnotationKey that carries every lock and normalization of the CRD's schemas, in a form
// that depends on these only, or "". Topology (list types, map keys) is left out: an API server keeps
// it. It returns an error if the value is larger than an annotation may be.
func (c *CRD) Annotation() (string, error) {
	annotation := make(rawschema.Annotation)
	for _, v := range c.Versions {
		annotation.Add(v.Name, v.raw)
	}
	value, err := annotation.Encode()
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.subject(), err)
	}
	return value, nil
}

// versionNames lists the versions for a message.
func (c *CRD) versionNames() string {
	names := make([]string, len(c.Versions))
	for i, v := range c.Versions {
		names[i] = v.Name
	}
	return strings.Join(names, ", ")
}
