// Package apply knows what an API server stores when somebody applies a manifest, and when the server cannot store it.
// Kubernetes' own code does the work: apimachinery's managedfields for server-side applies, its strategic merge patches
// for the client-side applies of built-in kinds, and JSON merge patches for those of custom resources.
//
//	stored    {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}   the second is a default of the server
//	last      {type: RollingUpdate}                                   what was applied last
//	manifest  {type: Recreate}
//
//	server-side  {type: Recreate, rollingUpdate: {maxSurge: 25%}}
//	client-side  {type: Recreate}                                     the patch names the members to retain
//	replace      {type: Recreate}
//
// Nothing else in the project knows what an apply does to null, or to empty objects and lists.
package apply

import (
	"encoding/json"
	"maps"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apitypes "k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Apply returns what the server stores, before it sets defaults. The result may share values with the manifest; the
// request stays as it is. An error is what the server answers, or the reason why no tool can make the request: a list
// item without its key, for example.
func (k *Kind) Apply(r Request) (stored map[string]any, err error) {
	defer recovered(&err)
	switch r.By {
	case Replace:
		return put(r), nil
	case ServerSide:
		return k.serverSide(r)
	}
	patch, err := k.Patch(r)
	if err != nil {
		return nil, err
	}
	return patch.Apply(r.Stored)
}

// put is a PUT, as kubectl replace makes it: what the manifest leaves out goes, except what the server itself keeps.
func put(r Request) map[string]any {
	kept, _ := r.Stored["metadata"].(map[string]any)
	named, _ := r.Manifest["metadata"].(map[string]any)
	metadata := maps.Clone(named)
	for _, field := range [...]string{"uid", "creationTimestamp", "generation"} {
		if value, ok := kept[field]; ok && metadata != nil {
			metadata[field] = value
		}
	}
	object := maps.Clone(r.Manifest)
	if metadata != nil {
		object["metadata"] = metadata
	}
	return object
}

// Patch is the request of an apply on the client's side.
type Patch struct {
	Type apitypes.PatchType
	Body []byte
	kind *Kind
}

// Patch returns the request that ClientSide or ThreeWay makes.
func (k *Kind) Patch(r Request) (patch *Patch, err error) {
	defer recovered(&err)
	var last, manifest, stored []byte
	if r.Last != nil {
		if last, err = json.Marshal(r.Last); err != nil {
			return nil, err
		}
	}
	if manifest, err = json.Marshal(r.Manifest); err != nil {
		return nil, err
	}
	if stored, err = json.Marshal(r.Stored); err != nil {
		return nil, err
	}
	patch = &Patch{Type: apitypes.MergePatchType, kind: k}
	switch {
	case k.Strategic != nil:
		patch.Type = apitypes.StrategicMergePatchType
		patch.Body, err = strategicpatch.CreateThreeWayMergePatch(last, manifest, stored, k.patchMeta(), true)
	case r.By == ThreeWay && r.Last != nil:
		patch.Body, err = jsonpatch.CreateMergePatch(last, manifest)
	default:
		patch.Body, err = jsonmergepatch.CreateThreeWayJSONMergePatch(last, manifest, stored)
	}
	return patch, err
}

// Apply returns what the server makes of an object with the patch.
func (p *Patch) Apply(object map[string]any) (patched map[string]any, err error) {
	defer recovered(&err)
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	after := []byte(nil)
	if p.Type == apitypes.StrategicMergePatchType {
		after, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(before, p.Body, p.kind.patchMeta())
	} else {
		after, err = jsonpatch.MergePatch(before, p.Body)
	}
	if err != nil {
		return nil, err
	}
	return patched, utiljson.Unmarshal(after, &patched)
}
