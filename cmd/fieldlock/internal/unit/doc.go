// Package unit reads a tree of files as the tools that deploy it do. A unit is what one tool applies together: a kustomization,
// a chart, a Flux Kustomization, a HelmRelease, an Argo CD Application. The package finds the units of a tree, the files that
// each of them reads, and renders them.
//
// [Load] does this for one tree, and [Compare] for two, of which it renders only what differs. Renderers run in child processes
// (package worker) and see only the files of their unit. Nothing outside of a tree is read.
package unit
