// Package askknative asks the validations of operators that are built on knative.dev/pkg: they tell an update from its
// context.
package askknative

import (
	"context"

	"knative.dev/pkg/apis"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// Judge returns the judge of a kind from its defaults and its validation.
func Judge[T any, P interface {
	*T
	apis.Defaultable
	apis.Validatable
}]() ask.Judge {
	during := func(ctx context.Context, oldObj *T) context.Context {
		if oldObj == nil {
			return apis.WithinCreate(ctx)
		}
		return apis.WithinUpdate(ctx, P(oldObj))
	}
	return ask.Update(
		func(ctx context.Context, newObj, oldObj *T) error {
			P(newObj).SetDefaults(during(ctx, oldObj))
			return nil
		},
		func(ctx context.Context, newObj, oldObj *T) error {
			if errs := P(newObj).Validate(during(ctx, oldObj)).Filter(apis.ErrorLevel); errs != nil {
				return errs
			}
			return nil
		})
}
