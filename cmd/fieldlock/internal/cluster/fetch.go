package cluster

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// parallel is how many objects are fetched at the same time.
const parallel = 8

// Fetch fetches the objects that manifests are about to change, in their order. Each error is about one object.
func (c *Cluster) Fetch(ctx context.Context, objects []*manifest.Object, step func()) ([]Live, []error) {
	live, errs := make([]Live, len(objects)), make([]error, len(objects))
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for i, o := range objects {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if live[i], errs[i] = c.fetch(ctx, o); errs[i] != nil {
				errs[i] = o.Mistake("", "the cluster cannot be asked for it: %v", errs[i])
			}
			step()
		})
	}
	group.Wait()
	return live, errs
}

func (c *Cluster) fetch(ctx context.Context, o *manifest.Object) (Live, error) {
	if o.Generated() {
		return Live{}, nil
	}
	r, err := c.resourceOf(o)
	if err != nil {
		return Live{}, err
	}
	if r == nil {
		return Live{Unserved: true}, nil
	}
	client := dynamic.ResourceInterface(c.objects.Resource(r.GroupVersionResource))
	if r.namespaced {
		namespace := o.Namespace
		if namespace == "" {
			namespace = c.namespace
		}
		client = c.objects.Resource(r.GroupVersionResource).Namespace(namespace)
	}
	found, err := client.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Live{}, nil
	}
	if err != nil {
		return Live{}, err
	}
	return c.predict(ctx, client, r, found, written(o, found, r))
}

// written returns the manifest of an object as a client sends it: without the fields that only the server writes, with
// which an exported object would be refused for another reason than its locks.
func written(o *manifest.Object, live *unstructured.Unstructured, r *resource) *unstructured.Unstructured {
	u := (&unstructured.Unstructured{Object: o.Value()}).DeepCopy()
	for _, field := range [...]string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if r.status {
		delete(u.Object, "status")
	}
	if live.GetNamespace() != "" {
		u.SetNamespace(live.GetNamespace())
	}
	return u
}

// CRD reads the CRD that defines the kind of an object; nil for a kind without one.
func (c *Cluster) CRD(ctx context.Context, o *manifest.Object) (*yamldoc.Document, error) {
	r, err := c.resourceOf(o)
	if r == nil || err != nil || r.Group == "" {
		return nil, err
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	found, err := c.objects.Resource(crds).Get(ctx, r.Resource+"."+r.Group, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("--live: the CRD of %s cannot be read, give it with --schema: %w", o.Kind, err)
	}
	return Document(found.Object), nil
}
