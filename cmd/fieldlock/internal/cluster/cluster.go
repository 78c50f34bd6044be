// Package cluster reads objects from a Kubernetes cluster. It only reads: its one kind of write is a dry run, which the
// API server does not store.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Options choose the cluster, as kubectl's flags do; "" is what the kubeconfig says.
type Options struct {
	Kubeconfig, Context, Namespace string
	// Applier is how the objects are applied; "" is as each of them was applied so far.
	Applier tool.Method
}

// Cluster is a connection to an API server. Nothing is ever written: every request is a read or a dry run. It is safe
// for concurrent use.
type Cluster struct {
	objects   dynamic.Interface
	discovery discovery.DiscoveryInterface
	namespace string      // of objects without one
	applier   tool.Method // of Options
	resources remembered[schema.GroupVersion, []metav1.APIResource]
	types     remembered[schema.GroupVersion, *types]
	guards    remembered[struct{}, []admissionregistration.Rule]
	releases  remembered[release, []*manifest.Object]

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
	c := &Cluster{namespace: namespace, applier: o.Applier}
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

// Document returns an object of the cluster as a document.
func Document(object map[string]any) *yamldoc.Document {
	return yamldoc.Derived(manifest.Cluster, object, func([]any) yamldoc.Position {
		return yamldoc.Position{Line: 1, Column: 1}
	})
}

// resource is how the API server serves a kind in one version.
type resource struct {
	schema.GroupVersionResource
	kind       schema.GroupVersionKind
	namespaced bool
	status     bool // the status is a subresource
}

// types are the types of a group and version, as the API server publishes them. They say how lists merge.
type types struct {
	models    map[string]*spec.Schema
	kinds     map[schema.GroupVersionKind]string // names in models
	strategic map[schema.GroupVersionKind]bool   // takes strategic merge patches, as the kinds of Go types do
	published *apply.Types
}

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

// typesOf returns the types of a group and version. Where the server publishes none, it returns types that know
// nothing: lists are replaced as a whole then.
func (c *Cluster) typesOf(gv schema.GroupVersion) (*types, error) {
	return c.types.of(gv, func() (*types, error) {
		paths, err := c.discovery.OpenAPIV3().Paths()
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("its OpenAPI documents cannot be listed: %w", err)
		}
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/" + gv.String()
		}
		published, ok := paths[path]
		if !ok {
			return &types{}, nil
		}
		data, err := published.Schema("application/json")
		if err != nil {
			return nil, fmt.Errorf("the OpenAPI document of %s cannot be read: %w", gv, err)
		}
		return readTypes(data)
	})
}

// readTypes reads an OpenAPI document of version 3.
func readTypes(data []byte) (*types, error) {
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
		Paths map[string]struct {
			Patch struct {
				Kind        schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				RequestBody struct {
					Content map[string]json.RawMessage `json:"content"`
				} `json:"requestBody"`
			} `json:"patch"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	t := &types{models: document.Components.Schemas, kinds: map[schema.GroupVersionKind]string{},
		strategic: map[schema.GroupVersionKind]bool{}}
	for name, model := range t.models {
		var kinds []schema.GroupVersionKind
		text, err := json.Marshal(model.Extensions["x-kubernetes-group-version-kind"])
		if err == nil {
			err = json.Unmarshal(text, &kinds)
		}
		for _, kind := range kinds {
			t.kinds[kind] = name
		}
		if err != nil {
			return nil, fmt.Errorf("the kinds of %s cannot be read: %w", name, err)
		}
	}
	for _, path := range document.Paths {
		if _, ok := path.Patch.RequestBody.Content["application/strategic-merge-patch+json"]; ok {
			t.strategic[path.Patch.Kind] = true
		}
	}
	t.published = apply.NewTypes(t.models)
	return t, nil
}

// merging returns how the objects of a kind merge.
func (t *types) merging(kind schema.GroupVersionKind) *apply.Kind {
	k := &apply.Kind{Types: t.published}
	if t.strategic[kind] {
		k.Strategic = t.models[t.kinds[kind]]
	}
	return k
}

// encoded returns the JSON of an object.
func encoded(u *unstructured.Unstructured) ([]byte, error) { return json.Marshal(u.Object) }

// Live is what the cluster has of one object, and what an apply of the manifest would make of it.
type Live struct {
	// Old is the object as the cluster has it, nil where it has none; New is the object after the apply.
	Old, New map[string]any
	// Unserved is set where the cluster does not serve the kind in this version, so that an apply would fail.
	Unserved bool
	// Accepted is set where the server accepts the apply in a dry run, as the tool would send it.
	Accepted bool
	// Refusals are the server's answer to a dry run; NotAsked says why the server was not asked, "" if it was.
	Refusals []Refusal
	NotAsked string
}

// Refusal is a reason for which the API server refuses an apply.
type Refusal struct{ Path, Message string }
