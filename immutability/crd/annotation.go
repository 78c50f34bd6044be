package crd

import (
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/internal/rawschema"
)

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
