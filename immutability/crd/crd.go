package crd

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
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

// Compile compiles the version's schema. Its error names file, CRD and version, and errors.As finds the
// *immutability.SchemaError in it.
func (v *Version) Compile(opts ...immutability.Option) (*immutability.Validator, error) {
	validator, err := immutability.Compile(v.Schema, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s, version %s: %w", v.crd.subject(), v.Name, err)
	}
	return validator, nil
}

// Position returns the place in the file of the schema node that a schema path (a JSON pointer such as
// "/properties/spec/properties/class") leads to, or the last node on the way that exists. It is the zero Position for
// a CRD that comes from no file.
func (v *Version) Position(schemaPath string) Position {
	if v.steps == nil {
		return v.crd.Position()
	}
	return v.crd.Position(append(v.steps[:len(v.steps):len(v.steps)], v.stepsOf(schemaPath)...)...)
}

// stepsOf turns the tokens of a schema path into steps: names in objects, indices in lists.
func (v *Version) stepsOf(schemaPath string) []any {
	var steps []any
	var value any = v.raw
	for _, token := range pointer.Names(schemaPath) {
		var step any = token
		if _, ok := value.([]any); ok {
			if i, err := strconv.Atoi(token); err == nil {
				step = i
			}
		}
		steps = append(steps, step)
		value = yamldoc.At(value, step)
	}
	return steps
}

// Catalog finds the version of a CRD that an object is of.
type Catalog struct {
	crds map[schema.GroupKind]*CRD
}

// NewCatalog makes a catalog of crds. Two CRDs of one group and kind are an error that names both files.
func NewCatalog(crds ...*CRD) (*Catalog, error) {
	c := &Catalog{make(map[schema.GroupKind]*CRD, len(crds))}
	for _, crd := range crds {
		gk := schema.GroupKind{Group: crd.Group, Kind: crd.Kind}
		if other, ok := c.crds[gk]; ok {
			return nil, fmt.Errorf("%s: it defines %s, as does %s; give one of them", crd.place(), gk, other.place())
		}
		c.crds[gk] = crd
	}
	return c, nil
}

// place names the CRD with its file and line.
func (c *CRD) place() string {
	if at := c.Position(); c.File != "" && at.Line > 0 {
		return fmt.Sprintf("%s:%d: %s %s", c.File, at.Line, kindCRD, c.Name)
	}
	return c.subject()
}

// Find returns the version that an object's apiVersion and kind name. It is nil without an error when no CRD of the
// catalog covers the kind, and an error when one does that has no such version, or when apiVersion is malformed.
func (c *Catalog) Find(apiVersion, kind string) (*Version, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, fmt.Errorf(`the apiVersion is %q; it is "GROUP/VERSION", such as "example.com/v1"`, apiVersion)
	}
	crd, ok := c.crds[schema.GroupKind{Group: gv.Group, Kind: kind}]
	if !ok {
		return nil, nil
	}
	v := crd.Version(gv.Version)
	if v == nil {
		return nil, fmt.Errorf("the apiVersion is %q; %s has no version %q, its versions are %s", apiVersion, crd.subject(), gv.Version, crd.versionNames())
	}
	return v, nil
}
