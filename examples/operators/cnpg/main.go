// Command cnpg asks CloudNativePG's webhooks about updates: the cases of fieldlock's catalogue. Its module lies below
// the operator's path, since they are internal packages; hack/operators runs it.
package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "github.com/cloudnative-pg/cloudnative-pg/api/v1"
	webhooks "github.com/cloudnative-pg/cloudnative-pg/internal/webhook/v1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// cluster is the webhook of Cluster, which an annotation switches off.
type cluster struct {
	admission.Defaulter[*v1.Cluster]
	admission.Validator[*v1.Cluster]
}

type database struct {
	webhooks.DatabaseCustomDefaulter
	webhooks.DatabaseCustomValidator
}

// defaults are those of the CRD that the webhook compares.
const defaults = `{"spec": {
	"postgresUID": 26, "postgresGID": 26, "primaryUpdateMethod": "restart",
	"replicationSlots": {"highAvailability": {"enabled": true, "slotPrefix": "_cnpg_"}}
}}`

func main() {
	guard := webhooks.NewClusterAdmissionGuard()
	ask.Main(context.Background(), map[string]ask.Judge{
		"postgresql.cnpg.io/v1 Cluster":         ask.Defaulted(defaults, ask.Webhook(cluster{guard.Defaulter, guard.Validator})),
		"postgresql.cnpg.io/v1 Database":        ask.Webhook(&database{}),
		"postgresql.cnpg.io/v1 Pooler":          ask.Webhook(&webhooks.PoolerCustomValidator{}),
		"postgresql.cnpg.io/v1 Backup":          ask.Webhook(&webhooks.BackupCustomValidator{}),
		"postgresql.cnpg.io/v1 ScheduledBackup": ask.Webhook(&webhooks.ScheduledBackupCustomValidator{}),
	})
}
