package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	core "k8s.io/kubernetes/pkg/apis/core"
)

// Judge answers updates with Kubernetes' own code.
type Judge struct {
	codes map[string]kindCode
}

// New returns the judge of the Kubernetes version that go.mod has.
func New() *Judge { return &Judge{codes()} }

// Kinds returns the kinds that it knows.
func (j *Judge) Kinds() []string { return slices.Sorted(maps.Keys(j.codes)) }

// Stored is an object as a server stores it.
type Stored struct {
	code    kindCode
	gvk     schema.GroupVersionKind
	manager *managedfields.FieldManager
	object  runtime.Object // internal
}

const manager = "judge"

// Create stores a manifest, applied to nothing. The error is why a server would refuse it.
func (j *Judge) Create(manifest map[string]any) (stored *Stored, err error) {
	defer func() {
		if r := recover(); r != nil { // a server answers 500 then
			err = fmt.Errorf("the server's code panics: %v", r)
		}
	}()
	u := &unstructured.Unstructured{Object: manifest}
	gvk := u.GroupVersionKind()
	code, ok := j.codes[gvk.Kind]
	if !ok {
		return nil, fmt.Errorf("there is no code for %s", gvk.Kind)
	}
	hub := schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal}
	fields, err := managedfields.NewDefaultFieldManager(code.converter, code.scheme, code.scheme,
		code.scheme, gvk, hub, "", nil)
	if err != nil {
		return nil, err
	}
	s := &Stored{code: code, gvk: gvk, manager: fields}
	empty, err := code.scheme.New(hub.WithKind(gvk.Kind))
	if err != nil {
		return nil, err
	}
	object, err := s.applied(empty, manifest)
	if err != nil {
		return nil, err
	}
	admit(object)
	metadata, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	metadata.SetUID("11111111-2222-3333-4444-555555555555")
	metadata.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000, 0)))
	if err := rest.BeforeCreate(code.strategy, s.context(manifest), object); err != nil {
		return nil, err
	}
	metadata.SetResourceVersion("1")
	if crd, ok := object.(*apiextensions.CustomResourceDefinition); ok {
		apiextensions.SetCRDCondition(crd, apiextensions.CustomResourceDefinitionCondition{
			Type: apiextensions.Established, Status: apiextensions.ConditionTrue,
		})
	}
	s.object, err = s.roundTrip(object)
	return s, err
}

// Update applies a manifest over the stored object. refused is why a server would refuse it; err is any other mistake,
// such as a field of the wrong type.
func (s *Stored) Update(manifest map[string]any) (refused, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the server's code panics: %v", r)
		}
	}()
	if is := text(manifest, "apiVersion"); is != s.gvk.GroupVersion().String() {
		return nil, fmt.Errorf("the object was applied in another version than %s", is)
	}
	old := s.object.DeepCopyObject()
	object, err := s.applied(old.DeepCopyObject(), manifest)
	if err != nil {
		return nil, err
	}
	admit(object)
	return rest.BeforeUpdate(s.code.strategy, s.context(manifest), object, old), nil
}

func (s *Stored) applied(live runtime.Object, manifest map[string]any) (runtime.Object, error) {
	patch := (&unstructured.Unstructured{Object: manifest}).DeepCopy()
	return s.manager.Apply(live, patch, manager, true)
}

// roundTrip writes the object to storage and reads it again: what is empty is gone then.
func (s *Stored) roundTrip(object runtime.Object) (runtime.Object, error) {
	codecs := serializer.NewCodecFactory(s.code.scheme)
	codec := codecs.LegacyCodec(s.gvk.GroupVersion())
	data, err := runtime.Encode(codec, object)
	if err != nil {
		return nil, err
	}
	return runtime.Decode(codec, data)
}

func (s *Stored) context(manifest map[string]any) context.Context {
	namespace := (&unstructured.Unstructured{Object: manifest}).GetNamespace()
	ctx := request.WithNamespace(context.Background(), namespace)
	return request.WithRequestInfo(ctx,
		&request.RequestInfo{APIGroup: s.gvk.Group, APIVersion: s.gvk.Version, Namespace: namespace})
}

// admit does what admission plugins do: the service account of a Pod.
func admit(object runtime.Object) {
	if pod, ok := object.(*core.Pod); ok && pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = "default"
	}
}

// copyOf copies a manifest.
func copyOf(manifest map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: manifest}).DeepCopy().Object
}

// Show prints a manifest in one line.
func Show(manifest map[string]any) string {
	data, err := json.Marshal(manifest)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
