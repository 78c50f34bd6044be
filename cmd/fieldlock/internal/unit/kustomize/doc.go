// Package kustomize renders the kustomizations of a tree of files, with kustomize's own code.
//
// A kustomization is a directory with one of the files kustomization.yaml, kustomization.yml and Kustomization. The file
// names resources, patches, generators and other kustomizations. [Find] lists the kustomizations of a tree and says which
// of them others include. [Files] lists the files that one of them reads. [Build] renders it: it returns the objects that
// `kubectl kustomize DIR` prints, in the same order, and the file that each comes from.
//
// # What it touches
//
// A tree is an fs.FS. Nothing but the tree is read: no disk, no network, no environment; no program runs. Kustomize itself
// would clone remote bases with git, download URLs and run plugins, so [Files] and [Build] check every reference of every
// kustomization before kustomize sees it. A reference that the tree cannot serve is a *rendered.NotCovered; one that
// kustomize refuses, too, is a *rendered.Invalid. Both tell the file and the line of the reference.
//
// Links are followed where the tree shows them (fs.ReadLinkFS); they may not leave the tree. Kustomize looks up relative
// references from where a link leads to, so [Files] lists the links that it passes beside the files. A copy of the tree that
// is handed to [Build] must keep them as links.
//
// # Origins
//
// Kustomize can keep the origin of each object in annotations of it while it builds. [Build] asks for that and takes the
// annotations out again, unless the kustomization asks for them, too. Where they could change what is built, it builds twice,
// with and without. Kustomize does not tell which objects a patch or another transformer changed, so the cause of an object is
// the last kustomization that changes any, and none where the object is just as it is written in its file.
//
// # Large CRDs
//
// With [Schemas], [Build] gives kustomize the CRDs without their schemas, which it would copy and write out many times, and returns the
// schemas apart from the objects, those of all builds once. Where a kustomization looks into a schema, it builds from the files as they are.
//
// # Charts
//
// The charts of helmCharts that the tree has are rendered by Helm's engine; others are not covered. A release without a name,
// for which helm makes one up, is named after the chart. Objects of charts come after the resources of the kustomization and
// before what it generates.
//
// # Global state
//
// Kustomize keeps the OpenAPI schema of the kustomization that it builds in package variables and panics on some inputs.
// [Build] therefore builds one kustomization at a time, resets the schema before and after, and turns panics into errors:
// it may be called from several goroutines, which wait for each other. It cannot be interrupted, and a hostile kustomization
// can keep it busy or make it use much memory; call it in a process that can be killed. Kustomize prints warnings about
// deprecated fields to standard error, and logs others. [Files] and [Find] use no global state, and their cost is bounded by the size of the
// kustomization files that they read.
package kustomize
