// Package unit reads a tree of files as the tools that deploy it do. A unit is what one tool applies together: a
// kustomization, a chart, a Flux Kustomization, a HelmRelease, an Argo CD Application. The package finds the units of a
// tree, the files that each of them reads, and renders them.
//
// [Load] does this for one tree, and [Compare] for two, of which it renders only what differs. Renderers run in child
// processes (package worker) and see only the files of their unit. Nothing outside of a tree is read.
//
// For a commit that changes the image in base/a.yaml, which the kustomization prod includes:
//
//	find    the kustomization prod reads prod/kustomization.yaml and base/a.yaml; dev reads other files
//	pair    the records of prod differ between OLD and NEW, those of dev do not
//	render  prod, on both sides: Deployment a with the old and the new image
//	need    the CRDs, policies and copies that a changed object needs; a Deployment needs none
//
// The chapters, each of which uses only those below it:
//
//	compare        Compare: the steps in order, for two trees
//	set            Load: the units and files of one tree
//	unread         changed files that nothing reads
//	needed         what changed objects need of what did not change
//	policies       what admission policies need besides
//	unchanged      the files and units that hold what is needed
//	predecessors   old objects outside of the paths
//	files          changed files, as they are written
//	written        changed files that units read, as they are written
//	changed        changed units, as they are printed
//	releases       upgrades, reinstalled releases and lookups of Helm
//	draws          random values
//	pairs          which unit of OLD is the earlier state of which unit of NEW
//	comparison     the state and the result of a comparison
//	input          a tree, and which of its files count
//	uncovered      units that cannot be rendered
//	manifests      what units print, as files of objects
//	find           the units of a tree, and the files that are their input
//	nested         units that objects define
//	references     which objects a definition means, and the record of a unit
//	origin         where the values of an object are written
//	engine         units closed and rendered, each once for both trees
//	images         new tags of images beside encrypted files
//	synced         what Argo CD applies of an Application
//	argocd         the kinds Application and ApplicationSet
//	helmrelease    the kind HelmRelease
//	flux           the kind Flux Kustomization
//	chart          the kind chart
//	kustomization  the kind kustomization
//	fetch          charts and bases that are fetched
//	edit           the lines that a change touches
//	unit           a unit and its kind
//	meaning        the objects that a definition may mean
//	revision       the revisions that sources name
//	definition     what a unit that an object defines is rendered from
//	object         what identifies objects
//	tree           files
package unit
