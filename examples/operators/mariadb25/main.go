// Command mariadb25 asks the webhooks of MariaDB Operator 25.10 about updates: the cases of fieldlock's catalogue. Its
// module lies below the operator's path, since they are internal packages; hack/operators runs it with a checkout of
// the operator.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	api "github.com/mariadb-operator/mariadb-operator/v25/api/v1alpha1"
	webhooks "github.com/mariadb-operator/mariadb-operator/v25/internal/webhook/v1alpha1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// The CRDs' schemas have these defaults.
const (
	instance = `{"spec": {"mariaDbRef": {"waitForIt": true}}}`
	job      = `{"spec": {"mariaDbRef": {"waitForIt": true}, "restartPolicy": "OnFailure"}}`
	database = `{"spec": {"mariaDbRef": {"waitForIt": true}, "characterSet": "utf8", "collate": "utf8_general_ci"}}`
	grant    = `{"spec": {"mariaDbRef": {"waitForIt": true}, "database": "*", "table": "*"}}`
)

// judge answers as the webhook of a kind does, about objects that this version can have. The defaults are those of the
// CRD's schema.
func judge[T any](defaults string, webhook interface {
	ValidateUpdate(ctx context.Context, oldObj, newObj runtime.Object) (admission.Warnings, error)
}) ask.Judge {
	return ask.Strict[T](ask.Defaulted(defaults, ask.Object[T, runtime.Object](webhook)))
}

func main() {
	judges := map[string]ask.Judge{}
	for kind, judge := range map[string]ask.Judge{
		"MariaDB":        judge[api.MariaDB]("{}", &webhooks.MariaDBCustomValidator{}),
		"MaxScale":       judge[api.MaxScale](instance, &webhooks.MaxScaleCustomValidator{}),
		"Database":       judge[api.Database](database, &webhooks.DatabaseCustomValidator{}),
		"User":           judge[api.User](instance, &webhooks.UserCustomValidator{}),
		"Grant":          judge[api.Grant](grant, &webhooks.GrantCustomValidator{}),
		"Backup":         judge[api.Backup](job, &webhooks.BackupCustomValidator{}),
		"PhysicalBackup": judge[api.PhysicalBackup](job, &webhooks.PhysicalBackupCustomValidator{}),
		"Restore":        judge[api.Restore](job, &webhooks.RestoreCustomValidator{}),
		"SqlJob":         judge[api.SqlJob](job, &webhooks.SqlJobCustomValidator{}),
		"Connection":     judge[api.Connection](instance, &webhooks.ConnectionCustomValidator{}),
	} {
		judges["k8s.mariadb.com/v1alpha1 "+kind] = judge
	}
	ask.Main(context.Background(), judges)
}
