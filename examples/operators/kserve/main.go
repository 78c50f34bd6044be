// Command kserve asks KServe's own webhooks about updates: the cases of fieldlock's catalogue. hack/operators runs it.
package main

import (
	"context"

	"github.com/kserve/kserve/pkg/apis/serving/v1alpha1"
	"github.com/kserve/kserve/pkg/apis/serving/v1alpha2"
	"github.com/kserve/kserve/pkg/apis/serving/v1beta1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"serving.kserve.io/v1beta1 InferenceService":     ask.Object[v1beta1.InferenceService](&v1beta1.InferenceServiceValidator{}),
		"serving.kserve.io/v1alpha1 TrainedModel":        ask.Object[v1alpha1.TrainedModel](&v1alpha1.TrainedModelValidator{}),
		"serving.kserve.io/v1alpha1 LLMInferenceService": ask.Object[v1alpha1.LLMInferenceService](&v1alpha1.LLMInferenceServiceValidator{}),
		"serving.kserve.io/v1alpha2 LLMInferenceService": ask.Object[v1alpha2.LLMInferenceService](&v1alpha2.LLMInferenceServiceValidator{}),
		"serving.kserve.io/v1alpha1 InferenceGraph":      ask.Object[v1alpha1.InferenceGraph](&v1alpha1.InferenceGraphValidator{}),
	})
}
