package apiserver

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fieldlock/fieldlock/immutability"
)

// Locks checks objects of Go types, or unstructured ones, against the locks of one version of their kind.
type Locks struct {
	Validator *immutability.Validator
	// Kind is the version that the validator's schema describes.
	Kind schema.GroupVersionKind
	// Scheme converts typed objects to that version; the objects of a strategy are often of an internal one. Unstructured
	// objects need none: they have to be of Kind already.
	Scheme *runtime.Scheme
}

// ValidateUpdate reports every locked field that differs, and an internal error where the objects cannot be compared: a
// missing one, one of another kind, a typed one without a Scheme. Call it at the end of a strategy's own ValidateUpdate.
// Neither object is changed.
func (l Locks) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if l.Validator == nil {
		return internal(errors.New("there is no validator"))
	}
	if l.Validator.Empty() {
		return nil
	}
	newObj, err := l.content(obj)
	if err != nil {
		return internal(err)
	}
	oldObj, err := l.content(old)
	if err != nil {
		return internal(err)
	}
	return l.Validator.ValidateUpdate(newObj, oldObj)
}

// content returns an object in the version of the locks. A typed object of another version must not be read as it is:
// internal types have other names for their fields, and no lock would be found.
func (l Locks) content(obj runtime.Object) (map[string]any, error) {
	if obj == nil {
		return nil, errors.New("an object is missing")
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		if kind := obj.GetObjectKind().GroupVersionKind(); kind != l.Kind {
			return nil, fmt.Errorf("the object is of %v: the locks are of %v", kind, l.Kind)
		}
		return content(obj)
	}
	if l.Scheme == nil {
		return nil, fmt.Errorf("the object is of the Go type %T: give a scheme that knows it", obj)
	}
	kinds, _, err := l.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, l.Kind) {
		if obj, err = l.Scheme.ConvertToVersion(obj, l.Kind.GroupVersion()); err != nil {
			return nil, err
		}
		if kind := obj.GetObjectKind().GroupVersionKind(); kind != l.Kind {
			return nil, fmt.Errorf("the object is of %v: the locks are of %v", kind, l.Kind)
		}
	}
	return content(obj)
}

func internal(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("this update cannot be checked for immutable fields: %w", err))}
}

// UpdateStrategy is an update strategy that also keeps locks.
type UpdateStrategy struct {
	rest.RESTUpdateStrategy
	locks Locks
}

var _ rest.RESTUpdateStrategy = (*UpdateStrategy)(nil)

// NewUpdateStrategy wraps a strategy. Its own validation runs first; violations of locks are added to its errors, and
// so the update is refused with 422 Invalid.
//
// The error is that of a strategy which the wrapper would take something from: an API server looks for declarative
// validation (k8s.io/apiserver 0.37 and later) on the strategy itself and would not find it. Let such a strategy call
// Locks.ValidateUpdate in its own ValidateUpdate.
func NewUpdateStrategy(inner rest.RESTUpdateStrategy, locks Locks) (*UpdateStrategy, error) {
	if inner == nil {
		return nil, errors.New("there is no strategy to wrap")
	}
	if locks.Validator == nil {
		return nil, errors.New("the locks have no validator: compile the schema of the kind")
	}
	// By name, for the interface is not there in older versions.
	if reflect.ValueOf(inner).MethodByName("ValidateDeclaratively").IsValid() {
		return nil, fmt.Errorf("the strategy %T validates declaratively, which a wrapper would hide: call Locks.ValidateUpdate in its ValidateUpdate", inner)
	}
	return &UpdateStrategy{RESTUpdateStrategy: inner, locks: locks}, nil
}

// ValidateUpdate returns the errors of the wrapped strategy and a violation for each locked field that differs.
func (s *UpdateStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
	return append(errs, s.locks.ValidateUpdate(ctx, obj, old)...)
}
