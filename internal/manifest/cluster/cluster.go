package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Name is how messages name the cluster as a file.
const Name = "cluster"

// Options choose the cluster, as kubectl's flags do; "" is what the kubeconfig says.
type Options struct{ Kubeconfig, Context, Namespace string }

// Cluster is a connection to an API server. It is safe for concurrent use.
type Cluster struct {
	objects   dynamic.Interface
	mapper    meta.RESTMapper
	namespace string // of objects without one

	// Minor is the server's minor, such as "1.36".
	Minor string
}

// Open connects to the cluster and asks for its version.
func Open(o Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	overrides.Context.Namespace = o.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	config.WarningHandler = nil
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("--live: the cluster does not answer: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	return &Cluster{
		objects: objects, namespace: namespace, Minor: version.Major + "." + strings.TrimRight(version.Minor, "+"),
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}, nil
}

// CRDs reads the CRDs of the cluster.
func (c *Cluster) CRDs(ctx context.Context) (manifest.File, error) {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	list, err := c.objects.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return manifest.File{}, fmt.Errorf("--live: the CRDs cannot be listed: %w", err)
	}
	f := manifest.File{Name: Name, Path: Name, Found: true}
	for i := range list.Items {
		d, err := document(&list.Items[i])
		if err != nil {
			return f, err
		}
		f.Documents = append(f.Documents, d)
	}
	return f, nil
}

// document makes a document of an object of the API.
func document(o *unstructured.Unstructured) (*yamldoc.Document, error) {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	documents, err := yamldoc.Read(Name, data)
	if err != nil || len(documents) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%s %s of the cluster cannot be read", o.GetKind(), o.GetName()))
	}
	return documents[0], nil
}

// Refusal is a reason for which the API server refuses an apply.
type Refusal struct{ Path, Message string }

// Live is what the cluster has of one object.
type Live struct {
	// Old is the object as a manifest would have it: without what only the server or others have set. Nil for an object
	// that the cluster does not have.
	Old *yamldoc.Document
	// Refusals are the server's answer to a dry run. DryRun is false when the user may not do one.
	Refusals []Refusal
	DryRun   bool
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
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return Live{}, err
	}
	mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: gv.Group, Kind: o.Kind}, gv.Version)
	if meta.IsNoMatchError(err) {
		return Live{}, nil // the cluster does not have the kind, so it has no such object
	}
	if err != nil {
		return Live{}, err
	}
	client := dynamic.ResourceInterface(c.objects.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := o.Namespace
		if namespace == "" {
			namespace = c.namespace
		}
		client = c.objects.Resource(mapping.Resource).Namespace(namespace)
	}
	found, err := client.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Live{}, nil
	}
	if err != nil {
		return Live{}, err
	}
	var l Live
	l.Refusals, l.DryRun = dryRun(ctx, client, o)
	if l.Old, err = document(asManifest(found, o.Value())); err != nil {
		return Live{}, err
	}
	return l, nil
}

// dryRun asks the API server what it would say to an apply. It returns false if the user may not ask, or if the answer
// is about something else than fields.
func dryRun(ctx context.Context, client dynamic.ResourceInterface, o *manifest.Object) ([]Refusal, bool) {
	data, err := json.Marshal(o.Value())
	if err != nil {
		return nil, false
	}
	force := true
	_, err = client.Patch(ctx, o.Name, types.ApplyPatchType, data, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "fieldlock", Force: &force})
	if err == nil {
		return nil, true
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil, false
	}
	var list []Refusal
	for _, cause := range status.Status().Details.Causes {
		list = append(list, Refusal{cause.Field, cause.Message})
	}
	return list, true
}
