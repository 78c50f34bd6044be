// Package compare checks one set of Kubernetes objects against an older one: it pairs the objects, finds the schemas
// that cover them, and reports every change that an API server would refuse.
//
//	report, err := compare.Check(compare.Input{Old: oldFiles, New: newFiles}, compare.Options{})
//
// It has no flags, reads no files and prints nothing, so it also runs in a browser. Package manifest makes its input,
// package report prints its Report.
package compare
