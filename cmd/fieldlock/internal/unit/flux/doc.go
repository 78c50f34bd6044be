// Package flux renders what the controllers of Flux apply from a tree of files.
//
// A Kustomization of Flux names a directory: its controller builds the kustomization there, adds the fields of the object,
// replaces variables, and applies the result on the server side. [ParseKustomization] reads such an object, [Kustomization.Files]
// lists the files that it needs, and [Kustomization.Build] renders it.
//
// The objects of Flux are read as plain fields, so that any version of their kinds will do.
package flux
