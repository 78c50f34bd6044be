// Package crd reads CustomResourceDefinitions with the marks that the API types have no room for, and prepares objects
// for comparison as the API server does.
//
//	crds, err := crd.Read("crds.yaml", data)
//	...
//	catalog, err := crd.NewCatalog(crds...)
//	version, err := catalog.Find("example.com/v1", "Widget")
//	if version == nil {
//		... // an error, or no CRD covers the kind
//	}
//	validator, err := version.Compile() // once
//	...
//	newObj, err = version.Prepare(newObj)
//	oldObj, err = version.Prepare(oldObj)
//	errs := validator.ValidateUpdate(newObj, oldObj)
//
// A webhook gets objects that the API server has prepared already: it needs no Prepare, and package admission's loader
// does the rest.
//
// A stock API server drops the marks from a CRD. They live in its document (Read), or in the annotation AnnotationKey,
// which survives the server (FromObject, CRD.Annotation).
//
// Documents are read strictly: a key that a mapping has twice, text that is not UTF-8 or a keyword with a value of
// the wrong form is an error with file, line and path. Integers keep their value, in defaults as well. Every value
// remembers its place in the file (Document.Position, Version.Position).
//
// It is not a validator of CRDs: what does not matter to locks, pruning and defaulting is not checked.
package crd
