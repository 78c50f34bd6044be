// Command cnpg asks CloudNativePG's webhooks about updates: the cases of fieldlock's catalogue. Its module lies below
// the operator's path, since they are internal packages; hack/operators runs it.
package main

import (
	"context"
	"errors"
	"log"

	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/cloudnative-pg/cloudnative-pg/api/v1"
	webhooks "github.com/cloudnative-pg/cloudnative-pg/internal/webhook/v1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// defaults are those of the CRD that the webhook compares.
const defaults = `{"spec": {
	"postgresUID": 26, "postgresGID": 26, "primaryUpdateMethod": "restart",
	"replicationSlots": {"highAvailability": {"enabled": true, "slotPrefix": "_cnpg_"}}
}}`

func setup(manager ctrl.Manager) error {
	return errors.Join(
		webhooks.SetupClusterWebhookWithManager(manager),
		webhooks.SetupDatabaseWebhookWithManager(manager),
		webhooks.SetupPoolerWebhookWithManager(manager),
		webhooks.SetupBackupWebhookWithManager(manager),
		webhooks.SetupScheduledBackupWebhookWithManager(manager),
	)
}

func main() {
	judges, err := askserver.MutatedJudges(v1.AddToScheme, setup)
	if err != nil {
		log.Fatal(err)
	}
	cluster := v1.SchemeGroupVersion.String() + " " + v1.ClusterKind
	judges[cluster] = ask.Defaulted(defaults, judges[cluster])
	ask.Main(context.Background(), judges)
}
