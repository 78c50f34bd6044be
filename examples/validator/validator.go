// Package validator checks locks in a webhook that controller-runtime serves, where the manager already has one for the
// type.
package validator

import (
	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission/controllerruntime"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

// SetUp adds a webhook to m that refuses updates of Deployments which break a lock of v.
func SetUp(m ctrl.Manager, v *immutability.Validator) error {
	locks, err := typed.Compile[appsv1.Deployment](v)
	if err != nil {
		return err
	}
	counts := controllerruntime.NewMetrics(nil)
	if err := metrics.Registry.Register(counts); err != nil {
		return err
	}
	updates, err := controllerruntime.NewValidator(locks, appsv1.SchemeGroupVersion.WithKind("Deployment"), counts.Option())
	if err != nil {
		return err
	}
	return ctrl.NewWebhookManagedBy(m, &appsv1.Deployment{}).WithValidator(updates).Complete()
}
