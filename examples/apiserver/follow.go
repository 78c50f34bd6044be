package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	k8sadmission "k8s.io/apiserver/pkg/admission"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/apiserver"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// follower checks updates of custom resources with the locks that their CRD has now. It asks the store that the API
// server serves custom resources from, so there is no moment in which a schema is served without its locks.
type follower struct {
	plugin   k8sadmission.ValidationInterface
	registry *admission.Registry
	crds     atomic.Value // of listers.CustomResourceDefinitionLister

	mu     sync.Mutex
	loaded map[string]state // by name of the CRD
}

// state is what the locks of a CRD depend on.
type state struct {
	uid        types.UID
	generation int64
	marks      string
}

var _ k8sadmission.ValidationInterface = (*follower)(nil)

func newFollower(code int) (*follower, error) {
	registry := &admission.Registry{}
	registry.SetComplete() // a kind is loaded before it is checked
	plugin, err := apiserver.NewPlugin(registry, admission.WithStatusCode(code))
	if err != nil {
		return nil, err
	}
	return &follower{plugin: plugin, registry: registry, loaded: map[string]state{}}, nil
}

// lister returns the CRDs that are served, and nil until the server is built.
func (f *follower) lister() listers.CustomResourceDefinitionLister {
	l, _ := f.crds.Load().(listers.CustomResourceDefinitionLister)
	return l
}

// Handles reports whether an operation is an update.
func (f *follower) Handles(operation k8sadmission.Operation) bool { return f.plugin.Handles(operation) }

// Validate refuses an update of a custom resource that breaks a lock.
func (f *follower) Validate(ctx context.Context, a k8sadmission.Attributes, o k8sadmission.ObjectInterfaces) error {
	resource := a.GetResource()
	if resource.Group == apiextensionsv1.GroupName {
		return nil
	}
	served, err := f.lister().Get(resource.Resource + "." + resource.Group)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("the CRD of %s is not there, so this update cannot be checked: %w",
			resource.GroupResource(), err))
	}
	f.load(served)
	return f.plugin.Validate(ctx, a, o)
}

// load puts the locks of a CRD into the registry where they are not the ones that are there.
func (f *follower) load(served *apiextensionsv1.CustomResourceDefinition) {
	now := state{served.UID, served.Generation, served.Annotations[crd.AnnotationKey]}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded[served.Name] == now {
		return
	}
	if f.loaded[served.Name].uid != now.uid {
		f.registry.Delete(schema.GroupKind{Group: served.Spec.Group, Kind: served.Spec.Names.Kind}) // the locks of a CRD that is gone are not to stay in force
	}
	// An error is a fault in the registry, which refuses what it cannot check.
	_ = loader.New().Load(f.registry, served)
	f.loaded[served.Name] = now
}
