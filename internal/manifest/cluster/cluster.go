package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Options choose the cluster, as kubectl's flags do; "" is what the kubeconfig says.
type Options struct{ Kubeconfig, Context, Namespace string }

// Cluster is a connection to an API server. Nothing is ever written: every request is a read or a dry run. It is safe for
// concurrent use.
type Cluster struct {
	objects   dynamic.Interface
	discovery discovery.DiscoveryInterface
	namespace string // of objects without one
	resources remembered[schema.GroupVersion, []metav1.APIResource]
	types     remembered[schema.GroupVersion, *types]

	// Minor is the server's minor, such as "1.36".
	Minor string
}

// requestTimeout bounds each request.
const requestTimeout = 2 * time.Minute

// Open connects to the cluster that a kubeconfig names and asks for its version.
func Open(o Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	overrides.Context.Namespace = o.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("--live: there is no kubeconfig; give one with --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	c := &Cluster{namespace: namespace}
	if c.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	if c.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	version, err := c.discovery.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("--live: the cluster does not answer: %w", err)
	}
	c.Minor = version.Major + "." + strings.TrimRight(version.Minor, "+")
	return c, nil
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

// Document returns an object of the cluster as a document.
func Document(object map[string]any) *yamldoc.Document {
	return yamldoc.Derived(manifest.Cluster, object, func([]any) yamldoc.Position { return yamldoc.Position{Line: 1, Column: 1} })
}

// Live is what the cluster has of one object, and what an apply of the manifest would make of it.
type Live struct {
	// Old is the object as the cluster has it, nil where it has none; New is the object after the apply.
	Old, New map[string]any
	// Unserved is set where the cluster does not serve the kind in this version, so that an apply would fail.
	Unserved bool
	// Refusals are the server's answer to a dry run; NotAsked is why there was none, "" otherwise.
	Refusals []Refusal
	NotAsked string
}

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
