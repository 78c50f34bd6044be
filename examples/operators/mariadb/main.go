// Command mariadb asks the webhooks of MariaDB Operator about updates: the cases of fieldlock's catalogue. Its module
// lies below the operator's path, since they are internal packages; hack/operators runs it with a checkout of the
// operator.
package main

import (
	"context"

	webhooks "github.com/mariadb-operator/mariadb-operator/v26/internal/webhook/v1alpha1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// The CRDs' schemas have these defaults.
const (
	instance = `{"spec": {"mariaDbRef": {"waitForIt": true}}}`
	job      = `{"spec": {"mariaDbRef": {"waitForIt": true}, "restartPolicy": "OnFailure"}}`
	database = `{"spec": {"mariaDbRef": {"waitForIt": true}, "characterSet": "utf8", "collate": "utf8_general_ci"}}`
	grant    = `{"spec": {"mariaDbRef": {"waitForIt": true}, "database": "*", "table": "*"}}`
)

func main() {
	judges := map[string]ask.Judge{}
	for kind, judge := range map[string]ask.Judge{
		"MariaDB":             ask.Webhook(&webhooks.MariaDBCustomValidator{}),
		"MaxScale":            ask.Defaulted(instance, ask.Webhook(&webhooks.MaxScaleCustomValidator{})),
		"Database":            ask.Defaulted(database, ask.Webhook(&webhooks.DatabaseCustomValidator{})),
		"User":                ask.Defaulted(instance, ask.Webhook(&webhooks.UserCustomValidator{})),
		"Grant":               ask.Defaulted(grant, ask.Webhook(&webhooks.GrantCustomValidator{})),
		"Backup":              ask.Defaulted(job, ask.Webhook(&webhooks.BackupCustomValidator{})),
		"PhysicalBackup":      ask.Defaulted(job, ask.Webhook(&webhooks.PhysicalBackupCustomValidator{})),
		"Restore":             ask.Defaulted(job, ask.Webhook(&webhooks.RestoreCustomValidator{})),
		"PointInTimeRecovery": ask.Webhook(&webhooks.PointInTimeRecoveryCustomValidator{}),
		"SqlJob":              ask.Defaulted(job, ask.Webhook(&webhooks.SqlJobCustomValidator{})),
		"Connection":          ask.Defaulted(instance, ask.Webhook(&webhooks.ConnectionCustomValidator{})),
	} {
		judges["k8s.mariadb.com/v1alpha1 "+kind] = judge
	}
	ask.Main(context.Background(), judges)
}
