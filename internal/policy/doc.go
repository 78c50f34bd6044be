// Package policy predicts what the ValidatingAdmissionPolicies of a tree of manifests refuse. It matches policies and their
// bindings to an update, and runs those that read oldObject with the API server's own CEL code.
//
// The manifests do not hold everything that a policy can read: who makes the request, what its authorizer says, the status of
// an object, perhaps the namespace and the parameters. Where such a value decides, the verdict is unknown and gives the
// reason. Where it does not decide (`request.userInfo.username == 'admin' || object.spec.x == oldObject.spec.x`, with equal
// values), the verdict is certain.
//
// The order of reading: set.go, the documents; match.go, which updates a policy is for; reads.go, what an expression reads
// that the manifests lack; program.go, expressions compiled and run; verdict.go, all of it together.
package policy
