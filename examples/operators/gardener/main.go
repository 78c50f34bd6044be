// Command gardener asks Gardener's API server about updates: the cases of fieldlock's catalogue. It runs what the server
// runs for a request: defaults, conversion, and the strategy of the kind, without the admission plugins, which need other
// objects. hack/operators runs it.
package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener/pkg/api"
	"github.com/gardener/gardener/pkg/apis/core"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apiserver/features"
	"github.com/gardener/gardener/pkg/apiserver/registry/core/exposureclass"
	"github.com/gardener/gardener/pkg/apiserver/registry/core/secretbinding"
	"github.com/gardener/gardener/pkg/apiserver/registry/core/shoot"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// strategy is what the server runs for an update.
type strategy interface {
	PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object)
	ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList
}

// judge makes the judge of a kind. T is its type in the API, and I the server's.
func judge[T, I any, PT interface {
	*T
	runtime.Object
}, PI interface {
	*I
	runtime.Object
}](s strategy) ask.Judge {
	defaults := func(_ context.Context, newObj, _ *T) error {
		api.Scheme.Default(PT(newObj))
		return nil
	}
	return ask.Defaulted(`{"metadata": {"resourceVersion": "1"}}`,
		ask.Update(defaults, func(ctx context.Context, newObj, oldObj *T) error {
			is, was := PI(new(I)), PI(new(I))
			if err := api.Scheme.Convert(PT(newObj), is, nil); err != nil {
				return err
			}
			if err := api.Scheme.Convert(PT(oldObj), was, nil); err != nil {
				return err
			}
			s.PrepareForUpdate(ctx, is, was)
			return s.ValidateUpdate(ctx, is, was).ToAggregate()
		}))
}

func main() {
	features.RegisterFeatureGates()
	ask.Main(context.Background(), map[string]ask.Judge{
		"core.gardener.cloud/v1beta1 Shoot":         judge[v1beta1.Shoot, core.Shoot](shoot.NewStrategy(time.Hour)),
		"core.gardener.cloud/v1beta1 SecretBinding": judge[v1beta1.SecretBinding, core.SecretBinding](secretbinding.Strategy),
		"core.gardener.cloud/v1beta1 ExposureClass": judge[v1beta1.ExposureClass, core.ExposureClass](exposureclass.NewStrategy()),
	})
}
