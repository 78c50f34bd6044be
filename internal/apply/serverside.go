package apply

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// A server-side apply removes what its manager applied last and does not apply now; what only others have set stays.
// Without a cluster, the managedFields of the stored object are those that an apply of the last manifest leaves.

// lastManager applies manifests without a cluster.
const lastManager = "apply"

func (k *Kind) serverSide(r Request) (map[string]any, error) {
	live, manifest, manager := editable(r.Stored), editable(r.Manifest), r.Manager
	manifest.SetManagedFields(nil)
	if manager == "" {
		manager = lastManager
		owned, err := cmp.Or(r.LastKind, k).Owned(r.Last)
		if err != nil {
			return nil, err
		}
		live.SetAPIVersion(manifest.GetAPIVersion())
		live.SetManagedFields(owned)
	}
	return k.merge(live, manifest, manager)
}

// Owned returns the managedFields of an object that was made by a server-side apply of a manifest, for Requests without
// a Manager.
func (k *Kind) Owned(manifest map[string]any) (owned []metav1.ManagedFieldsEntry, err error) {
	defer recovered(&err)
	sent, empty := editable(manifest), editable(nil)
	sent.SetManagedFields(nil)
	empty.SetGroupVersionKind(sent.GroupVersionKind())
	object, err := k.merge(empty, sent, lastManager)
	if err != nil {
		return nil, err
	}
	return (&unstructured.Unstructured{Object: object}).GetManagedFields(), nil
}

// editable returns a copy of an object that has metadata, where managedFields are.
func editable(object map[string]any) *unstructured.Unstructured {
	object, _ = jsonvalue.Clone(object).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	if _, ok := object["metadata"].(map[string]any); !ok {
		object["metadata"] = map[string]any{}
	}
	return &unstructured.Unstructured{Object: object}
}

// merge returns what the API server's own code makes of a live object by a server-side apply of a manifest that takes
// over the fields of others. It changes both.
func (k *Kind) merge(live, manifest *unstructured.Unstructured, manager string) (map[string]any, error) {
	converter, err := k.Types.Converter()
	if err != nil {
		return nil, err
	}
	u, kind := unversioned{}, manifest.GroupVersionKind()
	fields, err := managedfields.NewDefaultCRDFieldManager(converter, u, u, u, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	stored, err := fields.Apply(live, manifest, manager, true)
	if err != nil {
		return nil, err
	}
	object, ok := stored.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", stored)
	}
	return object.Object, nil
}

// unversioned is what the merge needs to know of Go types for objects without them. A conversion changes the apiVersion
// only, as without a webhook.
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
