// Command volcano asks Volcano's admission webhooks about updates: the cases of fieldlock's catalogue. hack/operators
// runs it.
package main

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cronjobs "volcano.sh/volcano/pkg/webhooks/admission/cronjobs/validate"
	hypernodes "volcano.sh/volcano/pkg/webhooks/admission/hypernodes/validate"
	jobflows "volcano.sh/volcano/pkg/webhooks/admission/jobflows/validate"
	mutatejobs "volcano.sh/volcano/pkg/webhooks/admission/jobs/mutate"
	jobs "volcano.sh/volcano/pkg/webhooks/admission/jobs/validate"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// handler is a webhook in Volcano's form.
func handler(admit func(admissionv1.AdmissionReview) *admissionv1.AdmissionResponse) askserver.Handler {
	return func(review *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse { return admit(*review) }
}

func main() {
	judges := map[string]ask.Judge{}
	for _, kind := range []struct {
		apiVersion, kind string
		mutate, validate askserver.Handler
	}{
		{"batch.volcano.sh/v1alpha1", "Job", handler(mutatejobs.Jobs), handler(jobs.AdmitJobs)},
		{"batch.volcano.sh/v1alpha1", "CronJob", nil, handler(cronjobs.AdmitCronjobs)},
		{"flow.volcano.sh/v1alpha1", "JobFlow", nil, handler(jobflows.AdmitJobFlows)},
		{"topology.volcano.sh/v1alpha1", "HyperNode", nil, handler(hypernodes.AdmitHyperNode)},
	} {
		gvk := schema.FromAPIVersionAndKind(kind.apiVersion, kind.kind)
		judges[kind.apiVersion+" "+kind.kind] = askserver.Review(gvk, kind.mutate, kind.validate)
	}
	// The CRD's schema has these defaults.
	job := "batch.volcano.sh/v1alpha1 Job"
	judges[job] = ask.Defaulted(`{"spec": {"queue": "default", "maxRetry": 3}}`, judges[job])
	ask.Main(context.Background(), judges)
}
