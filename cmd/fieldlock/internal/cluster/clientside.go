package cluster

import (
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// clientSide is an apply as kubectl makes it without --server-side: a patch of what the manifest changes, and of what it
// has lost since the one before, original.
func (c *Cluster) clientSide(r *resource, live, manifest *unstructured.Unstructured, original []byte) (request, error) {
	t, err := c.typesOf(r.kind.GroupVersion())
	if err != nil {
		return request{}, err
	}
	liveJSON, err := encoded(live)
	if err != nil {
		return request{}, err
	}
	manifestJSON, err := encoded(manifest)
	if err != nil {
		return request{}, err
	}
	out := request{kind: apitypes.MergePatchType, exact: true, options: metav1.PatchOptions{FieldManager: "kubectl-client-side-apply"}}
	apply := jsonpatch.MergePatch
	if meta, ok := t.patchMeta(r.kind); ok {
		out.kind = apitypes.StrategicMergePatchType
		out.body, err = strategicpatch.CreateThreeWayMergePatch(original, manifestJSON, liveJSON, meta, true)
		apply = func(object, patch []byte) ([]byte, error) {
			return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(object, patch, meta)
		}
	} else {
		out.body, err = jsonmergepatch.CreateThreeWayJSONMergePatch(original, manifestJSON, liveJSON)
	}
	if err != nil {
		return request{}, fmt.Errorf("what a client-side apply would send cannot be told: %w", err)
	}
	out.merge = func() (map[string]any, error) {
		data, err := apply(liveJSON, out.body)
		if err != nil {
			return nil, err
		}
		merged, err := yamldoc.ReadJSON(data)
		object, ok := merged.(map[string]any)
		if err == nil && !ok {
			err = fmt.Errorf("the patched object is %s", yamldoc.Describe(merged))
		}
		return object, err
	}
	return out, nil
}
