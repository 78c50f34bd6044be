// Command tekton asks Tekton Pipelines' own validation about updates: the cases of fieldlock's catalogue. hack/operators runs it.
package main

import (
	"context"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	"knative.dev/pkg/apis"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// judge answers as Tekton's webhooks do: they tell an update from its context.
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
		"tekton.dev/v1 TaskRun":          judge[v1.TaskRun](),
		"tekton.dev/v1 PipelineRun":      judge[v1.PipelineRun](),
		"tekton.dev/v1 Task":             judge[v1.Task](),
		"tekton.dev/v1 Pipeline":         judge[v1.Pipeline](),
		"tekton.dev/v1beta1 TaskRun":     judge[v1beta1.TaskRun](),
		"tekton.dev/v1beta1 PipelineRun": judge[v1beta1.PipelineRun](),
		"tekton.dev/v1beta1 CustomRun":   judge[v1beta1.CustomRun](),
	})
}
