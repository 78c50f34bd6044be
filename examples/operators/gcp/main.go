// Command gcp asks the webhooks of Cluster API's GCP provider about updates: the cases of fieldlock's catalogue.
// hack/operators runs it.
package main

import (
	"context"

	expwebhooks "sigs.k8s.io/cluster-api-provider-gcp/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-gcp/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// defaults are those of the CRDs' schemas.
var defaults = map[string]string{
	"GCPCluster":                `{"spec": {"network": ` + network + `}}`,
	"GCPClusterTemplate":        `{"spec": {"template": {"spec": {"network": ` + network + `}}}}`,
	"GCPManagedClusterTemplate": `{"spec": {"template": {"spec": {"network": ` + network + `}}}}`,
	"GCPMachine":                `{"spec": {"ipForwarding": "Enabled"}}`,
	"GCPMachineTemplate":        `{"spec": {"template": {"spec": {"ipForwarding": "Enabled"}}}}`,
}

const network = `{"mtu": 1460, "minPortsPerVm": 64, "subnets": [{"purpose": "PRIVATE_RFC_1918", "stackType": "IPV4_ONLY"}]}`

func main() {
	judges := map[string]ask.Judge{}
	for kind, judge := range map[string]ask.Judge{
		"GCPCluster":                     ask.Webhook(&webhooks.GCPCluster{}),
		"GCPClusterTemplate":             ask.Webhook(&webhooks.GCPClusterTemplate{}),
		"GCPMachine":                     ask.Webhook(&webhooks.GCPMachine{}),
		"GCPMachineTemplate":             ask.Webhook(&webhooks.GCPMachineTemplate{}),
		"GCPMachinePool":                 ask.Webhook(&expwebhooks.GCPMachinePool{}),
		"GCPManagedCluster":              ask.Webhook(&expwebhooks.GCPManagedCluster{}),
		"GCPManagedClusterTemplate":      ask.Webhook(&expwebhooks.GCPManagedClusterTemplate{}),
		"GCPManagedControlPlane":         ask.Webhook(&expwebhooks.GCPManagedControlPlane{}),
		"GCPManagedControlPlaneTemplate": ask.Webhook(&expwebhooks.GCPManagedControlPlaneTemplate{}),
		"GCPManagedMachinePool":          ask.Webhook(&expwebhooks.GCPManagedMachinePool{}),
		"GCPManagedMachinePoolTemplate":  ask.Webhook(&expwebhooks.GCPManagedMachinePoolTemplate{}),
	} {
		if crd, ok := defaults[kind]; ok {
			judge = ask.Defaulted(crd, judge)
		}
		judges["infrastructure.cluster.x-k8s.io/v1beta1 "+kind] = judge
	}
	ask.Main(context.Background(), judges)
}
