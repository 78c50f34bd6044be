// Command jobset asks JobSet's own webhook about updates: the cases of fieldlock's catalogue. hack/operators runs it.
package main

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// defaults are those of the CRD's schema.
const defaults = `{"spec": {"replicatedJobs": [{"groupName": "default", "replicas": 1}]}}`

func main() {
	schemes := runtime.NewSchemeBuilder(v1alpha2.AddToScheme, corev1.AddToScheme) // it has a webhook for pods too
	judges, err := askserver.Judges(schemes.AddToScheme, webhooks.Setup)
	if err != nil {
		log.Fatal(err)
	}
	const kind = "jobset.x-k8s.io/v1alpha2 JobSet"
	judges[kind] = ask.Defaulted(defaults, judges[kind])
	ask.Main(context.Background(), judges)
}
