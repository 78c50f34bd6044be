package ask

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// create creates an object as kubectl apply does without --server-side, but ignores unknown fields.
func (s *Server) create(ctx context.Context, obj map[string]any, dryRun ...string) error {
	resource, _, err := s.resource(obj)
	if err != nil {
		return err
	}
	options := metav1.CreateOptions{FieldManager: "case", FieldValidation: metav1.FieldValidationIgnore, DryRun: dryRun}
	_, err = resource.Create(ctx, &unstructured.Unstructured{Object: obj}, options)
	return err
}

// withLastApplied returns a manifest with itself as the annotation that kubectl writes.
func withLastApplied(manifest map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: manifest}).DeepCopy()
	if text, err := u.MarshalJSON(); err == nil {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[corev1.LastAppliedConfigAnnotation] = string(text)
		u.SetAnnotations(annotations)
	}
	return u.Object
}

// applyClientSide changes an object as kubectl apply does without --server-side: by a patch made of the old manifest,
// the new one and the stored object. It is a strategic merge patch for the kinds that client-go knows, and a JSON merge
// patch for the others.
func (s *Server) applyClientSide(ctx context.Context, newObj, oldObj map[string]any, dryRun ...string) error {
	resource, name, err := s.resource(newObj)
	if err != nil {
		return err
	}
	live, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var texts [3][]byte
	for i, object := range []map[string]any{oldObj, newObj, live.Object} {
		if texts[i], err = json.Marshal(object); err != nil {
			return err
		}
	}
	patchType, patch, err := threeWayPatch(&unstructured.Unstructured{Object: newObj}, texts[0], texts[1], texts[2])
	if err != nil || string(patch) == "{}" {
		return err
	}
	_, err = resource.Patch(ctx, name, patchType, patch, metav1.PatchOptions{
		FieldManager: "case", FieldValidation: metav1.FieldValidationIgnore, DryRun: dryRun,
	})
	return err
}

func threeWayPatch(of *unstructured.Unstructured, original, modified, current []byte) (types.PatchType, []byte, error) {
	typed, err := scheme.Scheme.New(of.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
		return types.MergePatchType, patch, err
	}
	if err != nil {
		return "", nil, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return "", nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, schema, true)
	return types.StrategicMergePatchType, patch, err
}
