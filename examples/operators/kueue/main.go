// Command kueue asks Kueue's own webhooks about updates: the cases of fieldlock's catalogue. hack/operators runs it.
package main

import (
	"context"

	"sigs.k8s.io/kueue/pkg/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"kueue.x-k8s.io/v1beta2 Workload":       ask.WebhookOnce(&webhooks.WorkloadWebhook{}),
		"kueue.x-k8s.io/v1beta2 ClusterQueue":   ask.Webhook(&webhooks.ClusterQueueWebhook{}),
		"kueue.x-k8s.io/v1beta2 ResourceFlavor": ask.Webhook(&webhooks.ResourceFlavorWebhook{}),
		"kueue.x-k8s.io/v1beta2 Cohort":         ask.Webhook(&webhooks.CohortWebhook{}),
	})
}
