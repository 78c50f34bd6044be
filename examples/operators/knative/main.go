// Command knative asks Knative Serving's own validation about updates: the cases of fieldlock's catalogue. hack/operators runs it.
package main

import (
	"context"

	"knative.dev/pkg/apis"
	v1 "knative.dev/serving/pkg/apis/serving/v1"
	"knative.dev/serving/pkg/apis/serving/v1beta1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// judge answers as Knative's webhooks do: they tell an update from its context.
func judge[T any, P interface {
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

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"serving.knative.dev/v1 Revision":           judge[v1.Revision](),
		"serving.knative.dev/v1 Service":            judge[v1.Service](),
		"serving.knative.dev/v1 Configuration":      judge[v1.Configuration](),
		"serving.knative.dev/v1 Route":              judge[v1.Route](),
		"serving.knative.dev/v1beta1 DomainMapping": judge[v1beta1.DomainMapping](),
	})
}
