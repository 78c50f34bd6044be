// Package argo renders what Argo CD applies from a tree of files.
//
// An Application names one or more sources; each is a directory of a repository that holds a chart, a kustomization or plain
// manifests. An ApplicationSet makes Applications from a template and generators. Both are read as plain fields, so any
// version of their kinds will do:
//
//	apps, err := argo.Generate(applicationSet, trees)       // []map[string]any
//	app, err := argo.ParseApplication(apps[0])
//	app.Sources[0].InTree = true                            // the caller decides by RepoURL and TargetRevision
//	files, err := app.Files(tree, 0)
//	objects, err := app.Render(ctx, tree, 0, argo.Options{})
//	objects, err = argo.Namespaced(objects, app.Destination.Namespace, scope)
//
// # Whose rules
//
// Argo CD's module needs hundreds of others, so its rules are written here again, after release v3.5.1 of
// github.com/argoproj/argo-cd: reposerver/repository/repository.go for sources, util/kustomize and util/helm for the two
// tools, util/app/discovery for what a directory is, and applicationset/ for ApplicationSets. Kustomize's own code and
// Helm's do the rendering: packages kustomize and helm beside this one.
//
// # What is not covered
//
// Whatever the tree does not hold is a [*rendered.NotCovered]: charts of Helm repositories, other repositories, plugins,
// jsonnet, files of values behind a URL, the generators that ask a cluster or a service. Settings of the installation of
// Argo CD, such as its build options for kustomize, are not known; Options has those that matter.
//
// Nothing but the tree is read. Templates of ApplicationSets are Go templates: they cannot be interrupted, so call [Generate]
// on untrusted input in a process that can be killed, like [Application.Render].
package argo
