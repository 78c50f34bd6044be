// Package crd reads CustomResourceDefinitions with the marks that the API types have no room for.
//
//	crds, err := crd.Read("crds.yaml", data)
//	...
//	version, ok := crds[0].Version("v1")
//	...
//	validator, err := version.Compile() // once
//	...
//	errs := validator.ValidateUpdate(newObj, oldObj)
//
// A webhook gets objects that the API server has prepared already, and package admission's loader does the rest.
// Objects from manifests go through package prepare first, which prunes them and sets their defaults.
//
// A stock API server drops the marks from a CRD. They live in its document (Read), or in the annotation AnnotationKey,
// which survives the server (FromObject, CRD.Annotation).
//
// Documents are read strictly: a key that a mapping has twice, text that is not UTF-8 or a keyword with a value of the
// wrong form is an error with file, line and path. Integers keep their value, in defaults as well. Every value
// remembers its place in the file (CRD.Position, Version.Position).
//
// It is not a validator of CRDs: what does not matter to locks, pruning and defaulting is not checked.
package crd

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

const (
	group   = "apiextensions.k8s.io"
	v1      = group + "/v1"
	v1beta1 = group + "/v1beta1"

	kindCRD = "CustomResourceDefinition"
)

// CRD is a CustomResourceDefinition with the locks of its schemas, which the API types have no room for. Get one from
// Read or FromObject: the zero CRD and nil have no versions and no annotation.
type CRD struct {
	File string // "" for an object that was not read from a file

	Name       string // of the CustomResourceDefinition: "widgets.example.com"
	APIVersion string // of the document: "apiextensions.k8s.io/v1" or "apiextensions.k8s.io/v1beta1"

	Group, Kind, Plural string // of the objects that it defines

	Scope string // of the objects: "Namespaced" unless said otherwise, or "Cluster"

	// PreserveUnknownFields turns pruning off for the whole object. In v1beta1 it is true unless said otherwise.
	PreserveUnknownFields bool

	Conversion Conversion // between the versions: ConversionNone unless said otherwise

	Versions []*Version // in the order of the document; never empty

	document *yamldoc.Document
}

// Conversion is how an API server converts objects between the versions of a CRD.
type Conversion string

// The conversions.
const (
	ConversionNone    Conversion = "None" // only apiVersion changes
	ConversionWebhook Conversion = "Webhook"
)

// Version returns the version of that name. ok is false if the CRD has no such version.
func (c *CRD) Version(name string) (v *Version, ok bool) {
	if c == nil {
		return nil, false
	}
	for _, v := range c.Versions {
		if v.Name == name {
			return v, true
		}
	}
	return nil, false
}

// Position returns the place in the CRD's file of the value that steps lead to, each step a member name (string) or an
// index (int): for a member the place of its name. Where the way ends early it is the place of the last value on it.
// Columns count characters. It is the zero Position for a CRD that comes from no file.
func (c *CRD) Position(steps ...any) token.Position {
	if c == nil {
		return token.Position{}
	}
	at := c.document.Position(steps...)
	return token.Position{Filename: c.File, Line: at.Line, Column: at.Column}
}

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
const AnnotationKey = "fieldlock.dev/locks"

var annotationSteps = []any{"metadata", "annotations", AnnotationKey}

// Annotation returns the value of AnnotationKey that carries every lock and normalization of the CRD's schemas, in a
// form that depends on these only, or "". Topology (list types, map keys) is left out: an API server keeps it. It
// returns an error if the value is larger than an annotation may be, and for a CRD without versions.
func (c *CRD) Annotation() (string, error) {
	if c.undefined() {
		return "", errNoCRD
	}
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

// errNoCRD is the error of the zero CRD and of nil.
var errNoCRD = errors.New("there is no " + kindCRD + ": get one from Read or FromObject")

// undefined reports whether c is nil or was not read.
func (c *CRD) undefined() bool {
	return c == nil || len(c.Versions) == 0 || slices.ContainsFunc(c.Versions, (*Version).undefined)
}

// versionNames lists the versions for a message.
func (c *CRD) versionNames() string {
	names := make([]string, len(c.Versions))
	for i, v := range c.Versions {
		names[i] = v.Name
	}
	return strings.Join(names, ", ")
}

// Version is one version of a CRD. The zero Version and nil cannot be compiled.
type Version struct {
	Name            string
	Served, Storage bool

	// Schema is the openAPIV3Schema with every x- key of the document and the marks of the annotation; empty, and never
	// nil, for a version of v1beta1 that has none. It is shared: change a copy.
	Schema *spec.Schema

	// Replicas are the names that lead to the field which the scale subresource sets, such as spec, replicas. Empty
	// without such a subresource.
	Replicas []string

	// HasStatus reports whether the version has the status subresource: objects are created without their status.
	HasStatus bool

	crd   *CRD
	steps []any          // from the document to the schema, or nil
	raw   map[string]any // the schema as decoded, with the locks of the annotation
}

// CRD returns the CRD that the version belongs to, nil for a version that was not read.
func (v *Version) CRD() *CRD {
	if v == nil {
		return nil
	}
	return v.crd
}

// Compile compiles the version's schema. Its error names file, CRD and version, and errors.As finds the
// *immutability.SchemaError in it.
func (v *Version) Compile(opts ...immutability.Option) (*immutability.Validator, error) {
	if v.undefined() {
		return nil, errNoCRD
	}
	validator, err := immutability.Compile(v.named(), opts...)
	if err != nil {
		return nil, fmt.Errorf("%s, version %s: %w", v.crd.subject(), v.Name, err)
	}
	return validator, nil
}

// undefined reports whether v is nil or was not read.
func (v *Version) undefined() bool { return v == nil || v.crd == nil || v.Schema == nil }

// with returns a copy of c with the schemas as options change them, such as immutability.WithLocks; c itself without
// options, and nil for nil. A schema that does not compile stays as it is.
func (c *CRD) with(opts []immutability.Option) *CRD {
	if c == nil || len(opts) == 0 {
		return c
	}
	out := *c
	out.Versions = nil
	for _, v := range c.Versions {
		version := *v
		if validator, err := v.Compile(opts...); err == nil {
			version.Schema = validator.Schema()
		}
		out.Versions = append(out.Versions, &version)
	}
	return &out
}

// named returns the schema with the kind that it describes, which immutability.WithLocks reads.
func (v *Version) named() *spec.Schema {
	s := *v.Schema
	if s.Extensions = maps.Clone(s.Extensions); s.Extensions == nil {
		s.Extensions = spec.Extensions{}
	}
	s.Extensions["x-kubernetes-group-version-kind"] = map[string]any{"group": v.crd.Group, "version": v.Name,
		"kind": v.crd.Kind}
	return &s
}

// Position returns the place in the file of the schema node that a schema path (a JSON pointer such as
// "/properties/spec/properties/class") leads to, or the last node on the way that exists. It is the zero Position for
// a CRD that comes from no file.
func (v *Version) Position(schemaPath string) token.Position {
	if v == nil || v.steps == nil {
		return v.CRD().Position()
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
		value = fieldpath.Value(value, step)
	}
	return steps
}
