// Command tekton asks Tekton Pipelines' own validation about updates: the cases of fieldlock's catalogue.
// hack/operators runs it.
package main

import (
	"context"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askknative"
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"tekton.dev/v1 TaskRun":          askknative.Judge[v1.TaskRun](),
		"tekton.dev/v1 PipelineRun":      askknative.Judge[v1.PipelineRun](),
		"tekton.dev/v1 Task":             askknative.Judge[v1.Task](),
		"tekton.dev/v1 Pipeline":         askknative.Judge[v1.Pipeline](),
		"tekton.dev/v1beta1 TaskRun":     askknative.Judge[v1beta1.TaskRun](),
		"tekton.dev/v1beta1 PipelineRun": askknative.Judge[v1beta1.PipelineRun](),
		"tekton.dev/v1beta1 CustomRun":   askknative.Judge[v1beta1.CustomRun](),
	})
}
