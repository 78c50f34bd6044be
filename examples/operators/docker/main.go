// Command docker asks the webhooks of Cluster API's Docker provider about updates: the cases of fieldlock's catalogue.
// Its module lies below the provider's path, since they are internal packages; hack/operators runs it.
package main

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"sigs.k8s.io/cluster-api/test/infrastructure/docker/internal/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

func main() {
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Update}}
	judges := map[string]ask.Judge{}
	for kind, judge := range map[string]ask.Judge{
		"DockerMachineTemplate": ask.Webhook(&webhooks.DockerMachineTemplate{}),
		"DockerClusterTemplate": ask.Webhook(&webhooks.DockerClusterTemplate{}),
		"DockerCluster":         ask.Webhook(&webhooks.DockerCluster{}),
		"DockerMachine":         ask.Webhook(&webhooks.DockerMachine{}),
		"DevMachineTemplate":    ask.Webhook(&webhooks.DevMachineTemplate{}),
		"DevClusterTemplate":    ask.Webhook(&webhooks.DevClusterTemplate{}),
		"DevCluster":            ask.Webhook(&webhooks.DevCluster{}),
		"DevMachine":            ask.Webhook(&webhooks.DevMachine{}),
	} {
		judges["infrastructure.cluster.x-k8s.io/v1beta2 "+kind] = judge
	}
	ask.Main(admission.NewContextWithRequest(context.Background(), request), judges)
}
