// Command scylla asks Scylla Operator's own validation about updates: the cases of fieldlock's catalogue.
// hack/operators runs it with a checkout of the operator.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/scylladb/scylla-operator/pkg/api/scylla/validation"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// judge answers as the webhook of a kind does.
func judge[T any](validate func(newObj, oldObj *T) field.ErrorList) ask.Judge {
	return ask.Update(nil, func(_ context.Context, newObj, oldObj *T) error {
		return validate(newObj, oldObj).ToAggregate()
	})
}

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"scylla.scylladb.com/v1 ScyllaCluster":                            judge(validation.ValidateScyllaClusterUpdate),
		"scylla.scylladb.com/v1alpha1 ScyllaDBDatacenter":                 judge(validation.ValidateScyllaDBDatacenterUpdate),
		"scylla.scylladb.com/v1alpha1 ScyllaDBCluster":                    judge(validation.ValidateScyllaDBClusterUpdate),
		"scylla.scylladb.com/v1alpha1 NodeConfig":                         judge(validation.ValidateNodeConfigUpdate),
		"scylla.scylladb.com/v1alpha1 ScyllaOperatorConfig":               judge(validation.ValidateScyllaOperatorConfigUpdate),
		"scylla.scylladb.com/v1alpha1 ScyllaDBMonitoring":                 judge(validation.ValidateScyllaDBMonitoringUpdate),
		"scylla.scylladb.com/v1alpha1 ScyllaDBManagerTask":                judge(validation.ValidateScyllaDBManagerTaskUpdate),
		"scylla.scylladb.com/v1alpha1 ScyllaDBManagerClusterRegistration": judge(validation.ValidateScyllaDBManagerClusterRegistrationUpdate),
	})
}
