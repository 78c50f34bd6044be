package controllerruntime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

// Watch keeps r in step with the CustomResourceDefinitions of m's cluster while m runs, in every replica. It adds their
// types to m's scheme, and needs the rights to list and watch them. The locks are those of the annotation
// fieldlock.dev/locks, read by l.
//
// Until all definitions are loaded, r is not complete: give m's readiness check r.Ready. A definition whose locks
// cannot be read is logged and is in r.Faults; the last good locks of its kind stay in force.
func Watch(m ctrl.Manager, r *admission.Registry, l *loader.Loader) error {
	if m == nil || r == nil || l == nil {
		return errors.New("a manager, a registry and a loader are needed to watch CustomResourceDefinitions")
	}
	if err := apiextensionsv1.AddToScheme(m.GetScheme()); err != nil {
		return err
	}
	w := &watcher{reader: m.GetClient(), registry: r, crds: l}
	noLeader, anyName := false, true // a process may run several webhooks
	err := ctrl.NewControllerManagedBy(m).
		For(&apiextensionsv1.CustomResourceDefinition{}).
		WithOptions(controller.Options{NeedLeaderElection: &noLeader, CacheSyncTimeout: outage,
			SkipNameValidation: &anyName}).
		Complete(w)
	if err != nil {
		return err
	}
	return m.Add(w)
}

// outage is how long a webhook waits for an API server that is down when it starts. It refuses what it does not know
// until then, and restarting it would not help.
const outage = 365 * 24 * time.Hour

// watcher keeps a registry in step with the CustomResourceDefinitions of a cluster.
type watcher struct {
	reader   client.Reader
	registry *admission.Registry
	crds     *loader.Loader

	mu   sync.Mutex      // one at a time, so that an older state never replaces a newer one
	seen map[string]seen // by name
}

// seen is what was last read of a CRD.
type seen struct {
	kind    schema.GroupKind
	version string // resourceVersion
}

var (
	_ manager.LeaderElectionRunnable = (*watcher)(nil)
	_ manager.Runnable               = (*watcher)(nil)
	_ reconcile.Reconciler           = (*watcher)(nil)
)

// NeedLeaderElection is false: each replica answers requests, so each needs the locks.
func (w *watcher) NeedLeaderElection() bool { return false }

// Start loads every CRD that is there, and with that the registry is complete. A CRD that cannot be read is a fault of
// its own kind and does not hold up the others.
func (w *watcher) Start(ctx context.Context) error {
	var list apiextensionsv1.CustomResourceDefinitionList
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := w.reader.List(ctx, &list)
		if err != nil {
			log.FromContext(ctx).Error(err, "the CustomResourceDefinitions cannot be listed: trying again")
		}
		return err == nil, nil
	})
	if err != nil {
		return nil // the context has ended
	}
	for i := range list.Items {
		if _, err := w.Reconcile(ctx,
			ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}); err != nil {
			return err
		}
	}
	w.registry.SetComplete()
	log.FromContext(ctx).Info("the locks of all CustomResourceDefinitions are loaded", "count", len(list.Items),
		"faults", len(w.registry.Faults()))
	return nil
}

// Reconcile reads one CRD again. A mistake in it is logged and not tried again: the next change of the CRD comes here
// by itself. A CRD without accepted names is not served and has no locks.
func (w *watcher) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]seen{}
	}
	before, known := w.seen[r.Name]
	var object apiextensionsv1.CustomResourceDefinition
	err := w.reader.Get(ctx, types.NamespacedName{Name: r.Name}, &object)
	switch {
	case apierrors.IsNotFound(err):
		w.registry.Delete(before.kind)
		delete(w.seen, r.Name)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case known && before.version == object.ResourceVersion:
		return ctrl.Result{}, nil
	}
	// Served are the accepted names. A CRD that only claims the kind of another one must not replace its locks.
	if object.Spec.Names = object.Status.AcceptedNames; object.Spec.Names.Kind == "" {
		w.registry.Delete(before.kind)
		delete(w.seen, r.Name)
		return ctrl.Result{}, nil
	}
	kind := schema.GroupKind{Group: object.Spec.Group, Kind: object.Spec.Names.Kind}
	if known && kind != before.kind { // the CRD was deleted and made anew for another kind
		w.registry.Delete(before.kind)
	}
	w.seen[r.Name] = seen{kind, object.ResourceVersion}
	if err := w.crds.Load(w.registry, &object); err != nil {
		log.FromContext(ctx).Error(err,
			"the locks of a CustomResourceDefinition cannot be read: the last good ones stay in force", "name", r.Name)
		return ctrl.Result{}, nil
	}
	w.report(ctx, kind)
	return ctrl.Result{}, nil
}

// report logs what was loaded: a line for each version of a kind with locks.
func (w *watcher) report(ctx context.Context, loaded schema.GroupKind) {
	for _, kind := range w.registry.Kinds() {
		if kind.GroupKind != loaded {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(kind.Versions)) {
			version := kind.Versions[name]
			if locks := len(version.Validator.Locks()); locks+len(version.Gaps) > 0 {
				log.FromContext(ctx).Info("locks loaded", "group", kind.Group, "kind", kind.Kind, "version", name,
					"lockedFields", locks, "gaps", version.Gaps)
			}
		}
	}
}
