// Package admission checks updates where a cluster admits them: a Registry holds the validators by kind, and a Handler
// answers AdmissionReviews with it. The package apiserver has the same check for an API server's own admission chain
// and update strategies; the package loader fills a Registry from CustomResourceDefinitions.
//
// Use it for aggregated API servers, and for custom resources whose locks a stock API server does not know. Locks that a
// stock API server can enforce itself need no webhook: export them as CEL rules.
//
// Everything that cannot be checked is refused unless an option says otherwise: an update without its old object, an
// object of another kind than the request says, a kind whose locks cannot be compiled, a Registry that is not filled yet.
package admission
