package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fieldlock/fieldlock/internal/apply"
)

// serverSide is a server-side apply that takes over the fields of others.
func (c *Cluster) serverSide(r *resource, live, manifest *unstructured.Unstructured, by applier) (request, error) {
	if by.manager == fluxManager {
		manifest = &unstructured.Unstructured{Object: asType(manifest)}
	}
	body, err := encoded(manifest)
	force := true
	return request{
		kind: apitypes.ApplyPatchType, body: body,
		options: metav1.PatchOptions{FieldManager: by.manager, Force: &force},
		merge:   func() (map[string]any, error) { return c.merged(r, live, manifest, by) },
	}, err
}

// fluxManager is the manager of Flux's Kustomizations, which sends built-in kinds as their Go types have them.
const fluxManager = "kustomize-controller"

// merged merges a manifest into the live object by its managed fields, with the code of the API server.
func (c *Cluster) merged(r *resource, live, manifest *unstructured.Unstructured, by applier) (map[string]any, error) {
	t, err := c.typesOf(r.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	asked := apply.Request{By: apply.ServerSide, Manager: by.manager, Stored: live.Object, Manifest: manifest.Object}
	object, err := t.merging(r.kind).Apply(asked)
	if err != nil {
		// A value has another type than the schema wants, so the server would not store it. The rest can be compared.
		var unknown apply.Kind
		object, err = unknown.Apply(asked)
	}
	return object, err
}

// asType returns an object as its Go type has it; as it is, where it has no such type.
func asType(u *unstructured.Unstructured) map[string]any {
	typed, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return u.Object
	}
	return apply.Normalized(u.Object, typed)
}
