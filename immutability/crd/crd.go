package crd

import (
	"fmt"
	"strings"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

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

	Scope string // of the objects: "Namespaced" unless said otherwise, or "Cluster"

	// PreserveUnknownFields turns pruning off for the whole object. In v1beta1 it is true unless said otherwise.
	PreserveUnknownFields bool

	Conversion string // strategy between the versions: "None" unless said otherwise, or "Webhook"

	Versions []*Version // in the order of the document; never empty

	document *Document
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

// Version is one version of a CRD.
type Version struct {
	Name            string
	Served, Storage bool

	// Schema is the openAPIV3Schema with every x- key of the document and the marks of the annotation; empty, and never
	// nil, for a version of v1beta1 that has none. It is shared: change a copy.
	Schema *spec.Schema

	crd   *CRD
	steps []any          // from the document to the schema, or nil
	raw   map[string]any // the schema as decoded, with the locks of the annotation

	once       sync.Once
	structural *structuralschema.Structural
	err        error
}

// CRD returns the CRD that the version belongs to.
func (v *Version) CRD() *CRD { return v.crd }
