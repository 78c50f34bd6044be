// Package api is a small API whose Go types have every marker that fieldlock reads, and the way from them to a refused
// update:
//
//	controller-gen crd paths=./api/... output:crd:dir=api/crd   the CRD, by the tool that everybody has
//	fieldlock markers --crds api/crd ./api/...                  the locks, into that CRD
//	fieldlock lint api/crd                                      are they right, and what gets around them
//	fieldlock check --schema api/crd old.yaml new.yaml          what an update breaks
//
// The tests of this package walk that way. TestLocks and TestAttack are what every API with locks should have: they run
// its CRD through package locktest, without a cluster or a binary.
package api
