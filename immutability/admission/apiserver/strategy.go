package apiserver

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// UpdateStrategy is an update strategy that also enforces locks.
type UpdateStrategy struct {
	rest.RESTUpdateStrategy
	locks *Locks
}

var _ rest.RESTUpdateStrategy = (*UpdateStrategy)(nil)

// NewUpdateStrategy wraps a strategy. Its own validation runs first; violations of locks are added to its errors, so that
// the update is refused with 422 Invalid.
//
// It returns an error if there is nothing to wrap, or if the strategy has declarative validation (k8s.io/apiserver 0.37
// and later): an API server looks for that on the strategy itself and would not find it behind the wrapper. Such a
// strategy should call Locks.ValidateUpdate in its own ValidateUpdate.
func NewUpdateStrategy(inner rest.RESTUpdateStrategy, locks *Locks) (*UpdateStrategy, error) {
	if inner == nil {
		return nil, errors.New("there is no strategy to wrap")
	}
	if locks == nil {
		return nil, errors.New("there are no locks: make them with NewLocks")
	}
	// By name: older versions do not have the interface.
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
