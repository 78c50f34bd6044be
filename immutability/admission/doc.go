// Package admission checks updates where a cluster lets them in: a Registry of validators by kind, and a Handler that
// answers AdmissionReviews with it. The package apiserver below it has the same check for an API server's own
// admission chain and update strategies.
//
// What it is for: aggregated API servers, and custom resources whose locks a stock API server does not know. What it is
// not for: locks that a stock API server can enforce itself; export them as CEL rules and no webhook is needed.
//
// Everything that cannot be checked is refused, unless asked otherwise: an update without its old object, an object of
// another kind than the request says, a kind whose locks cannot be compiled, a registry that is not filled yet.
package admission
