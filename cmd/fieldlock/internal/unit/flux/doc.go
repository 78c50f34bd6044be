// Package flux renders what the controllers of Flux apply from a tree of files.
//
// A Kustomization of Flux names a directory: its controller builds the kustomization there, adds the fields of the object,
// replaces variables, and applies the result on the server side. [ParseKustomization] reads such an object, [Kustomization.Files]
// lists the files that it needs, and [Kustomization.Build] renders it.
//
// A HelmRelease names a chart: its controller renders it with Helm, after merging values from several places, and changes the
// result by post-renderers. [ParseHelmRelease] reads one, [HelmRelease.Files] and [HelmRelease.Build] do as above.
//
// The objects of Flux are read as plain fields, so that any version of their kinds will do.
package flux
