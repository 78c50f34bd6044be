// Command tidb asks TiDB Operator's own validation about updates: the cases of fieldlock's catalogue. hack/operators
// runs it.
package main

import (
	"context"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/defaulting"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1/validation"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// defaults are set when a cluster is created, and not by updates.
func defaults(_ context.Context, newObj, oldObj *v1alpha1.TidbCluster) error {
	if oldObj == nil {
		defaulting.SetTidbClusterDefault(newObj)
	}
	return nil
}

func validate(_ context.Context, newObj, oldObj *v1alpha1.TidbCluster) error {
	return validation.ValidateUpdateTidbCluster(oldObj, newObj).ToAggregate()
}

func main() {
	ask.Main(context.Background(),
		map[string]ask.Judge{"pingcap.com/v1alpha1 TidbCluster": ask.Update(defaults, validate)})
}
