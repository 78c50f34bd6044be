// Package apiserver puts the check of locks into an API server that is built from k8s.io/apiserver: as a plugin of its
// admission chain, or as part of the update strategy of one resource.
//
// The proposal places the check after mutation and right before update validation, which is where an update strategy
// runs; its errors join the errors of the strategy's own validation. The plugin comes right after, before validating webhooks,
// and serves any number of resources from one registry that may change while the server runs. Use one or the other.
//
// Objects of Go types are compared in place, by package typed.
package apiserver
