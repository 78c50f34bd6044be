// Package validator checks locks in a webhook that controller-runtime serves, where the manager already has one for the type.
//
// controller-runtime passes the old object first, Go's validation in Kubernetes and fieldlock the new one. Nothing but the
// order tells the two apart, and swapped arguments let updates through: with NoUnset, removing a field looks like setting it.
// So the order changes in one place, and a test holds it.
package validator

import (
	"context"

	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fieldlock/fieldlock/immutability/typed"
)

// Locks is a Validator of controller-runtime for *T:
//
//	ctrl.NewWebhookManagedBy(manager, &appsv1.Deployment{}).WithValidator(validator.Locks[appsv1.Deployment]{Updates: locks}).Complete()
type Locks[T any] struct {
	Updates *typed.Validator[T]
}

// ValidateCreate allows every object: locks are about updates.
func (Locks[T]) ValidateCreate(context.Context, *T) (ctrladmission.Warnings, error) { return nil, nil }

// ValidateDelete allows every deletion.
func (Locks[T]) ValidateDelete(context.Context, *T) (ctrladmission.Warnings, error) { return nil, nil }

// ValidateUpdate refuses an update that breaks a lock.
func (l Locks[T]) ValidateUpdate(_ context.Context, oldObj, newObj *T) (ctrladmission.Warnings, error) {
	return nil, l.Updates.ValidateUpdate(newObj, oldObj).ToAggregate()
}
