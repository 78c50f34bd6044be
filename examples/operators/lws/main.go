// Command lws asks LeaderWorkerSet's own webhook about updates: the cases of fieldlock's catalogue. hack/operators runs
// it.
package main

import (
	"context"

	"sigs.k8s.io/lws/pkg/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": ask.Webhook(&webhooks.LeaderWorkerSetWebhook{}),
	})
}
