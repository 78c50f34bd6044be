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
// A webhook gets objects that the API server has prepared already, and package admission's loader does the rest. Objects
// from manifests go through package prepare first, which prunes them and sets their defaults.
//
// A stock API server drops the marks from a CRD. They live in its document (Read), or in the annotation AnnotationKey,
// which survives the server (FromObject, CRD.Annotation).
//
// Documents are read strictly: a key that a mapping has twice, text that is not UTF-8 or a keyword with a value of the
// wrong form is an error with file, line and path. Integers keep their value, in defaults as well. Every value remembers
// its place in the file (CRD.Position, Version.Position).
//
// It is not a validator of CRDs: what does not matter to locks, pruning and defaulting is not checked.
package crd
