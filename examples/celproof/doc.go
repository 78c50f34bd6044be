// Package celproof holds locks and CEL rules against each other, with the API server's own CEL validator as the judge,
// on the newest Kubernetes: what export says in CEL has the verdict of the locks, and what import reads as locks has
// the verdict of the rules. The package has tests only.
//
//	go test -v ./celproof
package celproof
