// Package helm renders the charts of a tree as `helm template` does, object by object and in its order, with Helm's own
// loader, values and engine.
//
// A tree is an [fs.FS] whose paths are below the root of the repository; everything is read through it, so a link that
// leaves the tree is an error of the tree. Nothing else is read: no disk, no network, no environment. The function lookup
// finds nothing, and a schema that refers to another document accepts what that document would judge.
//
// [Charts] finds the charts that can be installed, [Files] lists what rendering one of them reads, [Render] renders it:
//
//	charts, err := helm.Charts(tree)
//	objects, err := helm.Render(tree, charts[0].Dir, helm.Release{KubeVersion: "1.36"})
//
// A dependency is taken from the chart's charts directory, as a directory or an archive, else from the chart of the tree
// that its `file://` repository names, as `helm dependency build` would pack it. A dependency that the tree does not have
// makes the chart a [*rendered.NotCovered], unless its condition or tags disable it for the values that are rendered.
//
// Sizes are bounded before anything is rendered: all files of a chart and its dependencies, unpacked, stay below Helm's
// 100 MiB, a file of values below 10 MiB. Time and memory of the templates are not: a template can loop as long as it likes,
// and Helm's engine cannot be stopped. Render untrusted charts in a process that can be killed.
//
// Templates can draw random values (randAlphaNum, genCA, uuidv4) and read the clock (now). Two calls of Render with the same
// input differ only there.
package helm
