package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/controllerruntime"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

// Where the webhook's configuration sends reviews of custom resources to, and those of CRDs.
const (
	path     = "/"
	crdsPath = "/crds"
)

// run serves until ctx ends. Every replica serves: there is no leader.
func run(ctx context.Context, cluster *rest.Config, s settings) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	m, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                metricsserver.Options{BindAddress: s.metricsAddr},
		HealthProbeBindAddress: s.healthAddr,
		WebhookServer: webhook.NewServer(webhook.Options{Port: s.port, CertDir: s.certDir,
			ClientCAName: s.clientCA}),
	})
	if err != nil {
		return err
	}
	registry := &admission.Registry{}
	counts := controllerruntime.NewMetrics(registry)
	if err := metrics.Registry.Register(counts); err != nil {
		return err
	}
	defer metrics.Registry.Unregister(counts)

	logger := slog.New(logr.ToSlogHandler(ctrl.Log.WithName("admission")))
	options := append([]admission.Option{counts.Option(), admission.WithLogger(logger)}, s.options...)
	handler, err := admission.NewHandler(registry, options...)
	if err != nil {
		return err
	}
	crds := loader.New()
	m.GetWebhookServer().Register(path, handler)
	m.GetWebhookServer().Register(crdsPath, crds.Hook())

	if err := controllerruntime.Watch(m, registry, crds); err != nil {
		return err
	}
	if err := m.AddHealthzCheck("serving", m.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := m.AddReadyzCheck("locks", ready(registry, s.readyWithFaults)); err != nil {
		return err
	}
	if err := m.AddReadyzCheck("serving", m.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	return m.Start(ctx)
}

// ready returns a check that fails until the locks of all CRDs are known. The webhook serves before that and refuses
// what it does not know, so no Service should send it requests yet. A kind that never had readable locks counts too,
// unless withFaults: in a rollout, the old pods then keep serving with the last good locks.
func ready(r *admission.Registry, withFaults bool) func(*http.Request) error {
	return func(*http.Request) error {
		err := r.Ready()
		if withFaults && !errors.Is(err, admission.ErrNotLoaded) {
			return nil
		}
		return err
	}
}
