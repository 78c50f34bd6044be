package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kube-openapi/pkg/validation/spec"

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
	guards    remembered[struct{}, []admissionregistration.Rule]

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

// Document returns an object of the cluster as a document.
func Document(object map[string]any) *yamldoc.Document {
	return yamldoc.Derived(manifest.Cluster, object, func([]any) yamldoc.Position { return yamldoc.Position{Line: 1, Column: 1} })
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
	converter managedfields.TypeConverter
}
