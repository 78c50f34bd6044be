package cluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
)

// serverSide is a server-side apply that takes over the fields of others.
func (c *Cluster) serverSide(r *resource, live, manifest *unstructured.Unstructured, by applier) (request, error) {
	body, err := encoded(manifest)
	force := true
	return request{
		kind: apitypes.ApplyPatchType, body: body, exact: !by.updates,
		options: metav1.PatchOptions{FieldManager: by.manager, Force: &force},
		merge:   func() (map[string]any, error) { return c.merged(r, live, manifest, by) },
	}, err
}

// merged merges a manifest into the live object by its managed fields, with the code of the API server.
func (c *Cluster) merged(r *resource, live, manifest *unstructured.Unstructured, by applier) (map[string]any, error) {
	t, err := c.typesOf(r.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	live, manifest = live.DeepCopy(), manifest.DeepCopy()
	if by.updates {
		// The fields that the manager has updated count as those that it has applied.
		if err := csaupgrade.UpgradeManagedFields(live, sets.New(by.manager), by.manager); err != nil {
			return nil, err
		}
	}
	if t.strategic[r.kind] {
		withoutNull(manifest.Object) // a Go type has no null, so the server sees none
	}
	merge := func(converter managedfields.TypeConverter) (map[string]any, error) {
		u := unversioned{}
		manager, err := managedfields.NewDefaultCRDFieldManager(converter, u, u, u, r.kind, r.kind.GroupVersion(), "", nil)
		if err != nil {
			return nil, err
		}
		stored, err := manager.Apply(live.DeepCopy(), manifest.DeepCopy(), by.manager, true)
		if err != nil {
			return nil, err
		}
		object, ok := stored.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("the merged object is a %T", stored)
		}
		return object.Object, nil
	}
	object, err := merge(t.converter)
	if err != nil {
		// A value has another type than the schema wants, so the server would not store it. The rest can be compared.
		object, err = merge(managedfields.NewDeducedTypeConverter())
	}
	return object, err
}

// withoutNull removes the members of objects that are null.
func withoutNull(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			}
			withoutNull(member)
		}
	case []any:
		for _, item := range v {
			withoutNull(item)
		}
	}
}

// unversioned is what the merge needs to know of Go types for objects without them. A conversion changes the apiVersion
// only: the live object was read in the version of the manifest.
type unversioned struct{}

var (
	_ runtime.ObjectConvertor = unversioned{}
	_ runtime.ObjectDefaulter = unversioned{}
	_ runtime.ObjectCreater   = unversioned{}
)

// Default does nothing: defaults count when the objects are compared.
func (unversioned) Default(runtime.Object) {}

func (unversioned) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func (unversioned) Convert(in, out, _ any) error {
	from, isFrom := in.(*unstructured.Unstructured)
	to, isTo := out.(*unstructured.Unstructured)
	if !isFrom || !isTo {
		return fmt.Errorf("a %T cannot become a %T", in, out)
	}
	from.DeepCopyInto(to)
	return nil
}

func (unversioned) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	out := in.DeepCopyObject()
	kind, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if ok {
		out.GetObjectKind().SetGroupVersionKind(kind)
	}
	return out, nil
}

func (unversioned) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
