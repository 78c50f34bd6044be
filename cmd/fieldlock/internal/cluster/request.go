package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// request is the request of an apply, and what it would store if nothing refused it.
type request struct {
	put     *unstructured.Unstructured // the object of a PUT; nil for a patch
	kind    apitypes.PatchType
	body    []byte
	options metav1.PatchOptions
	merge   func() (map[string]any, error)
}

// request returns the request that applies an object. --applier names it; without the flag, the manager that has
// applied most of the object so far sends its usual request again.
func (c *Cluster) request(ctx context.Context, r *resource, live,
	manifest *unstructured.Unstructured) (request, error) {
	by := applierOf(live, manifest)
	switch c.applier {
	case tool.Replace:
		return c.replacement(live, manifest), nil
	case tool.ThreeWay:
		if !by.helm {
			by = applier{manager: helmManagers[0], helm: true}
		}
	case tool.ServerSide:
		if by.original != nil || by.helm {
			by = applier{manager: newManager}
		}
	case tool.ClientSide:
		return c.clientSide(r, live, manifest, applier{original: []byte(live.GetAnnotations()[lastApplied])})
	}
	if by.helm {
		var err error
		if by.original, err = c.lastRelease(ctx, r, live, by.manager); err != nil {
			return request{}, err
		}
	}
	if by.original != nil || by.helm {
		return c.clientSide(r, live, manifest, by)
	}
	return c.serverSide(r, live, manifest, by)
}

// replacement is a PUT, as kubectl replace makes it. It names the version of the live object, without which the server
// refuses custom resources and some built-in kinds.
func (c *Cluster) replacement(live, manifest *unstructured.Unstructured) request {
	put := manifest.DeepCopy()
	put.SetResourceVersion(live.GetResourceVersion())
	return request{put: put, merge: func() (map[string]any, error) {
		var kind apply.Kind
		return kind.Apply(apply.Request{By: apply.Replace, Stored: live.Object, Manifest: manifest.Object})
	}}
}

// applier is who applies an object. It decides which fields an apply removes: those that it applied last time and that
// the manifest leaves out. A field that only the server, a controller or another applier has set stays.
type applier struct {
	manager  string // of server-side apply, and of Helm
	helm     bool   // the manager is Helm and does not apply server-side
	original []byte // of client-side apply: the manifest that was applied last, otherwise nil
}

// applierOf returns who has applied most of the fields that the manifest has. Server-side apply goes before client-side
// apply, of which the annotation may be a leftover.
func applierOf(live, manifest *unstructured.Unstructured) applier {
	best, most := applier{manager: newManager}, 0
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		fields := decoded(entry.FieldsV1.GetRawBytes())
		helm := writtenByHelm(&entry, fields)
		if !helm && entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		n := common(fields, manifest.Object, "f:")
		if n > most || n == most && n > 0 && entry.Manager < best.manager {
			best, most = applier{manager: entry.Manager, helm: helm}, n
		}
	}
	if text := live.GetAnnotations()[lastApplied]; text != "" {
		if n := common(decoded([]byte(text)), manifest.Object, ""); n > most {
			best = applier{original: []byte(text)}
		}
	}
	return best
}
