package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

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
