// Package operators knows which updates of custom resources their operators refuse: in webhooks, which no CRD shows, and in
// controllers, which accept a change and ignore it, or leave the old resource behind.
//
//	catalogue, err := operators.Load()
//	...
//	kind, ok := catalogue.Find("cert-manager.io/v1", "CertificateRequest")
//	verdict := kind.Check(newObj, oldObj) // the objects as their manifests have them
//
// The knowledge is data: one YAML file for each operator in the folder data. A row names a field and a lock of package
// immutability, or a CEL rule, and the function of the operator that enforces it. A row is proved by cases that the
// operator's own code has answered; Row.Read marks the others.
//
// What the manifests cannot tell is in Verdict.Unknown: a refusal that depends on the status, on the user, on the request,
// or on the version of the operator where the versions differ.
package operators
