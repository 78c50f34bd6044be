// Command katib asks Katib's own validation about updates: the cases of fieldlock's catalogue. hack/operators runs it.
package main

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubeflow/katib/pkg/apis/controller/experiments/v1beta1"
	"github.com/kubeflow/katib/pkg/controller.v1beta1/consts"
	"github.com/kubeflow/katib/pkg/controller.v1beta1/experiment/manifest"
	"github.com/kubeflow/katib/pkg/webhook/v1beta1/experiment/validator"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// config has the algorithms that the cases name.
const config = `
apiVersion: config.kubeflow.org/v1beta1
kind: KatibConfig
runtime:
  suggestions:
  - {algorithmName: random, image: random}
  - {algorithmName: grid, image: grid}
  earlyStoppings:
  - {algorithmName: medianstop, image: medianstop}
  metricsCollectors:
  - {kind: StdOut, image: collector}
`

// trial is a template in a config map.
const trial = `{"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": [
	{"name": "c", "image": "i", "command": ["${trialParameters.arch}"]}
]}}}}`

func main() {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: consts.KatibConfigMapName, Namespace: consts.DefaultKatibNamespace},
		Data:       map[string]string{consts.LabelKatibConfigTag: config},
	}
	templates := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "d"},
		Data: map[string]string{"t": trial, "u": trial}}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(settings, templates).Build()
	validate := validator.New(manifest.New(cluster))
	defaults := func(_ context.Context, newObj, _ *v1beta1.Experiment) error {
		newObj.SetDefault()
		return nil
	}
	ask.Main(context.Background(), map[string]ask.Judge{
		"kubeflow.org/v1beta1 Experiment": ask.Update(defaults,
			func(_ context.Context, newObj, oldObj *v1beta1.Experiment) error {
				return validate.ValidateExperiment(newObj, oldObj).ToAggregate()
			}),
	})
}
