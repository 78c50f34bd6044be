// Package markers reads immutability markers from Go types and writes them into schemas.
//
//	source, err := markers.Load(ctx, ".", []string{"./api/..."})
//	files, err := source.WriteCRDs([]markers.File{{Name: "crd.yaml", Data: data}})
//
// # The markers
//
// A marker is a comment line above a struct field or a type, as controller-gen and openapi-gen read it: in the doc comment, or
// in the group of comments right above it. On a type it counts wherever the type is used.
//
//	+immutable                    x-kubernetes-immutable: locked from creation, set and unset included
//	+immutable=keys               x-kubernetes-immutable-keys: no key added, none removed
//	+k8s:immutable                the same as +immutable, or set-once where the CRD has controller-gen's rules: see K8sImmutable
//	+k8s:update=WORD              x-fieldlock-update: NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem; repeated, they add up
//	+k8s:eachVal=+k8s:update=WORD the same on each item of a list or value of a map; it takes every marker but +normalize
//	+k8s:alpha(since: "1.36")=+MARKER and +k8s:beta: the marker itself; a stage of the rollout changes no meaning
//	+normalize=undefined|zero     x-kubernetes-normalize: see package normalize for which Go field needs which
//	+listType=, +listMapKey=, +mapType=, +structType=
//	                              the topology, where controller-gen has not written it already
//
// +kubebuilder: may precede immutable, normalize and the topology markers, and +k8s: the topology markers.
//
// What cannot do what it says is an error with file and line, never dropped: a lock that silently does not lock is worse
// than none. So are a marker that is above nothing, in the wrong letter case, on a field whose Go type cannot have it, on a
// field that the schema does not have, and a normalization that is not what the field's Go type, json tag and protobuf
// tag do.
//
// # What it is not for
//
// It does not check the resulting schema as a whole, which the lint of package immutability does, and it takes nothing
// away: controller-gen writes its files anew, without fieldlock's keys.
package markers
