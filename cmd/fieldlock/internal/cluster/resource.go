package cluster

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// resourceOf finds the resource of an object; nil where the server does not serve its kind in its version.
func (c *Cluster) resourceOf(o *manifest.Object) (*resource, error) {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, err
	}
	served, err := c.resources.of(gv, func() ([]metav1.APIResource, error) {
		list, err := c.discovery.ServerResourcesForGroupVersion(gv.String())
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return list.APIResources, nil
	})
	if err != nil {
		return nil, err
	}
	var found *resource
	for _, r := range served {
		if r.Kind == o.Kind && !strings.Contains(r.Name, "/") {
			found = &resource{gv.WithResource(r.Name), gv.WithKind(o.Kind), r.Namespaced, false}
		}
	}
	for _, r := range served {
		if found != nil && r.Name == found.Resource+"/status" {
			found.status = true
		}
	}
	return found, nil
}
